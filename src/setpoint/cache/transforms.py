"""Transforms: what is left of an object before it is kept, for those who need only some of it."""

from collections.abc import Iterable
from typing import Any

from setpoint.cache.scope import Transform
from setpoint.objects.tree import Object

# What a cache must know of every object.
_NEEDED = (
    "name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp", "labels", "ownerReferences",
    "finalizers",
)  # fmt: skip


def strip_managed_fields(tree: Object) -> Object:
    """Without the record of who manages which field: often half of an object."""
    tree.get("metadata", {}).pop("managedFields", None)
    return tree


def keep_only(*paths: str) -> Transform:
    """Keeps only what is at these paths (`spec.replicas`, through lists as well), beside what identifies an object.

    What the server has and this leaves out is gone from what is read: do not send such an object back as an update.
    """
    wanted = _tree_of(("apiVersion", "kind", *(f"metadata.{name}" for name in _NEEDED), *paths))
    return lambda tree: _kept(tree, wanted)


def drop(*paths: str) -> Transform:
    """Leaves out what is at these paths, through lists as well."""
    unwanted = _tree_of(paths)

    def transform(tree: Object) -> Object:
        _dropped(tree, unwanted)
        return tree

    return transform


def chain(*transforms: Transform) -> Transform:
    """One after the other."""

    def transform(tree: Object) -> Object:
        for each in transforms:
            tree = each(tree)
        return tree

    return transform


# Names, and what is meant below each; None: all of it.
_Wanted = dict[str, Any]


def _tree_of(paths: Iterable[str]) -> _Wanted:
    """The paths as a tree of names."""
    found: _Wanted = {}
    for path in paths:
        branch, names = found, path.removeprefix(".").split(".")
        for name in names[:-1]:
            branch = branch.setdefault(name, {})
            if branch is None:  # all of it is meant already
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
