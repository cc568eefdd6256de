"""ConversionReview: the request to a conversion webhook, and the validation of its response.

Versions v1 and v1beta1 differ only in how strictly the response is validated. A converter may change the labels and
annotations of an object; changes of its name, namespace or uid are errors, and all other changes of the metadata are
undone. The same applies to functions in this process. The messages are kube-apiserver's own.
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
# The metadata fields that a converter may change.
CHANGEABLE = ("labels", "annotations")

# The types of failures in the metrics.
CALL, MALFORMED, PARTIAL, INVALID = (
    "conversion_webhook_call_failure",
    "conversion_webhook_malformed_response_failure",
    "conversion_webhook_partial_response_failure",
    "conversion_webhook_invalid_converted_object_failure",
)

_encode = msgspec.json.Encoder().encode


class ConversionFailed(APIError):  # noqa: N818 - named for the event
    """A failed conversion. A 500 with only a message, as on kube-apiserver."""

    def __init__(self, message: str, failure: str = INVALID) -> None:
        super().__init__(message)
        self.failure = failure


class BadAnswer(Exception):  # noqa: N818 - named for the event
    """The response of the webhook is invalid."""


def kind_of(tree: Object, api_version: str) -> str:
    """Returns the kind of an object in the form of messages."""
    return str(GroupVersion.parse(api_version).with_kind(str(tree.get("kind", ""))))


def is_empty(tree: Object) -> bool:
    """Returns True if an object has only its kind and version, so that there is no content to convert."""
    return tree.keys() <= {"apiVersion", "kind"}


def shown(tree: Object) -> Object:
    """Returns an object without its resource version, as converters receive objects. The result shares its content with
    the original."""
    metadata = tree.get("metadata")
    if type(metadata) is not dict or "resourceVersion" not in metadata:
        return tree
    return {**tree, "metadata": {name: value for name, value in metadata.items() if name != "resourceVersion"}}


def review_version(accepted: Sequence[str]) -> str | None:
    """Returns the first version of the review that both sides support."""
    return next((version for version in accepted if version in VERSIONS), None)


def encode_request(uid: str, version: str, api_version: str, objects: Sequence[Object]) -> bytes:
    """Returns the body of a call that requests objects in another version."""
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
    return _encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request})


def read_answer(body: bytes, uid: str, version: str, limit: int) -> list[Json]:
    """Returns the objects of a response, not yet validated. Raises UnreadableAnswer or BadAnswer."""
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
    """Raises UnreadableAnswer if the response is of another kind. A missing kind is reported later."""
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
    """Objects of one version that are converted together, with the validation of the result."""

    def __init__(self, converter: str, objects: Sequence[Object], from_version: str, to_version: str) -> None:
        """`converter` is the converter in messages: a webhook or a function."""
        self._about = f"{converter} for {kind_of(objects[0], from_version)}"
        self._objects = objects
        self._to = to_version

    def failed(self, why: str, failure: str) -> ConversionFailed:
        """Returns the error for a call without a valid response."""
        return ConversionFailed(f"{self._about} failed: {why}", failure)

    def checked(self, answers: Sequence[Json]) -> list[Object]:
        """Returns the converted objects in the order of the originals, each with its final metadata. Raises
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
    """Returns the error for a changed name, namespace or uid; empty if there is none."""
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
    """Returns the metadata of a converted object: that of the original, except for labels and annotations. Raises
    ValueError if those are invalid."""
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
        # In the singular, as on kube-apiserver.
        errors = validate_annotations(after, "metadata.annotation")
    if errors:
        raise ValueError(join_errors(map(str, errors)))
