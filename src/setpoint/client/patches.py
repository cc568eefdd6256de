"""Patches: the content and the type of a partial change to an object."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from setpoint.client.kinds import AnyObject, ref_of, tree_of
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object

if TYPE_CHECKING:
    from setpoint.merge.strategic import PatchSchemas

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

_encode = msgspec.json.Encoder().encode


class Patch(NamedTuple):
    """An encoded patch. An empty patch changes nothing, and sending one is unnecessary."""

    content_type: str
    body: bytes
    is_empty: bool = False


def merge_patch(before: AnyObject, after: AnyObject, *, optimistic_lock: bool = False) -> Patch:
    """Returns the merge patch from one object to the other. With `optimistic_lock`, the server rejects the patch if the
    object was written in between."""
    # A tree may contain parts of frozen trees.
    old, new = thaw(tree_of(before)), thaw(tree_of(after))
    from setpoint.merge import mergepatch

    return _locked(MERGE, mergepatch.diff(old, new), old, optimistic_lock)


def merge(patch: Object) -> Patch:
    """Returns a merge patch with the given content."""
    return Patch(MERGE, _encode(patch), not patch)


def json_patch(operations: Sequence[Object]) -> Patch:
    """Returns a JSON Patch with operations that have `op`, `path`, and `value` or `from`."""
    return Patch(JSON_PATCH, _encode(list(operations)), not operations)


def strategic(patch: Object) -> Patch:
    """Returns a strategic merge patch with the given content. Only built-in kinds support this type."""
    return Patch(STRATEGIC, _encode(patch), not patch)


def strategic_patch(before: AnyObject, after: AnyObject, *, optimistic_lock: bool = False) -> Patch:
    """Returns the strategic merge patch from one object to the other. Lists are merged by the rules of their kind, so
    that other writers can change other items. Only built-in kinds support this type; use `merge_patch` for custom
    resources."""
    from setpoint.merge.strategic import diff
    from setpoint.schema.builtin import definitions

    old, new = tree_of(before), tree_of(after)
    gvk = ref_of(after).gvk
    name = definitions.kinds().get(gvk)
    if name is None:
        raise ValueError(f"{gvk.kind} is not a built-in kind and has no strategic merge patches: use merge_patch")
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
                "an optimistic lock needs the resourceVersion of the earlier object: read the object from the server"
            )
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}
    return Patch(content_type, _encode(patch), is_empty)


def raw(content_type: str, body: bytes) -> Patch:
    """Returns a patch of any content type."""
    return Patch(content_type, body)


def apply_configuration(tree: Json) -> Patch:
    """Returns a server-side apply patch."""
    return Patch(APPLY, _encode(tree))
