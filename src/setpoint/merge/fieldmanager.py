"""The field manager of an endpoint: maintains `metadata.managedFields` on every write, and applies configurations.

There is one instance for each version of a resource and each writable subresource. Objects are JSON trees in the
version of the endpoint. Arguments are never changed; results share unchanged parts with the arguments, so both must be
treated as immutable afterwards.
"""

from collections.abc import Callable, Mapping
from functools import cached_property

from setpoint.merge import fieldset, last_applied, managedfields
from setpoint.merge.conflicts import Conflicts
from setpoint.merge.equality import equal
from setpoint.merge.fieldset import EMPTY, FieldSet
from setpoint.merge.managedfields import APPLY, UPDATE, Identifier, Managed, ManagedFieldsError, Managers
from setpoint.merge.typed import validate
from setpoint.merge.typed.formatted import wrong_list_finder
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Mismatch, Type
from setpoint.merge.typed.validate import TypeProblem
from setpoint.merge.updater import Convert, Updater, VersionNotServed, same_version
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError, BadRequest, Invalid, StatusCause
from setpoint.objects.field import FieldErrorType
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.times import format_time
from setpoint.objects.tree import Json, Object

MAX_UPDATE_MANAGERS = 10
ANCIENT_CHANGES = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"

_NO_MANAGERS = "metadata.managedFields must be nil"

# The fields that identify an object or that the server writes have no owner.
_UNOWNED = frozenset(
    (
        *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields"),
        "resourceVersion",
    )
)
_STRIPPED = fieldset.from_paths(
    ("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _UNOWNED)
)


class FieldManager:
    """Maintains the ownership of fields for the writes of one endpoint.

    `types` has the type of every served version, and `convert` converts an object between versions (raising
    `VersionNotServed`). `reset_fields` are, for each version, the fields that writes through this endpoint never
    change. `empty` is the initial object of the kind, if the type does not define one. `is_custom`: a configuration may
    have managers with an unreadable time.
    """

    def __init__(
        self,
        *,
        api_version: str,
        kind: str,
        types: Mapping[str, Type],
        clock: Clock,
        convert: Convert = same_version,
        reset_fields: Mapping[str, FieldSet] | None = None,
        subresource: str = "",
        empty: Object | None = None,
        is_custom: bool = False,
    ) -> None:
        self._version = api_version
        self._gvk = GroupVersion.parse(api_version).with_kind(kind)
        self._type = types[api_version]
        self._updater = Updater(types, convert, reset_fields or {})
        self._reset = (reset_fields or {}).get(api_version)
        self._clock = clock
        self._subresource = subresource
        self._empty = empty
        self._is_custom = is_custom

    def update(self, live: Object | None, new: Object, manager: str) -> Object:
        """Returns the new object with its `managedFields`, for every write except an apply.

        `live` is None for a create. Never fails: if the objects do not match their types or cannot be converted, the
        entries of the live object are kept unchanged.
        """
        find = self._find_wrong_list
        if find is not None and (find(new) or (live is not None and find(live))):
            return self.unchanged(live, new)
        sent = _entries(new)
        if live is None and sent is None and type(new.get("metadata")) is dict:
            return self._created(new, manager)
        before = without_entries(live) if live is not None else self._empty_object
        after = without_entries(new)
        managers = self._base(live, sent)
        if not managers and live is not None:
            # This object was not tracked so far, or the request resets its managers.
            return after
        if self._lacks_keys(before) or self._lacks_keys(after):
            # Unchanged parts are not compared, so that their mismatch would not be found.
            return self.unchanged(live, new)
        if self._is_custom and self._subresource and self._is_malformed(before, after):
            return self.unchanged(live, new)
        if not all(map(self._is_convertible, managers.values())):
            return self.unchanged(live, new)
        try:
            managers = self._update(before, after, managers, self._identify(manager, UPDATE))
        except (Mismatch, VersionNotServed, APIError):
            return self.unchanged(live, new)
        return _with_entries(after, managedfields.encode(_capped(managers)))

    def _lacks_keys(self, tree: Object) -> bool:
        """Returns True if an item of a list has no key. Keys have defaults or are required, except in this list."""
        if (self._version, self._gvk.kind) != ("v1", "ServiceAccount"):
            return False
        return any(not secret.get("name") for secret in tree.get("secrets") or ())

    def _is_convertible(self, managed: Managed) -> bool:
        """Returns False if an object cannot be converted to the version of a manager. Built-in kinds forget managers of
        unknown versions instead."""
        version = managed.api_version
        return version in self._updater.types if self._is_custom else version.count("/") <= 1

    def _is_malformed(self, before: Object, after: Object) -> bool:
        """Returns True if changed fields that a subresource does not write, and that are not validated, do not match
        their types."""
        apart = ("metadata", self._subresource)
        if all(value == before.get(name) for name, value in after.items() if name not in apart):
            return False
        return bool(validate.problems(self._type, after, allow_duplicates=True))

    def _created(self, new: Object, manager: str) -> Object:
        """Returns a new object with its `managedFields` in the usual case: the object has no managers, and the writer
        owns the fields that the object sets."""
        ownable = {**new, "metadata": {name: new["metadata"][name] for name in new["metadata"].keys() - _UNOWNED}}
        ownable.pop("apiVersion", None)
        ownable.pop("kind", None)
        try:
            modified: FieldSet = {}
            added: FieldSet = {}
            self._type.compare("", self._unnamed, ownable, {}, modified, added)
        except Mismatch:
            return new
        fields: FieldSet = added.get("", EMPTY)
        if modified:
            fields = fieldset.union(modified[""], fields)
        if self._reset:
            fields = fieldset.recursive_difference(fields, self._reset)
        return self._first_entry(new, manager, UPDATE, fields)

    def _first_entry(self, new: Object, manager: str, operation: str, fields: FieldSet) -> Object:
        """Returns a new object with the entry of its writer."""
        if not fields:
            return new
        entry = managedfields.new_entry(
            manager or "unknown", operation, self._version, self._now(), fields, self._subresource
        )
        return _with_entries(new, [entry])

    def unchanged(self, live: Object | None, new: Object) -> Object:
        """Returns the new object with the entries of the live one, for writes with unknown changes."""
        return _with_entries(without_entries(new), _entries(live) if live is not None else None)

    def apply(self, live: Object | None, config: Object, manager: str, *, force: bool = False) -> Object:
        """Returns the live object with the configuration applied. `live` is None if the object does not exist.

        Raises `ApplyConflict` if other managers own fields that would change, unless forced; `BadRequest` if the
        configuration is not for this endpoint; `Invalid` if the configuration or the object does not match the type.
        """
        self._check(config)
        fields = self._fields_of(config)
        if live is None:
            self._check_times(config)
            return self._applied_first(config, fields, manager)
        before = without_entries(live)
        if self._find_wrong_list is not None and self._find_wrong_list(before):
            raise self._live_mismatch(before)
        try:
            managers = managedfields.decode(_entries(live))
            if not managers:
                managers = self._update(
                    self._empty_object, before, managers, self._identify(BEFORE_FIRST_APPLY, UPDATE)
                )
            new, managers = self._apply(before, config, fields, managers, manager, force)
        except Conflicts as conflicts:
            rest = (
                last_applied.not_migrated(conflicts, self._type, before, self._version)
                if manager == "kubectl"
                else conflicts
            )
            if rest is not None:
                raise rest.to_error() from None
            new, managers = self._apply(before, config, fields, managers, manager, force=True)
        except ManagedFieldsError as error:
            raise APIError(f"failed to decode managed fields: {error}") from None
        except Mismatch:
            raise self._live_mismatch(before) from None
        self._check_times(config)
        if manager == "kubectl":
            new = last_applied.refreshed(new, config)
        return _with_entries(new, managedfields.encode(managers))

    def _applied_first(self, config: Object, fields: FieldSet, manager: str) -> Object:
        """Applies a configuration without a live object: the configuration becomes the object, and its manager owns the
        fields that the configuration sets."""
        new = config.copy()
        if manager == "kubectl":
            new = last_applied.refreshed(new, config)
        if self._reset:
            fields = fieldset.recursive_difference(fields, self._reset)
        owned = fieldset.difference(fields, _STRIPPED)
        return self._first_entry(without_entries(new), manager, APPLY, owned)

    def _update(self, live: Object, new: Object, managers: Managers, me: Identifier) -> Managers:
        """Returns the managers after an update. A manager gains no fields by writing unchanged values."""
        fields, managers = self._updater.update(live, new, self._version, managers, me)
        fields = fieldset.difference(fields, _STRIPPED)
        if fields:
            before = managers[me].fields if me in managers else EMPTY
            if not fieldset.is_subset(fields, before):
                before = fieldset.union(fields, before)
            managers[me] = Managed(before, self._version, applied=False, time=self._now())
        return managers

    def _apply(
        self, live: Object, config: Object, fields: FieldSet, managers: Managers, manager: str, force: bool
    ) -> tuple[Object, Managers]:
        me = self._identify(manager, APPLY)
        last = managers.get(me) or Managed(EMPTY, self._version, applied=True)
        new, managers = self._updater.apply(live, config, fields, self._version, managers, me, force)
        owned = fieldset.difference(managers[me].fields, _STRIPPED) if me in managers else EMPTY
        if owned:
            if owned == last.fields:
                owned = last.fields
            time = last.time if new is live else self._now()
            managers[me] = Managed(owned, self._version, applied=True, time=time)
        else:
            managers.pop(me, None)
        return new, managers

    def _base(self, live: Object | None, sent: Json) -> Managers:
        """Returns the managers before a write: those of the request if allowed and valid, otherwise the stored ones."""
        stored = _entries(live) if live is not None else None
        if not self._subresource and sent is not stored:
            if managedfields.is_reset(sent):
                return {}
            if sent != stored and (managers := _or_none(managedfields.parse, sent)):
                return managers
        return _or_none(managedfields.decode, stored)

    def _identify(self, manager: str, operation: str) -> Identifier:
        version = self._version if operation == UPDATE else ""
        return Identifier(manager or "unknown", operation, version, self._subresource)

    @cached_property
    def _find_wrong_list(self) -> Callable[[Object], bool] | None:
        return wrong_list_finder(self._type) if self._is_custom else None

    @cached_property
    def _empty_object(self) -> Object:
        """The object before the first write."""
        zero = self._empty
        if zero is None:
            zero = self._type.zero if isinstance(self._type, MapType) else {}
        return {"metadata": {}, **zero, "apiVersion": self._version, "kind": self._gvk.kind}

    @cached_property
    def _unnamed(self) -> Object:
        """The object before the first write, without its apiVersion and kind."""
        return {name: value for name, value in self._empty_object.items() if name not in ("apiVersion", "kind")}

    def _now(self) -> str:
        return format_time(self._clock.now())

    def _check(self, config: Object) -> None:
        """Raises BadRequest for a configuration that is not for this endpoint."""
        if config.get("apiVersion") != self._version or config.get("kind") != self._gvk.kind:
            try:
                claimed = GroupVersionKind.of(config)
            except ValueError:
                claimed = GroupVersionKind("", "", "")
            raise BadRequest(f"invalid object type: {claimed}")
        entries = _entries(config)
        if entries is not None and managedfields.is_readable(entries):
            raise BadRequest(_NO_MANAGERS)

    def _check_times(self, config: Object) -> None:
        """Raises BadRequest if the managers of a configuration for a built-in kind have a malformed time. The real
        server reports conflicts first, and answers with code 500."""
        entries = None if self._is_custom else _entries(config)
        if entries is not None and managedfields.has_malformed_time(entries):
            raise BadRequest(_NO_MANAGERS)

    def _fields_of(self, config: Object) -> FieldSet:
        """Returns the fields that a configuration sets. Raises Invalid if the configuration does not match the type."""
        try:
            return self._type.field_set(config, True) or EMPTY
        except Mismatch:
            found = validate.problems(self._type, config)
            raise self._mismatch(f"failed to create typed patch object ({self._name(config)})", found) from None

    def _live_mismatch(self, live: Object) -> Invalid:
        found = validate.problems(self._type, live, allow_duplicates=True)
        if not found:
            found = [TypeProblem("", "it does not fit a version that its fields are owned in")]
        return self._mismatch(f"failed to create typed live object ({self._name(live)})", found)

    def _mismatch(self, description: str, found: list[TypeProblem]) -> Invalid:
        """Returns the error for a value that does not match its type. The real server answers with code 500 instead."""
        reason = FieldErrorType.TYPE_INVALID.reason
        causes = [StatusCause(reason, problem.message, problem.path.removeprefix(".")) for problem in found]
        kind = self._gvk
        return Invalid(f"{description}: {validate.text(found)}", group=kind.group, kind=kind.kind, causes=causes)

    def _name(self, tree: Object) -> str:
        metadata = tree.get("metadata")
        name, namespace = (
            value if type(metadata) is dict and type(value := metadata.get(key)) is str else ""
            for key in ("name", "namespace")
        )
        return f"{namespace}/{name}; {self._gvk}"


def _or_none(read: Callable[[Json], Managers], entries: Json) -> Managers:
    """Returns the managers of the entries, or none if the entries are invalid."""
    try:
        return read(entries)
    except ManagedFieldsError:
        return {}


def _capped(managers: Managers) -> Managers:
    """Limits the number of update entries: the oldest ones of the same version are combined."""
    updaters = [identifier for identifier, managed in managers.items() if not managed.applied]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return managers
    updaters.sort(key=lambda identifier: (managers[identifier].time or "", identifier.text))
    managers = dict(managers)
    first_of: dict[str, Identifier] = {}
    joined: dict[Identifier, list[FieldSet]] = {}
    for identifier in updaters:
        if excess <= 0:
            break
        managed = managers[identifier]
        bucket = Identifier(ANCIENT_CHANGES, UPDATE, managed.api_version)
        first = first_of.setdefault(managed.api_version, identifier)
        if first is identifier:
            continue
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        joined.setdefault(bucket, [managers[bucket].fields]).append(managed.fields)
        del managers[identifier]
        # The time of the more recent entry is more accurate.
        managers[bucket] = Managed(EMPTY, managed.api_version, applied=False, time=managed.time)
        excess -= 1
    for bucket, sets in joined.items():
        managers[bucket] = managers[bucket].with_fields(fieldset.union_all(sets))
    return managers


def restore_times(live: Object, new: Object) -> Object:
    """Returns the new object with the times of the live object's entries, if only these times differ; otherwise
    unchanged."""
    old_entries, new_entries = _entries(live), _entries(new)
    if not old_entries or not new_entries or len(old_entries) != len(new_entries) or old_entries == new_entries:
        return new
    for name, value in new.items():
        if name != "metadata" and value != live.get(name):
            return new
    for old, entry in zip(old_entries, new_entries, strict=True):
        if old is not entry and _timeless(old) != _timeless(entry):
            return new
    return _with_entries(new, old_entries) if equal(without_entries(live), without_entries(new)) else new


def with_entries_of(source: Object, tree: Object) -> Object:
    """Returns a tree with the `managedFields` of another one."""
    return _with_entries(tree, _entries(source))


def _timeless(entry: Object) -> Object:
    return {name: value for name, value in entry.items() if name != "time"}


def _entries(tree: Object) -> Json:
    """Returns the `managedFields` of an object, or None."""
    metadata = tree.get("metadata")
    return metadata.get("managedFields") if type(metadata) is dict else None


def without_entries(tree: Object) -> Object:
    """Returns an object without its `managedFields`."""
    metadata = tree.get("metadata")
    if type(metadata) is not dict or "managedFields" not in metadata:
        return tree
    metadata = metadata.copy()
    del metadata["managedFields"]
    return {**tree, "metadata": metadata}


def _with_entries(tree: Object, entries: Json) -> Object:
    """Returns the object with these entries; a tree without metadata gets metadata."""
    if not entries:
        return without_entries(tree)
    metadata = tree.get("metadata")
    return {**tree, "metadata": {**(metadata if type(metadata) is dict else {}), "managedFields": entries}}
