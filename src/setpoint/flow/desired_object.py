"""An object as it is wanted: kept as it was given, in bytes, and made a tree with the marks of its set only when
somebody has to look into it. What is as it should be is found so by its bytes alone."""

from functools import lru_cache
from typing import NamedTuple

import msgspec

from setpoint.client.kinds import AnyObject, ref_of
from setpoint.flow.inventory import Identity
from setpoint.flow.marks import MANAGED_BY, OWNER_ANNOTATION, SET_LABEL, manager_label
from setpoint.flow.policy import How
from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.types.resource import Resource

_SERVERS_OWN = ("managedFields", "resourceVersion", "creationTimestamp", "generation", "uid", "selfLink")

# One text for one tree, so that what was given before is known again.
encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


class Marks(NamedTuple):
    """What the objects of a set bear."""

    set_id: str
    manager: str
    # Whom the set belongs to; empty: nobody.
    owner: str


class Given(NamedTuple):
    """An object as its user gave it: nothing that happens to theirs later changes it."""

    gvk: GroupVersionKind
    # In the namespace that it says, which may be none.
    identity: Identity
    body: bytes

    @classmethod
    def of(cls, obj: AnyObject) -> "Given":
        """Raises ValueError for what cannot be of a set."""
        if isinstance(obj, Resource):
            gvk, tree = ref_of(obj).gvk, obj.to_json()
        else:
            gvk, tree = _gvk(obj.get("apiVersion"), obj.get("kind")), obj
        metadata = tree.get("metadata") or {}
        name = metadata.get("name")
        if not name:
            raise ValueError(_nameless(gvk.kind, metadata))
        return cls(gvk, Identity(gvk.group, gvk.kind, metadata.get("namespace") or "", name), encode(tree))

    @property
    def tree(self) -> Object:
        """A copy of it."""
        found: Object = _decode(self.body)
        return found


@lru_cache(maxsize=1024)
def _gvk(api_version: str | None, kind: str | None) -> GroupVersionKind:
    return ref_of({"apiVersion": api_version, "kind": kind}).gvk


def _nameless(kind: str, metadata: Object) -> str:
    if metadata.get("generateName"):
        return (
            f"a {kind} of a set needs a name: one that the server makes would be another in every run; "
            "make one of the owner's name and what the object is for"
        )
    return f"a {kind} of a set needs a name"


class Desired:
    """One wanted object of a set."""

    __slots__ = ("_given", "_has_status", "_marks", "_tree", "gvk", "how", "identity", "plural")

    def __init__(
        self, given: Given, identity: Identity, how: How, marks: Marks, *, has_status: bool = False, plural: str = ""
    ) -> None:
        self.identity = identity
        self.gvk = given.gvk
        self.how = how
        # What the server calls its kind; empty where it does not have that yet.
        self.plural = plural
        self._given = given
        self._marks = marks
        # Its kind reports by a status of its own, which is not the set's to write.
        self._has_status = has_status
        self._tree: Object | None = None

    @property
    def what(self) -> tuple[object, ...]:
        """What is wanted and how, to be compared."""
        return hash(self._given.body), self.how

    @property
    def made_of(self) -> str:
        """The version that the object itself said that it is made of."""
        return meta.resource_version(self._given.tree)

    @property
    def tree(self) -> Object:
        """The object with its marks."""
        if self._tree is None:
            self._tree = self._marked()
        return self._tree

    def _marked(self) -> Object:
        tree, marks = self._given.tree, self._marks
        metadata = tree["metadata"]
        for name in _SERVERS_OWN:
            metadata.pop(name, None)
        meta.put(metadata, "namespace", self.identity.namespace)
        labels = metadata["labels"] = metadata.get("labels") or {}
        labels[SET_LABEL] = marks.set_id
        labels.setdefault(MANAGED_BY, manager_label(marks.manager))
        if marks.owner:
            annotations = metadata["annotations"] = metadata.get("annotations") or {}
            annotations[OWNER_ANNOTATION] = marks.owner
        if self._has_status:
            tree.pop("status", None)
        return tree
