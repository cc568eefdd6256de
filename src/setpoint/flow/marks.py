"""What an object of an apply set bears: the set it is of, whom that belongs to, and whether it may be pruned.

The inventory decides what is deleted; the marks make sure that an object of the inventory is still the set's own, and
lead from an object back to the owner where no owner reference can.
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
# With the value "false", as label or annotation, an object stays when the set no longer has it.
PRUNE_MARK = "setpoint.dev/prune"
MANAGED_BY = "app.kubernetes.io/managed-by"
# What a label may have, and how much of it.
_NO_LABEL = re.compile(r"[^A-Za-z0-9._-]")
_LABEL_CHARACTERS = 63


class Owner(NamedTuple):
    """Whom a set belongs to, as its objects say it."""

    gvk: GroupVersionKind
    namespace: str
    name: str

    @classmethod
    def of(cls, tree: Object) -> "Owner":
        return cls(GroupVersionKind.of(tree), meta.namespace(tree), meta.name(tree))

    def __str__(self) -> str:
        return f"{self.gvk.api_version}/{self.gvk.kind}:{self.namespace}/{self.name}"


def set_id(name: str, owner: Owner | None) -> str:
    """The identity of a set: of its name and its owner's, in whatever version. Raises ValueError for a bad name."""
    if dns1123_label(name) or len(name) > 40:
        raise ValueError(f"{name!r} cannot name a set: at most 40 lower case letters, digits and dashes")
    if owner is None:
        return name
    whose = "\n".join((name, owner.gvk.group, owner.gvk.kind, owner.namespace, owner.name))
    return f"{name}-{hashlib.sha256(whose.encode()).hexdigest()[:16]}"


def manager_label(manager: str) -> str:
    """A field manager as the value of a label, which may be less than what manages fields."""
    return _NO_LABEL.sub("-", manager)[:_LABEL_CHARACTERS].strip("._-")


def set_of(tree: Object) -> str:
    """The set that an object says it is of; empty where it says none."""
    return meta.labels(tree).get(SET_LABEL, "")


def find_owner(tree: Object) -> Owner | None:
    """Whom the set of an object belongs to: the one to reconcile when it changes."""
    kind, colon, place = meta.annotations(tree).get(OWNER_ANNOTATION, "").partition(":")
    namespace, slash, name = place.partition("/")
    api_version, _, kind = kind.rpartition("/")
    if not (colon and slash and name and kind and api_version):
        return None
    return Owner(GroupVersionKind.of({"apiVersion": api_version, "kind": kind}), namespace, name)


def is_kept(tree: Object) -> bool:
    """Whether an object says that it must not be pruned."""
    return "false" in (meta.labels(tree).get(PRUNE_MARK), meta.annotations(tree).get(PRUNE_MARK))
