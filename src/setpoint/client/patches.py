"""Patches: what to send to change part of an object, and how it is meant."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from setpoint.client.kinds import AnyObject, ref_of, tree_of
from setpoint.merge import mergepatch
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object

if TYPE_CHECKING:
    from setpoint.merge.strategic import PatchSchemas

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
    return _locked(MERGE, mergepatch.diff(old, new), old, optimistic_lock)


def merge(patch: Object) -> Patch:
    """A merge patch as it is to be sent."""
    return Patch(MERGE, _encode(patch), not patch)


def json_patch(operations: Sequence[Object]) -> Patch:
    """A JSON patch: operations with `op`, `path` and `value` or `from`."""
    return Patch(JSON_PATCH, _encode(list(operations)), not operations)


def strategic(patch: Object) -> Patch:
    """A strategic merge patch as it is to be sent; for built-in kinds only."""
    return Patch(STRATEGIC, _encode(patch), not patch)


def strategic_patch(before: AnyObject, after: AnyObject, *, optimistic_lock: bool = False) -> Patch:
    """What turns one object into the other, with lists merged as their kind says: others may change other items of them
    meanwhile. For built-in kinds only: of one's own kinds the server knows no such rules, and `merge_patch` serves."""
    from setpoint.merge.strategic import diff
    from setpoint.schema.builtin import definitions

    old, new = tree_of(before), tree_of(after)
    gvk = ref_of(after).gvk
    name = definitions.kinds().get(gvk)
    if name is None:
        raise ValueError(f"{gvk.kind} is no built-in kind, and only those have strategic patches: use merge_patch")
    patch = diff(old, new, _patch_schemas()[f"#/definitions/{name}"])
    return _locked(STRATEGIC, patch, old, optimistic_lock)


@cache
def _patch_schemas() -> "PatchSchemas":
    from setpoint.merge.strategic import PatchSchemas
    from setpoint.schema.builtin import definitions

    return PatchSchemas(definitions.resolve)


def _locked(content_type: str, patch: Object, old: Object, optimistic_lock: bool) -> Patch:
    is_empty = not patch
    if optimistic_lock:
        version = old.get("metadata", {}).get("resourceVersion")
        if not version:
            raise ValueError(
                "an optimistic lock needs the resourceVersion of the object before: read it from the server"
            )
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}
    return Patch(content_type, _encode(patch), is_empty)


def raw(content_type: str, body: bytes) -> Patch:
    """A patch of any kind."""
    return Patch(content_type, body)


def apply_configuration(tree: Json) -> Patch:
    """A configuration to be applied."""
    return Patch(APPLY, _encode(tree))
