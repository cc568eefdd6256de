"""What the server must know of one kind beyond its schema: the rules of creating, changing, deleting and showing it.

A `Strategy` is data and pure functions. The defaults here are those of most kinds; a built-in kind overrides what is
special about it, and every custom resource shares one class. Trees are changed in place where a method says so; nothing
here reads the store. What a rule needs beside the object (the clock, ids, other objects) it is given.

What the write path does by itself, and no strategy needs to: it drops `status_fields` on create and restores them on
every update but through /status (where the kind has that subresource), and restores everything else on an update
through /status; it keeps `generation`; it restores immutable metadata, fills in uid, name and creationTimestamp (all
there when `prepare_for_create` runs) and validates metadata.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from setpoint.objects.clock import Clock
from setpoint.objects.field import FieldError
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Json, Object

if TYPE_CHECKING:
    from setpoint.server.registry.kinds.core.service.allocator import Pool


class Column(NamedTuple):
    """One column of the Table form, and how its cell is made from an object at some moment."""

    name: str
    cell: Callable[[Object, datetime], Json]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Strategy:
    """The rules of a kind. One instance serves one resource; it has no state of its own."""

    # Whether even a small object may take long to validate.
    is_heavy: ClassVar[bool] = False
    # Whether metadata.generation is kept (2.5 of the API's rules), and whether a PUT may leave out resourceVersion.
    keeps_generation: ClassVar[bool] = False
    allows_unconditional_update: ClassVar[bool] = True
    # Whether a PUT to a name that does not exist creates it.
    allows_create_on_update: ClassVar[bool] = False
    # Whether an object is given time to end before it goes (`graceful_seconds` says how much).
    is_graceful: ClassVar[bool] = False
    # Whether the garbage collector's finalizers mean anything for the kind.
    has_dependents: ClassVar[bool] = True
    # Whether dependents stay when a DELETE does not say what becomes of them, as with a few older kinds.
    orphans_by_default: ClassVar[bool] = False
    # What a client is told that leaves it open what becomes of the dependents.
    orphan_warning: ClassVar[str] = ""
    # The field of a new object in which the server writes who asks for it: username, uid, groups, extra.
    requester_field: ClassVar[str] = ""
    # Whether DELETE answers with the object instead of a Status.
    returns_deleted_object: ClassVar[bool] = False
    # Top-level fields that only the status subresource writes; empty if there is none.
    status_fields: ClassVar[Sequence[str]] = ("status",)
    # The subresources through which they are written.
    status_endpoints: ClassVar[Sequence[str]] = ("status",)
    # Whether a new object keeps the status it was sent with.
    creates_with_status: ClassVar[bool] = False
    # Whether labels, annotations, finalizers and the like can be changed through /status (true of the older kinds).
    status_writes_metadata: ClassVar[bool] = True
    # Paths (as in FieldsV1) that an apply to the main resource, or to /status, never comes to own.
    reset_fields: ClassVar[Mapping[str, Sequence[str]]] = {"": ("status",), "status": ("spec",)}
    # Whether `allocate` must be asked.
    allocates: ClassVar[bool] = False
    # Whether `validate` and `validate_update` judge the metadata too.
    validates_metadata: ClassVar[bool] = False
    # Field selectors beyond metadata.name and metadata.namespace.
    selectable_fields: ClassVar[Mapping[str, Callable[[Object], str]]] = {}
    columns: ClassVar[Sequence[Column]] = ()
    # Annotations that whole objects show and their metadata alone does not: fields of an older version in disguise.
    annotations_of_whole: ClassVar[Sequence[str]] = ()

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        """What is wrong with a name, or with the prefix of a generated one."""
        return dns1123_subdomain(name, prefix)

    def default(self, tree: Object) -> None:
        """Fills in, in place, what the kind's schema cannot: the defaults that depend on other fields."""

    def prepare_for_create(self, tree: Object) -> None:
        """Sets or clears, in place, what is the server's to say (status, initial phase, allocated fields)."""

    def renamed(self, tree: Object, before: str) -> None:
        """Follows up, in place, that a prepared object gets another name: the one that was generated was taken."""

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        """Restores, in place, what this endpoint may not change."""

    def validate(self, tree: Object) -> list[FieldError]:
        """What is wrong with a new object, beyond its metadata and its schema."""
        return []

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        """What is wrong with a changed object, immutable fields included."""
        return []

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        """What the client should be told though nothing is wrong."""
        return []

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        """Whether an update changed what the generation counts: anything but the metadata and the status."""
        apart = ("metadata", *self.status_fields)
        names = {*tree, *old}
        return any(tree.get(name) != old.get(name) for name in names if name not in apart)

    def allocate(self, tree: Object, old: Object | None, pool: "Pool") -> list[FieldError]:
        """Gives the object, in place, what no two objects may have both; asked between `prepare_...` and `validate...`
        where `allocates` says so. `old` is what it was, None for a new one; the pool knows what is in use."""
        return []

    def row_conditions(self, tree: Object) -> list[Object]:
        """What a Table says of the row of the object as a whole."""
        return []

    def ttl(self, tree: Object) -> float | None:
        """After how many seconds the log forgets the object by itself; None: never."""
        return None

    def own_finalizers(self, tree: Object) -> Sequence[str]:
        """Finalizers that the kind keeps elsewhere than in the metadata; the object stays while there are any."""
        return ()

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """The object in another of the versions that share its storage, by their `apiVersion`s. May change the tree."""
        return {**tree, "apiVersion": to_version}

    def begin_deletion(self, tree: Object, clock: Clock) -> Object | None:
        """The object after the first request to delete it, for kinds that go step by step; None for all others."""
        return None

    def graceful_seconds(self, tree: Object, requested: int | None) -> int:
        """How long a deletion may take; 0: it is gone at once."""
        return 0
