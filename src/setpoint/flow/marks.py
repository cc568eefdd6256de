"""The labels and annotations of objects in an apply set: the set, its owner, and whether the object may be pruned.

The inventory determines the objects to delete; the labels confirm that an object still belongs to the set, and the
annotation leads to the owner if there is no owner reference.
"""

import hashlib
import re
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object

SET_LABEL = "setpoint.dev/apply-set"
OWNER_ANNOTATION = "setpoint.dev/apply-set-owner"
# A label or annotation with the value "false" prevents pruning.
PRUNE_MARK = "setpoint.dev/prune"
MANAGED_BY = "app.kubernetes.io/managed-by"
# The invalid characters and the maximum length of a label value.
_NO_LABEL = re.compile(r"[^A-Za-z0-9._-]")
_LABEL_CHARACTERS = 63


class Owner(NamedTuple):
    """The owner of a set, as written to its objects."""

    gvk: GroupVersionKind
    namespace: str
    name: str

    @classmethod
    def of(cls, tree: Object) -> "Owner":
        return cls(GroupVersionKind.of(tree), meta.namespace(tree), meta.name(tree))

    def __str__(self) -> str:
        return f"{self.gvk.api_version}/{self.gvk.kind}:{self.namespace}/{self.name}"


def set_id(name: str, owner: Owner | None) -> str:
    """Returns the ID of a set, from its name and its owner, without the version. Raises ValueError."""
    if dns1123_label(name) or len(name) > 40:
        raise ValueError(f"invalid set name {name!r}: use at most 40 lowercase letters, digits and dashes")
    if owner is None:
        return name
    whose = "\n".join((name, owner.gvk.group, owner.gvk.kind, owner.namespace, owner.name))
    return f"{name}-{hashlib.sha256(whose.encode()).hexdigest()[:16]}"


def manager_label(manager: str) -> str:
    """Returns a field manager as a label value, which permits fewer characters."""
    return _NO_LABEL.sub("-", manager)[:_LABEL_CHARACTERS].strip("._-")


def set_of(tree: Object) -> str:
    """Returns the set of an object by its label; empty without one."""
    return meta.labels(tree).get(SET_LABEL, "")


def find_owner(tree: Object) -> Owner | None:
    """Returns the owner of an object's set, which is reconciled when the object changes; None without one."""
    kind, colon, place = meta.annotations(tree).get(OWNER_ANNOTATION, "").partition(":")
    namespace, slash, name = place.partition("/")
    api_version, _, kind = kind.rpartition("/")
    if not (colon and slash and name and kind and api_version):
        return None
    return Owner(GroupVersionKind.of({"apiVersion": api_version, "kind": kind}), namespace, name)


def is_kept(tree: Object) -> bool:
    """Returns True if an object is marked as not prunable."""
    return "false" in (meta.labels(tree).get(PRUNE_MARK), meta.annotations(tree).get(PRUNE_MARK))
