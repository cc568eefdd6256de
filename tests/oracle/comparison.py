"""The differences between the answers of two servers, and the classes that group the differences."""

import re
from typing import Any, NamedTuple

import msgspec
from tests.oracle.canonical import Names, canonical
from tests.oracle.normal_form import (
    RANDOM_FINALIZERS,
    by_content,
    decoded,
    in_order,
    is_protobuf,
    is_random_page,
    is_status,
    sort_finalizers,
    without_generated,
    without_suffix,
)
from tests.oracle.request import Request
from tests.oracle.wire import Answer

from setpoint.merge.equality import identical

HEADERS = ("content-type", "warning", "cache-control", "www-authenticate", "retry-after", "allow", "location")
_KEEP = 6
_MISSING = "(absent)"
# Controllers inside kube-apiserver write the status of these kinds at any time.
RESTLESS = (
    *("apiservices.", "flowschemas.", "prioritylevelconfigurations.", "customresourcedefinitions.", "servicecidrs."),
    "documents",
)
# The columns are in the first frame of a watch, which may be one about such a change.
_RESTLESS_FIELDS = frozenset(("managedFields", "resourceVersion", "status", "conditions", "columnDefinitions"))


class Difference(NamedTuple):
    """One place where the answers differ. `place` is kind-independent; `real` and `ours` are shortened values."""

    place: str
    real: str
    ours: str


class Compared(NamedTuple):
    """Two answers in canonical form, and where they differ."""

    differences: list[Difference]
    real: str
    ours: str


def compare(request: Request, real: Answer, ours: Answer, names: tuple[Names, Names]) -> Compared:
    """Compares two answers to a request."""
    real_text, our_text = (
        canonical(by_content(answer), known) for answer, known in zip((real, ours), names, strict=True)
    )
    if real.code >= 400 and ours.code >= 400:
        real_text, our_text = without_suffix(request, real_text), without_suffix(request, our_text)
    found = _headers(real, ours)
    if real.code == ours.code and real_text == our_text and not found:
        return Compared([], real_text, our_text)
    real_tree, our_tree = decoded(real, real_text), decoded(ours, our_text)
    if request.kind.startswith(RANDOM_FINALIZERS):
        sort_finalizers([real_tree, our_tree])
    if real.code != ours.code:
        place = f"code {_code(real.code, real_tree)} → {_code(ours.code, our_tree)}"
        told = _complaint(real_tree if real.code >= 400 else our_tree)
        return Compared([Difference(f"{place}: {told}", *_short(real_tree, our_tree))], real_text, our_text)
    if real_text != our_text and is_random_page(request, real_text):
        real_tree, our_tree = without_generated(real_tree), without_generated(our_tree)
    if real_text != our_text:
        if request.kind.startswith(RESTLESS):
            real_tree, our_tree = _without_object(real_tree), _without_object(our_tree)
        is_custom = "oracle.example.com" in request.kind
        body = (
            _status(real_tree, our_tree, is_custom=is_custom) if is_status(real_tree) and is_status(our_tree) else None
        )
        if body is not None:
            found += body
        elif real.header("content-type") == ours.header("content-type") and not is_protobuf(real):
            ignored = _RESTLESS_FIELDS if request.kind.startswith(RESTLESS) else frozenset()
            found += _trees(real_tree, our_tree, ignored)
    return Compared(found[:_KEEP], real_text, our_text)


def class_of(request: Request, difference: Difference) -> str:
    """The class of a difference: the place and the sort of request, without the kind of the object."""
    if difference.place.startswith(("cause ", "message ")):
        return difference.place
    field = re.sub(r"^(?:watch: object\.|items\[\]\.|rows\[\]\.object\.)", "", difference.place)
    if re.match(r"(?:spec|status|metadata|template|columnDefinitions)\b", field) and request.kind != "documents":
        # Every request that answers with the object shows the same difference.
        return f"field {field}"
    words = [request.verb, request.patch, request.subresource and f"/{request.subresource}"]
    return f"{' '.join(word for word in words if word)}: {difference.place}"


def frames_differ(real: list[str], ours: list[str], kind: str = "") -> list[Difference]:
    """Compares the frames of two watches of a kind, which are in canonical form."""
    ignored = _RESTLESS_FIELDS if kind.startswith(RESTLESS) else frozenset()
    if real == ours:
        return []
    trees = [[in_order(msgspec.json.decode(line)) for line in lines] for lines in (real, ours)]
    if kind.startswith(RANDOM_FINALIZERS):
        sort_finalizers(trees)
    kinds = [[tree.get("type") if isinstance(tree, dict) else None for tree in lines] for lines in trees]
    if kinds[0] != kinds[1]:
        return [Difference("watch: types of frames", *_short(kinds[0], kinds[1]))]
    return [
        Difference(f"watch: {found.place}", found.real, found.ours)
        for one, other in zip(*trees, strict=True)
        for found in _trees(one, other, ignored)
    ][:_KEEP]


def simplified(text: str) -> str:
    """A message without names, numbers and values, so that equal messages of different objects become equal."""
    text = re.sub(r'^[\w.]+ "[^"]*" is invalid: ', "", text)
    text = re.sub(
        r"^.{0,80} in version (.*) cannot be handled as an? \w+",
        r"KIND in version \1 cannot be handled as a KIND",
        text,
    )
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '"…"', text)
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"\b(?:[a-zA-Z]+\.)+[a-zA-Z]+(?:\[[^\]]*\](?:\.[a-zA-Z]+)*)*", "FIELD", text)
    text = re.sub(r"\{.*\}", "{…}", text)
    text = re.sub(r"\[[^\]]*\]", "[…]", text)
    return re.sub(r"\d+", "N", text)[:160]


def _headers(real: Answer, ours: Answer) -> list[Difference]:
    found = []
    for name in HEADERS:
        one, other = sorted(real.header(name)), sorted(ours.header(name))
        if one == other:
            continue
        if name == "warning":
            for kind, texts in (("missing", _minus(one, other)), ("extra", _minus(other, one))):
                found += [
                    Difference(f"message of warning {kind}: {simplified(text[7:-1])}", str(one), str(other))
                    for text in texts
                ]
        else:
            found.append(Difference(f"header {name}", str(one), str(other)))
    return found


def _minus(one: list[str], other: list[str]) -> list[str]:
    rest = list(other)
    return [text for text in one if text not in rest or rest.remove(text)]  # type: ignore[func-returns-value]


def _code(code: int, tree: Any) -> str:
    reason = tree.get("reason") if is_status(tree) else None
    return f"{code} {reason}" if reason else str(code)


def _complaint(tree: Any) -> str:
    if not is_status(tree):
        return simplified(tree) if isinstance(tree, str) else ""
    causes = (tree.get("details") or {}).get("causes") or ()
    told = [f"{cause.get('reason')} {simplified(_detail(cause))}" for cause in causes]
    return "; ".join(told[:2]) or simplified(tree.get("message") or "")


def _detail(cause: dict[str, Any]) -> str:
    """The message of a cause after the value that it repeats."""
    message = cause.get("message") or ""
    return re.sub(
        r'^(Invalid value|Unsupported value|Duplicate value|Too long|Too many): (?:"(?:[^"\\]|\\.)*"|[^ ]*): ',
        r"\1: ",
        message,
    )


def _without_object(tree: Any) -> Any:
    """A Status about a patch without the patched object, whose status a controller inside kube-apiserver may write."""
    if not is_status(tree):
        return tree
    causes = (tree.get("details") or {}).get("causes") or []
    if [cause.get("field") for cause in causes] != ["patch"]:
        return tree
    text = re.sub(r'(Invalid value: )"\{.*\}"(?=: )', r"\1{object}", causes[0]["message"])
    message = re.sub(r'(Invalid value: )"\{.*\}"(?=: )', r"\1{object}", tree["message"])
    return {**tree, "message": message, "details": {**tree["details"], "causes": [{**causes[0], "message": text}]}}


def _status(real: Any, ours: Any, *, is_custom: bool = False) -> list[Difference]:
    """Compares two Statuses: their causes as sets first, because the message repeats the causes. The real server visits
    the properties of a schema in the random order of a Go map."""
    lists = [_ordered((tree.get("details") or {}).get("causes") or []) for tree in (real, ours)]
    if is_custom:
        lists = [sorted(causes, key=msgspec.json.encode) for causes in lists]
    lacking = [cause for cause in lists[0] if cause not in lists[1]]
    surplus = [cause for cause in lists[1] if cause not in lists[0]]
    found = []
    for cause in list(lacking):
        # The same complaint about the same field, with another value or another text.
        twin = next(
            (other for other in surplus if all(cause.get(k) == other.get(k) for k in ("field", "reason"))), None
        )
        if twin is not None:
            lacking.remove(cause)
            surplus.remove(twin)
            place = f"cause differs: {cause.get('reason')}: {simplified(_detail(cause))}"
            found.append(Difference(place, *_short(cause, twin)))
    for kind, causes in (("missing", lacking), ("extra", surplus)):
        for cause in causes:
            place = f"cause {kind}: {cause.get('reason')}: {simplified(_detail(cause))}"
            found.append(Difference(place, *_short(lists[0], lists[1])))
    if found:
        return found
    if lists[0] != lists[1]:
        return [Difference("cause order", *_short(lists[0], lists[1]))]
    messages = [tree.get("message") for tree in (real, ours)]
    raw = [(tree.get("details") or {}).get("causes") for tree in (real, ours)]
    if raw[0] != raw[1]:
        # Only neighbours about entries of a map have another order, and the message repeats the causes.
        messages = [" ".join(sorted(re.split(r"[\[\], ]+", message or ""))) for message in messages]
    if messages[0] != messages[1]:
        place = f"message {real.get('code', '')}: {simplified(real.get('message') or '')}"
        found.append(Difference(place, *_short(real.get("message"), ours.get("message"))))
    plain = [
        {**tree, "message": "", "details": {**(tree.get("details") or {}), "causes": causes}}
        for tree, causes in zip((real, ours), lists, strict=True)
    ]
    return found + (_trees(plain[0], plain[1]) if plain[0] != plain[1] else [])


_MAP = re.compile(
    r"(?:^|\.)(?:labels|annotations|matchLabels|nodeSelector|parameters|options|data|stringData|binaryData)$"
    r"|\[[^\]\d][^\]]*\]"
    # The fields of an object inside a custom resource.
    r"|\.(?:apiVersion|kind)$"
)


def _ordered(causes: list[Any]) -> list[Any]:
    """The causes, with neighbours about entries of the same map, or about managers, sorted: Go visits maps in random
    order."""
    found: list[Any] = []
    run: list[Any] = []
    place = None
    for cause in causes:
        field = cause.get("field") or ""
        of_map = _MAP.search(field)
        part = field[: of_map.start()] if of_map else None
        if cause.get("reason") == "FieldManagerConflict":
            part = "managers"
        if part is None or part != place:
            found += sorted(run, key=msgspec.json.encode)
            run = []
        run.append(cause)
        place = part
    return found + sorted(run, key=msgspec.json.encode)


def _trees(real: Any, ours: Any, ignored: frozenset[str] = frozenset()) -> list[Difference]:
    found: list[Difference] = []
    _walk(real, ours, "", found, ignored)
    return found


def _walk(real: Any, ours: Any, path: str, found: list[Difference], ignored: frozenset[str]) -> None:
    if len(found) >= _KEEP:
        return
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in [*real, *(key for key in ours if key not in real)]:
            one, other = real.get(key, _MISSING), ours.get(key, _MISSING)
            if key not in ignored and not identical(one, other):
                _walk(one, other, f"{path}.{key}" if path else str(key), found, ignored)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for one, other in zip(real, ours, strict=True):
            if not identical(one, other):
                _walk(one, other, f"{path}[]", found, ignored)
    else:
        where = re.sub(r"(fieldsV1)\..*", r"\1", path)
        where = re.sub(r"(paths\.).*\.(get|put|post|patch|delete)\b", r"\1*.\2", where)
        where = re.sub(r"(paths\.)/[^ ]*", r"\1*", where)
        where = re.sub(r"((?:schemas|definitions)\.).*?(\.(?:properties|type|default|enum|x-)|$)", r"\1*\2", where)
        where = re.sub(r"(properties\.)[^. ]+", r"\1*", where)
        where = re.sub(r"\b(labels|annotations|matchLabels|nodeSelector|data)\..*", r"\1.*", where)
        kind = "missing" if ours is _MISSING else "extra" if real is _MISSING else "differs"
        if isinstance(real, list) and isinstance(ours, list):
            kind = "length"
        found.append(Difference(f"{where} {kind}", *_short(real, ours)))


def _short(real: Any, ours: Any) -> tuple[str, str]:
    """Two values as short texts, which begin a little before the first difference if the values are long."""
    texts = [value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in (real, ours)]
    same = next((place for place, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0)
    start = same - 60 if same > 200 and max(map(len, texts)) > 400 else 0
    one, other = (f"{'…' if start else ''}{text[start:]}" for text in texts)
    return _clipped(one), _clipped(other)


def _clipped(text: str) -> str:
    return text if len(text) <= 400 else text[:397] + "…"
