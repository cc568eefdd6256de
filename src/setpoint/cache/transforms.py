"""Transforms: reduce objects before they are stored, for readers that need only a part."""

from collections.abc import Iterable
from typing import Any

from setpoint.cache.scope import Transform
from setpoint.objects.tree import Object

# The metadata fields that a cache needs.
_NEEDED = (
    "name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp", "labels", "ownerReferences",
    "finalizers",
)  # fmt: skip


def strip_managed_fields(tree: Object) -> Object:
    """Removes the managed fields, which are often half of an object."""
    tree.get("metadata", {}).pop("managedFields", None)
    return tree


def keep_only(*paths: str) -> Transform:
    """Keeps only the fields at these paths (such as `spec.replicas`, also through lists), and those that identify an
    object.

    The other fields are missing in the objects of the cache: do not send such an object as an update.
    """
    wanted = _tree_of(("apiVersion", "kind", *(f"metadata.{name}" for name in _NEEDED), *paths))
    return lambda tree: _kept(tree, wanted)


def drop(*paths: str) -> Transform:
    """Removes the fields at these paths, also through lists."""
    unwanted = _tree_of(paths)

    def transform(tree: Object) -> Object:
        _dropped(tree, unwanted)
        return tree

    return transform


def chain(*transforms: Transform) -> Transform:
    """Applies transforms one after the other."""

    def transform(tree: Object) -> Object:
        for each in transforms:
            tree = each(tree)
        return tree

    return transform


# Names, and the selected names below each; None selects everything.
_Wanted = dict[str, Any]


def _tree_of(paths: Iterable[str]) -> _Wanted:
    """Returns the paths as a tree of names."""
    found: _Wanted = {}
    for path in paths:
        branch, names = found, path.removeprefix(".").split(".")
        for name in names[:-1]:
            branch = branch.setdefault(name, {})
            if branch is None:  # everything is selected already
                break
        else:
            branch[names[-1]] = None
    return found


def _kept(value: Any, wanted: _Wanted | None) -> Any:
    if wanted is None:
        return value
    if isinstance(value, list):
        return [_kept(item, wanted) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _kept(value[name], below) for name, below in wanted.items() if name in value}


def _dropped(value: Any, unwanted: _Wanted) -> None:
    if isinstance(value, list):
        for item in value:
            _dropped(item, unwanted)
    elif isinstance(value, dict):
        for name, below in unwanted.items():
            if below is None:
                value.pop(name, None)
            elif name in value:
                _dropped(value[name], below)
