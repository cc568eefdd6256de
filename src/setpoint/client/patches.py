"""Patches: what to send to change part of an object, and how it is meant."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from setpoint.client.kinds import AnyObject, tree_of
from setpoint.merge import mergepatch
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

_encode = msgspec.json.Encoder().encode


class Patch(NamedTuple):
    """A patch, ready to be sent. An empty one changes nothing and need not be sent."""

    content_type: str
    body: bytes
    is_empty: bool = False


def merge_patch(before: AnyObject, after: AnyObject, *, optimistic_lock: bool = False) -> Patch:
    """What turns one object into the other. With the lock it is refused if somebody else wrote meanwhile."""
    # A tree may have been made of parts of frozen ones.
    old, new = thaw(tree_of(before)), thaw(tree_of(after))
    patch = mergepatch.diff(old, new)
    is_empty = not patch
    if optimistic_lock:
        version = old.get("metadata", {}).get("resourceVersion")
        if not version:
            raise ValueError(
                "an optimistic lock needs the resourceVersion of the object before: read it from the server"
            )
        patch.setdefault("metadata", {})["resourceVersion"] = version
    return Patch(MERGE, _encode(patch), is_empty)


def merge(patch: Object) -> Patch:
    """A merge patch as it is to be sent."""
    return Patch(MERGE, _encode(patch), not patch)


def json_patch(operations: Sequence[Object]) -> Patch:
    """A JSON patch: operations with `op`, `path` and `value` or `from`."""
    return Patch(JSON_PATCH, _encode(list(operations)), not operations)


def strategic(patch: Object) -> Patch:
    """A strategic merge patch as it is to be sent; for built-in kinds only."""
    return Patch(STRATEGIC, _encode(patch), not patch)


def raw(content_type: str, body: bytes) -> Patch:
    """A patch of any kind."""
    return Patch(content_type, body)


def apply_configuration(tree: Json) -> Patch:
    """A configuration to be applied."""
    return Patch(APPLY, _encode(tree))
