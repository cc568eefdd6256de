"""A wanted object: kept as encoded bytes, and decoded with the labels of its set only if necessary.

An object that is already as wanted is recognized by its bytes alone.
"""

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

# A deterministic encoding, to recognize equal objects.
encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


class Marks(NamedTuple):
    """The labels and annotations of the objects of a set."""

    set_id: str
    manager: str
    # The owner of the set; empty without one.
    owner: str


class UserObject(NamedTuple):
    """An object as given by the user: a copy that later changes of the original do not affect."""

    gvk: GroupVersionKind
    # In the namespace of the object, which may be empty.
    identity: Identity
    body: bytes

    @classmethod
    def of(cls, obj: AnyObject) -> "UserObject":
        """Copies an object. Raises ValueError for an object that cannot be a member of a set."""
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
        """A copy of the object."""
        found: Object = _decode(self.body)
        return found


@lru_cache(maxsize=1024)
def _gvk(api_version: str | None, kind: str | None) -> GroupVersionKind:
    return ref_of({"apiVersion": api_version, "kind": kind}).gvk


def _nameless(kind: str, metadata: Object) -> str:
    if metadata.get("generateName"):
        return (
            f"a {kind} of a set needs a name: a generated name would differ in every run; "
            "derive one from the owner's name and the object's purpose"
        )
    return f"a {kind} of a set needs a name"


class Desired:
    """One wanted object of a set."""

    __slots__ = ("_has_status", "_marks", "_source", "_tree", "gvk", "how", "identity", "plural")

    def __init__(
        self,
        source: UserObject,
        identity: Identity,
        how: How,
        marks: Marks,
        *,
        has_status: bool = False,
        plural: str = "",
    ) -> None:
        self.identity = identity
        self.gvk = source.gvk
        self.how = how
        # The resource name of the kind; empty if the server does not serve the kind yet.
        self.plural = plural
        self._source = source
        self._marks = marks
        # True if the kind has a status subresource, to which the status is written.
        self._has_status = has_status
        self._tree: Object | None = None

    @property
    def comparison_key(self) -> tuple[object, ...]:
        """The object and its policy, for comparison."""
        return hash(self._source.body), self.how

    @property
    def precondition_version(self) -> str:
        """The resource version in the given object, which a write is then conditional on."""
        return meta.resource_version(self._source.tree)

    @property
    def status(self) -> Object | None:
        """The status to write to the status subresource; None if the object has none."""
        return (self._source.tree.get("status") or None) if self._has_status else None

    @property
    def tree(self) -> Object:
        """The object with the labels and annotations of the set."""
        if self._tree is None:
            self._tree = self._with_marks()
        return self._tree

    def _with_marks(self) -> Object:
        tree, marks = self._source.tree, self._marks
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
