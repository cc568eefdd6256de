"""The rules of one kind beyond its schema: creation, update, deletion and display.

A `Strategy` is data and pure functions. The defaults here are those of most kinds; a built-in kind overrides its
special rules, and all custom resources share one class. Methods change trees in place only where their docstring says
so; no method reads the store. The caller passes the clock, IDs and other objects that a rule needs.

The write path itself does the following for all kinds: drops `status_fields` on create and restores them on every
update but through /status (if the kind has that subresource), and restores all other fields on an update through
/status; maintains `generation`; restores immutable metadata, fills in uid, name and creationTimestamp (all set when
`prepare_for_create` runs) and validates metadata.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from setpoint.merge.equality import identical
from setpoint.objects.clock import Clock
from setpoint.objects.field import FieldError
from setpoint.objects.ids import Ids
from setpoint.objects.names import NameRule, dns1123_subdomain, generate_name
from setpoint.objects.times import format_time
from setpoint.objects.tree import Json, Object

if TYPE_CHECKING:
    from setpoint.merge.strategic import PatchSchema
    from setpoint.server.registry.kinds.core.service.allocator import Pool


class Column(NamedTuple):
    """One column of the Table form, with the function that makes its cell from an object and the current time."""

    name: str
    cell: Callable[[Object, datetime], Json]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Strategy:
    """The rules of a kind. One instance serves one resource and has no state."""

    # True if even a small object may take long to validate.
    is_heavy: ClassVar[bool] = False
    # The other versions of the kind in which a body may be, if these have the same fields.
    accepted_versions: ClassVar[Sequence[str]] = ()
    # True if metadata.generation is maintained.
    keeps_generation: ClassVar[bool] = False
    # The top-level field in which an empty list of an update increments the generation, because kube-apiserver stores
    # none and compares strictly; empty if there is no such field.
    counts_empty_in: ClassVar[str] = ""
    # True if validation distinguishes empty lists from absent ones.
    validates_empty: ClassVar[bool] = False
    # The lists that get no default if the client sends an empty one.
    without_default: ClassVar[Sequence[str]] = ()
    # True if the kind has rules in `decoding_fault`, and in `validate_before_metadata`.
    has_decoding_faults: ClassVar[bool] = False
    validates_before_metadata: ClassVar[bool] = False
    # True if the write path must call `is_change`.
    compares_sent: ClassVar[bool] = False
    # True if a PUT may omit resourceVersion.
    allows_unconditional_update: ClassVar[bool] = True
    # The versions in which a PUT may omit resourceVersion in any case.
    unconditional_versions: ClassVar[Sequence[str]] = ()
    # True if a PUT to a name that does not exist creates the object.
    allows_create_on_update: ClassVar[bool] = False
    # True if a PUT or an apply to the status of a name that does not exist creates the object.
    allows_create_on_status_update: ClassVar[bool] = False
    # True if an apply to the status of a name that does not exist creates the object.
    creates_on_status_apply: ClassVar[bool] = False
    # True if deletion has a grace period (see `graceful_seconds`).
    is_graceful: ClassVar[bool] = False
    # True if the finalizers of the garbage collector have an effect on the kind.
    has_dependents: ClassVar[bool] = True
    # True if a DELETE without a propagation policy orphans the dependents, as for a few older kinds.
    orphans_by_default: ClassVar[bool] = False
    # The merge rules of strategic merge patches of a custom resource; None if the resource does not support them.
    patch_schema: "PatchSchema | None" = None
    # True if the first request of a deletion in several steps sets the finalizers of its propagation policy.
    propagates_first: ClassVar[bool] = True
    # The warning for a DELETE without a propagation policy.
    orphan_warning: ClassVar[str] = ""
    # The beginning of the message for a failed precondition of a DELETE, for kinds with a message of their own.
    precondition_text: ClassVar[str] = ""
    # The field of a new object in which the server stores the requesting user: username, uid, groups, extra.
    requester_field: ClassVar[str] = ""
    # True if DELETE returns the object instead of a Status.
    returns_deleted_object: ClassVar[bool] = False
    # Top-level fields that only the status subresource writes; empty if there is none.
    status_fields: ClassVar[Sequence[str]] = ("status",)
    # The subresources that write the status fields.
    status_endpoints: ClassVar[Sequence[str]] = ("status",)
    # The subresources whose `prepare_for_update` restores the status fields.
    prepares_status: ClassVar[Sequence[str]] = ()
    # True if a new object keeps the status that the client sent.
    creates_with_status: ClassVar[bool] = False
    # True if labels, annotations, finalizers and the like can be changed through /status, as for the older kinds.
    status_writes_metadata: ClassVar[bool] = True
    # Paths (as in FieldsV1) that an apply to the main resource, or to /status, never owns.
    reset_fields: ClassVar[Mapping[str, Sequence[str]]] = {"": ("status",), "status": ("spec",)}
    # True if the rows of a Table are in the order of `row_rank`, those of the same rank in that of their names.
    sorts_rows: ClassVar[bool] = False
    # True if the write path must call `allocate`.
    allocates: ClassVar[bool] = False
    # The path of the pod spec of the kind, in which fields of features that are off are dropped; empty if none.
    pod_spec: ClassVar[Sequence[str]] = ()
    # True if `default_times` must be called for objects of requests.
    defaults_times: ClassVar[bool] = False
    # True if other fields of an object decide about the rule of its name: `name_rule` instead of `name_errors`.
    has_name_rule: ClassVar[bool] = False
    # True if the write path must call `complete_named`.
    has_named_fields: ClassVar[bool] = False
    # True if the write path must call `restore_stored` and `as_owned`.
    restores_stored: ClassVar[bool] = False
    # True if the write path must call `stamp`.
    stamps: ClassVar[bool] = False
    # True if the write path must call `namespace_errors`.
    reads_namespace: ClassVar[bool] = False
    # True if `validate` and `validate_update` validate the metadata too.
    validates_metadata: ClassVar[bool] = False
    # True if the API declares rules with the Go types of the kind; a side effect is that errors are never repeated.
    declares_rules: ClassVar[bool] = True
    # Declared rules, as for `declared_last`; their errors come last. The second rules apply to new objects only: on an
    # update, the error about a change of the field around them is the only declared one.
    declared_rules: ClassVar[Sequence[str]] = ()
    declared_of_new: ClassVar[Sequence[str]] = ()
    # True if the rules of the kind ignore the metadata, which are then validated only if the other fields are valid.
    validates_metadata_last: ClassVar[bool] = False
    # The time when an update validates the name by the rule of the kind: before or after the domains of the
    # finalizers, or never. The subresources of these updates.
    name_on_update: ClassVar[Literal["", "before", "after"]] = ""
    name_endpoints: ClassVar[Sequence[str]] = ("",)
    # The endpoints (the empty string is the main resource) that accept finalizers without a domain.
    without_domains: ClassVar[Sequence[str]] = ()
    # Top-level fields of any JSON, in which `1.0` is not `1`. As on kube-apiserver, strategic patches and applies write
    # integers.
    raw_fields: ClassVar[Sequence[str]] = ()
    # Field selectors beyond metadata.name and metadata.namespace.
    selectable_fields: ClassVar[Mapping[str, Callable[[Object], str]]] = {}
    # False if the field selector metadata.namespace is not supported although the kind has a namespace.
    selects_namespace: ClassVar[bool] = True
    columns: ClassVar[Sequence[Column]] = ()
    # Columns at the end of which a Table has cells, but no definitions.
    undefined_columns: ClassVar[Sequence[Column]] = ()
    # True for Events: the store removes an object after the lifetime that the server sets (`Services.ttl`).
    expires: ClassVar[bool] = False
    # The seconds until a client should repeat a read of a revision that does not exist yet.
    retry_after_seconds: ClassVar[int] = 1
    # Annotations of the full object that PartialObjectMetadata omits: they carry fields of an older version.
    annotations_of_full_object: ClassVar[Sequence[str]] = ()

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        """Returns the errors of a name, or of the prefix of a generated name."""
        return dns1123_subdomain(name, prefix)

    def name_rule(self, tree: Object) -> NameRule:
        """Returns the rule of the names of an object, if other fields decide about them."""
        return self.name_errors

    def decoding_fault(self, tree: Object) -> str:
        """Returns the reason why kube-apiserver cannot convert an object of the right types; empty if there is none."""
        return ""

    def set_defaults(self, tree: Object, clock: Clock) -> None:
        """Sets, in place, all defaults of an object of a request."""
        self.default(tree)
        if self.defaults_times:
            self.default_times(tree, format_time(clock.now()))

    def default(self, tree: Object) -> None:
        """Sets, in place, the defaults that the schema cannot express because they depend on other fields."""

    def default_times(self, tree: Object, now: str) -> None:
        """Sets, in place, the defaults that are the time of the request. Called after `default` if `defaults_times` is
        True."""

    def complete_bookmark(self, tree: Object) -> None:
        """Sets, in place, the fields of the object of a bookmark that are not empty although the object is."""

    def prepare_for_create(self, tree: Object) -> None:
        """Sets or clears, in place, the fields that the server controls (status, initial phase, allocated fields)."""

    def generate_name(self, base: str, ids: Ids) -> str:
        """Returns a name that begins with the generateName of a new object."""
        return generate_name(base, ids)

    def renamed(self, tree: Object, before: str) -> None:
        """Updates a prepared object, in place, when its generated name was taken and another one was generated."""

    def complete_named(self, tree: Object) -> None:
        """Sets, in place, the fields of a valid new object that depend on its name, which may be a generated one."""

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        """Restores, in place, the fields that this endpoint may not change."""

    def as_owned(self, tree: Object) -> Object:
        """Returns an object in the form in which the owners of its fields are compared."""
        return tree

    def restore_stored(self, tree: Object, old: Object, subresource: str) -> None:
        """Restores, in place, the fields that this endpoint may not change, of objects in the storage version: another
        version does not tell all of them apart."""

    def stamp(self, tree: Object, old: Object, now: str, sent: Object) -> None:
        """Sets, in place, the times of an update that the client left out. `sent` is the object before decoding, which
        drops the fractions of seconds; empty if unknown."""

    def validate(self, tree: Object) -> list[FieldError]:
        """Returns the errors of a new object, beyond those of its metadata and its schema."""
        return []

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        """Returns the errors of an updated object, including changes of immutable fields."""
        return []

    def validate_before_metadata(self, tree: Object) -> list[FieldError]:
        """Returns the errors that come before those of the metadata of a new object, or before those that a kind
        reports about the metadata of an updated one."""
        return []

    def changes_before_name(self, tree: Object, old: Object) -> list[FieldError]:
        """Returns the errors of an updated object that come before those of its name, which `name_on_update` puts
        after those of its finalizers."""
        return []

    def namespace_errors(
        self, tree: Object, old: Object | None, namespace: Object, subresource: str
    ) -> list[FieldError]:
        """Returns the errors that depend on the namespace of the object. The write path calls this if
        `reads_namespace` is True."""
        return []

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        """Returns the warnings for the client about a valid object."""
        return []

    def compares_empty(self, old: Object | None, subresource: str = "") -> bool:
        """Returns True if validation of a change of the stored object distinguishes empty lists and maps from absent
        ones."""
        return self.validates_empty

    def is_change(self, sent: Object) -> bool:
        """Returns True if an object as sent has values that increment the generation, although they are not stored."""
        return False

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        """Returns True if an update changed a field that increments the generation: all but the metadata and the
        status."""
        apart = ("metadata", *self.status_fields)
        names = {*tree, *old}
        return not all(identical(tree.get(name), old.get(name)) for name in names if name not in apart)

    def allocate(self, tree: Object, old: Object | None, pool: "Pool") -> list[FieldError]:
        """Allocates, in place, the values that must be unique among objects. The write path calls this between
        `prepare_...` and `validate...` if `allocates` is True. `old` is the stored object, None on create; the pool
        knows the values in use."""
        return []

    def row_rank(self, tree: Object) -> int:
        """Returns the rank of the object's row in the Table of a list, for kinds with `sorts_rows`."""
        return 0

    def row_conditions(self, tree: Object) -> list[Object]:
        """Returns the conditions of the object's row in a Table."""
        return []

    def own_finalizers(self, tree: Object) -> Sequence[str]:
        """Returns the finalizers that the kind stores outside the metadata; the object remains until there are none."""
        return ()

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """Returns the object in another version of the same storage, by `apiVersion`. May change the tree."""
        return {**tree, "apiVersion": to_version}

    def begin_deletion(self, tree: Object, clock: Clock) -> Object | None:
        """Returns the object after the first request to delete it, for kinds whose deletion takes two requests or more;
        None for all others."""
        return None

    def graceful_seconds(self, tree: Object, requested: int | None) -> int:
        """Returns the grace period of a deletion in seconds; 0 removes the object immediately."""
        return 0
