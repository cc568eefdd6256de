"""The form in which answers are compared: without orders and objects that chance, or one of the servers, chooses."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml
from tests.oracle.canonical import Names, canonical
from tests.oracle.request import Request
from tests.oracle.wire import Answer


def is_random_page(request: Request, text: str) -> bool:
    """Returns True for a part of a list with generated names: which of these objects are in the part depends on their
    names."""
    return request.verb == "list" and any(key in ("limit", "continue") for key, _ in request.query) and "<name:" in text


def without_generated(tree: Any) -> Any:
    """A part of a list in which objects with generated names have no content, only a place."""
    field = next((name for name in ("items", "rows") if isinstance(tree, dict) and tree.get(name)), "")
    return {**tree, field: ["generated" if "<name:" in str(row) else row for row in tree[field]]} if field else tree


# The labels of the objects that a server creates at its start.
_OF_SERVER = (b"kubernetes.io/bootstrapping", b"kube-aggregator.kubernetes.io/automanaged")


def by_content(answer: Answer) -> bytes:
    """The body; that of a list with generated names in the order of their contents and last writes, which is the same
    on both servers. The order of random names would number the uids."""
    body, kinds = answer.body, answer.header("content-type")
    if _is_json(kinds) and any(label in body for label in _OF_SERVER):
        body = _without_start_order(body)
    if _is_json(kinds) and b'"EventList"' in body:
        body = _without_own_events(body)
    if _is_json(kinds) and b'"LeaseList"' in body:
        body = _without_own_leases(body)
    if _is_json(kinds) and b'"IPAddressList"' in body:
        body = _by_parent(body)
    if b"generateName" not in body or not re.search(b'(?:items|rows)"?:', body) or is_protobuf(answer):
        return body
    try:
        tree = msgspec.json.decode(body) if _is_json(kinds) else yaml.load(body, Loader=yaml.CSafeLoader)
        rows = tree.get("items") or tree["rows"]
        rows.sort(key=_place)
    except (msgspec.DecodeError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return body
    return msgspec.json.encode(tree)


def _without_start_order(body: bytes) -> bytes:
    """A list without the versions of the objects that a server creates at its start: Setpoint creates many of them in
    one transaction, the real server each by itself, several at a time."""
    try:
        tree = msgspec.json.decode(body)
        rows = tree.get("items") or tree.get("rows") or ()
        for row in rows:
            metadata = row.get("object", row)["metadata"]
            if any(label.decode() in (metadata.get("labels") or {}) for label in _OF_SERVER):
                del metadata["resourceVersion"]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return body
    return msgspec.json.encode(tree)


def _without_own_events(body: bytes) -> bytes:
    """A list without the Events that controllers inside kube-apiserver write about addresses and ports."""
    try:
        tree = msgspec.json.decode(body)
        tree["items"] = [item for item in tree["items"] if _reporter(item) not in _OWN_REPORTERS]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return body
    return msgspec.json.encode(tree)


def _without_own_leases(body: bytes) -> bytes:
    """A list without the Lease by which kube-apiserver tells that it runs."""
    try:
        tree = msgspec.json.decode(body)
        label = "apiserver.kubernetes.io/identity"
        tree["items"] = [item for item in tree["items"] if label not in (item["metadata"].get("labels") or {})]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return body
    return msgspec.json.encode(tree)


def _by_parent(body: bytes) -> bytes:
    """A list of IPAddresses in the order of their owners: each server chooses the addresses, which are the names."""
    try:
        tree = msgspec.json.decode(body)
        tree["items"].sort(key=lambda item: msgspec.json.encode(item["spec"].get("parentRef"), order="sorted"))
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return body
    return msgspec.json.encode(tree)


_OWN_REPORTERS = ("ipallocator-repair-controller", "portallocator-repair-controller")


def _reporter(event: Any) -> Any:
    return event.get("reportingComponent") or event.get("reportingController")


def _place(row: Any) -> tuple[str, int]:
    """The content, and the version, of an object with a generated name; other objects come first, in the order of their
    names. The versions alone do not suffice: a deletion of many objects writes them in the order of their names."""
    metadata = row.get("object", row)["metadata"]
    if not metadata.get("generateName"):
        return "", 0
    _sort_managers(row)
    return canonical(msgspec.json.encode(row, order="sorted"), Names()), int(metadata["resourceVersion"])


def _is_json(kinds: Sequence[str]) -> bool:
    return bool(kinds) and kinds[0].startswith("application/json")


def without_suffix(request: Request, text: str) -> str:
    """The text without the random end of the name of an object that was not created."""
    body = request.body
    if isinstance(body, bytes) and b"generateName" in body:
        try:
            body = yaml.load(body, Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            return text
    metadata = body.get("metadata") if isinstance(body, dict) else None
    base = metadata.get("generateName") if isinstance(metadata, dict) else None
    if not base or not isinstance(base, str):
        return text
    # The name in a text of JSON is quoted once in a message, and twice in a cause about the name.
    once = msgspec.json.encode(base[:58]).decode()[1:-1]
    forms = sorted({base[:58], once, msgspec.json.encode(once).decode()[1:-1]}, key=len)
    for form in forms:
        text = re.sub(rf"({re.escape(form)})[bcdfghjklmnpqrstvwxz2456789]{{5}}(?![a-z0-9])", r"\1<suffix>", text)
    return text


def decoded(answer: Answer, text: str) -> Any:
    kinds = answer.header("content-type")
    try:
        if kinds and "json" in kinds[0]:
            return in_order(msgspec.json.decode(text))
        if kinds and "yaml" in kinds[0]:
            return in_order(yaml.load(text, Loader=yaml.CSafeLoader))
    except (msgspec.DecodeError, yaml.YAMLError):
        pass
    return text


def in_order(tree: Any) -> Any:
    """Sorts lists whose order is that of a Go map, and differs from one answer of the real server to the next; and the
    managers of fields, whose order depends on the seconds in which two requests arrived."""
    _sort_managers(tree)
    if is_status(tree):
        for holder in (tree, *((tree.get("details") or {}).get("causes") or ())):
            if "managedFields" in (holder.get("message") or ""):
                holder["message"] = _QUOTED_MANAGERS.sub(_sorted_entries, holder["message"])
    items = tree.get("items") if isinstance(tree, dict) else None
    if isinstance(items, list) and any("<name:" in str(item.get("metadata", {}).get("name")) for item in items):
        # Objects are listed by name, and some names are random.
        items.sort(key=lambda item: str(item["metadata"].get("uid")))
    if isinstance(tree, dict) and tree.get("kind") == "SelfSubjectRulesReview" and isinstance(tree.get("status"), dict):
        for rules in ("resourceRules", "nonResourceRules"):
            if isinstance(tree["status"].get(rules), list):
                tree["status"][rules].sort(key=lambda rule: msgspec.json.encode(rule, order="sorted"))
    if isinstance(tree, dict) and tree.get("kind") == "ComponentStatusList":
        tree["items"].sort(key=lambda item: item["metadata"]["name"])
    if isinstance(tree, dict) and tree.get("kind") == "APIResourceList":
        tree["resources"].sort(key=lambda resource: resource["name"])
    return tree


# The deletion of a namespace writes its finalizers in the order of a Go map.
RANDOM_FINALIZERS = "namespaces/"


def sort_finalizers(tree: Any) -> None:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        if key == "finalizers" and isinstance(value, list):
            value.sort(key=str)
        else:
            sort_finalizers(value)


# The managers of an object that a message quotes.
_QUOTED_MANAGERS = re.compile(r'(?<="managedFields\\":\[)[^\[\]]+')


def _sorted_entries(found: re.Match[str]) -> str:
    return ",".join(sorted(re.split(r',(?=\{\\"(?:manager|apiVersion)\\":)', found[0])))


def _sort_managers(tree: Any) -> None:
    if isinstance(tree, list):
        for item in tree:
            _sort_managers(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key == "managedFields" and isinstance(value, list):
                value.sort(
                    key=lambda entry: [
                        str(entry.get(part)) for part in ("operation", "manager", "subresource", "apiVersion")
                    ]
                )
            elif key in ("items", "rows", "object", "metadata"):
                _sort_managers(value)


def is_status(tree: Any) -> bool:
    return isinstance(tree, dict) and tree.get("kind") == "Status" and tree.get("apiVersion") == "v1"


def is_protobuf(answer: Answer) -> bool:
    return any("protobuf" in kind for kind in answer.header("content-type"))
