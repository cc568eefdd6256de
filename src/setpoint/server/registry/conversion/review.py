"""ConversionReview: how objects travel to a conversion webhook, and what is demanded of what comes back.

Versions v1 and v1beta1, which are the same but for how closely the answer is looked at. Of an object's metadata a
converter may change labels and annotations; it must leave alone what names the object, and whatever else it does to the
metadata is undone. Functions in this process are held to the same. The words are the real server's own.
"""

from collections.abc import Mapping, Sequence

import msgspec

from setpoint.objects.errors import APIError, join_errors
from setpoint.objects.goformat import json_type, type_name
from setpoint.objects.gotext import compact_json, quote
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.metavalidation import validate_annotations, validate_labels
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.outbound.webhook_answer import UnreadableAnswer, decode_answer

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
VERSIONS = ("v1", "v1beta1")
# What is the converter's to change in the metadata.
CHANGEABLE = ("labels", "annotations")

# What kinds of failure are counted under.
CALL, MALFORMED, PARTIAL, INVALID = (
    "conversion_webhook_call_failure",
    "conversion_webhook_malformed_response_failure",
    "conversion_webhook_partial_response_failure",
    "conversion_webhook_invalid_converted_object_failure",
)

_encode = msgspec.json.Encoder().encode


class ConversionFailed(APIError):  # noqa: N818 - it says what happened
    """An object cannot be had in another version. Nobody has classified that: a 500 with the text alone."""

    def __init__(self, message: str, failure: str = INVALID) -> None:
        super().__init__(message)
        self.failure = failure


class BadAnswer(Exception):  # noqa: N818 - it says what it is
    """The answer is none to go by."""


def kind_of(tree: Object, api_version: str) -> str:
    """The kind of an object as messages name it."""
    return str(GroupVersion.parse(api_version).with_kind(str(tree.get("kind", ""))))


def is_empty(tree: Object) -> bool:
    """Whether an object is nothing but its kind: there is nothing to convert then."""
    return tree.keys() <= {"apiVersion", "kind"}


def shown(tree: Object) -> Object:
    """An object as converters see it: which revision it was read at makes no difference. It shares what it holds."""
    metadata = tree.get("metadata")
    if type(metadata) is not dict or "resourceVersion" not in metadata:
        return tree
    return {**tree, "metadata": {name: value for name, value in metadata.items() if name != "resourceVersion"}}


def review_version(accepted: Sequence[str]) -> str | None:
    """The first version of the review that both sides know."""
    return next((version for version in accepted if version in VERSIONS), None)


def encode_request(uid: str, version: str, api_version: str, objects: Sequence[Object]) -> bytes:
    """The body of a call that asks for objects in another version of theirs."""
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
    return _encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request})


def read_answer(body: bytes, uid: str, version: str, limit: int) -> list[Json]:
    """The objects in an answer, whatever they are. Raises UnreadableAnswer or BadAnswer."""
    tree = decode_answer(body, limit)
    _check_kind(tree, version)
    response = tree.get("response")
    if type(response) is not dict and response is not None:
        field = f"{KIND}.response of type {version}.ConversionResponse"
        raise UnreadableAnswer(f"json: cannot unmarshal {json_type(response)} into Go struct field {field}")
    if version == "v1" and (tree.get("apiVersion"), tree.get("kind")) != (f"{GROUP}/v1", KIND):
        found = GroupVersion.parse(tree.get("apiVersion") or "").with_kind(tree.get("kind") or "")
        raise BadAnswer(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {found}")
    if response is None:
        raise BadAnswer("no response provided")
    if version == "v1" and response.get("uid") != uid:
        raise BadAnswer(f"expected response.uid={quote(uid)}, got {quote(str(response.get('uid') or ''))}")
    result = response.get("result")
    status = result.get("status") if type(result) is dict else None
    if status != "Success":
        message = result.get("message") if type(result) is dict else None
        raise BadAnswer(str(message or f"response.result.status was '{status or ''}', not 'Success'"))
    objects = response.get("convertedObjects")
    return objects if type(objects) is list else []


def _check_kind(tree: Object, version: str) -> None:
    """A review must be one; only that it says nothing of it is looked over until later."""
    try:
        found = GroupVersion.parse(tree.get("apiVersion") or f"{GROUP}/{version}")
    except ValueError as error:
        raise UnreadableAnswer(str(error)) from None
    kind = tree.get("kind") or KIND
    if kind != KIND or found.group != GROUP or found.version not in VERSIONS:
        raise UnreadableAnswer(f"no kind {quote(kind)} is registered for version {quote(str(found))}")
    if found.version != version:
        raise UnreadableAnswer(f"converting ({found.version}.{KIND}) to ({version}.{KIND}): unknown conversion")


class Batch:
    """Objects of one version that are converted together: knows what is to be said of what comes back."""

    def __init__(self, who: str, objects: Sequence[Object], from_version: str, to_version: str) -> None:
        """`who` converts: a webhook or a function."""
        self._about = f"{who} for {kind_of(objects[0], from_version)}"
        self._objects = objects
        self._to = to_version

    def failed(self, why: str, failure: str) -> ConversionFailed:
        """There is no answer to go by."""
        return ConversionFailed(f"{self._about} failed: {why}", failure)

    def checked(self, answers: Sequence[Json]) -> list[Object]:
        """What came back, in the order of the objects, each with the metadata that it is to have. Raises
        ConversionFailed."""
        objects = self._objects
        if len(answers) != len(objects):
            raise ConversionFailed(f"{self._about} returned {len(answers)} objects, expected {len(objects)}", PARTIAL)
        return [self._checked(place, answer) for place, answer in enumerate(answers)]

    def _checked(self, place: int, made: Json) -> Object:
        one, original = len(self._objects) == 1, self._objects[place]
        what = "invalid object at index 0" if one else f"invalid converted object at index {place}"
        if type(made) is not dict or not isinstance(made.get("kind"), str) or not made["kind"]:
            raise ConversionFailed(f"{self._about} returned {what}: Object 'Kind' is missing in '{_text(made)}'")
        found, kind = made.get("apiVersion") or "", original.get("kind", "")
        if found != self._to:
            why = f"invalid groupVersion (expected {self._to}, received {_text(found)})"
            raise ConversionFailed(f"{self._about} returned {what}: {why}")
        if made["kind"] != kind:
            why = f"invalid kind (expected {kind}, received {made['kind']})"
            raise ConversionFailed(f"{self._about} returned {what}: {why}")
        if why := _renamed(original, made):
            what = "invalid object" if one else what
            raise ConversionFailed(f"{self._about} returned {what}: {why}")
        try:
            return {**made, "metadata": restored(original, made)}
        except ValueError as error:
            what = "invalid metadata" if one else f"invalid metadata in object at index {place}"
            raise ConversionFailed(f"{self._about} returned {what}: {error}") from None


def _text(value: Json) -> str:
    return value if type(value) is str else compact_json(value)


def _renamed(original: Object, made: Object) -> str:
    """What is wrong with the name of what came back."""
    for field, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = _named(original, field), _named(made, field)
        if before != after:
            return f"must have the same {word}: {before} != {after}"
    return ""


def _named(tree: Object, field: str) -> str:
    metadata = tree.get("metadata")
    value = metadata.get(field) if type(metadata) is dict else None
    return value if type(value) is str else ""


def restored(original: Object, made: Object) -> Object:
    """The metadata of a converted object: that of the original, but for the labels and annotations. Raises ValueError
    where those are none."""
    if "metadata" not in made:
        raise ValueError("missing metadata in converted object")
    given = made["metadata"]
    if type(given) is not dict:
        raise ValueError(f"invalid metadata of type {type_name(given)} in converted object")
    metadata: Object = copy(original.get("metadata") or {})
    for name in CHANGEABLE:
        before, after = metadata.pop(name, None) or {}, given.get(name)
        if after is None:
            continue
        if type(after) is not dict:
            raise ValueError(f"invalid metadata.{name} of type {type_name(after)} in converted object")
        _check_texts(name, before, after)
        metadata[name] = after
    return metadata


def _check_texts(name: str, before: Mapping[str, str], after: Mapping[str, Json]) -> None:
    for key, value in after.items():
        if type(value) is not str:
            found = type_name(value)
            raise ValueError(f"metadata.{name}[{key}] must be a string, but is {found} in converted object")
    if after == before:
        return
    if name == "labels":
        errors = validate_labels(after, "metadata.labels")
    else:
        # In the singular, as the real server has it.
        errors = validate_annotations(after, "metadata.annotation")
    if errors:
        raise ValueError(join_errors(map(str, errors)))
