"""`metadata.managedFields`: the owners of fields, as the API writes them and as merging reads them.

An entry belongs to an identifier: a manager's name with the operation, the subresource and, for updates only, the
version. `decode` reads entries that this server wrote, so their sets of fields are used unchanged; `parse` reads
entries of a request, validates them and converts them to canonical form.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from setpoint.merge import fieldset
from setpoint.merge.fieldset import EMPTY, FieldSet, FieldSetError
from setpoint.objects.gotext import compact_json, quote
from setpoint.objects.metavalidation import MAX_FIELD_MANAGER
from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Json, Object

_TEXTS = ("manager", "operation", "apiVersion", "fieldsType", "subresource")
APPLY = "Apply"
UPDATE = "Update"


class ManagedFieldsError(ValueError):
    """The entries are invalid; the message gives the reason."""


class Identifier(NamedTuple):
    """The owner of an entry. `api_version` is empty for appliers, which have one entry for all versions."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def text(self) -> str:
        """The identifier as JSON, by which the API sorts identifiers."""
        parts = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        shown = [f'"{name}":{compact_json(value)}' for name, value in parts.items() if value]
        return "{" + ",".join(shown) + "}"

    def describe(self) -> str:
        """Returns the manager as conflict messages show the manager."""
        text = quote(self.manager)
        if self.subresource:
            text = f"{text} with subresource {quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Managed:
    """The property of a manager: the fields (sorted), the version they refer to, and the time of the last change."""

    __slots__ = ("api_version", "applied", "entry", "fields", "time")

    def __init__(
        self,
        fields: FieldSet,
        api_version: str,
        applied: bool,
        time: str | None = None,
        entry: Object | None = None,
    ) -> None:
        self.fields = fields
        self.api_version = api_version
        self.applied = applied
        self.time = time
        # The source entry, as long as this object is equivalent.
        self.entry = entry

    def with_fields(self, fields: FieldSet) -> "Managed":
        """Returns the same manager with other fields."""
        return self if fields is self.fields else Managed(fields, self.api_version, self.applied, self.time)


Managers: TypeAlias = dict[Identifier, Managed]


def decode(entries: Json) -> Managers:
    """Returns the managers of the entries of a stored object. Raises `ManagedFieldsError` for invalid entries."""
    try:
        return _decode(entries or ())
    except (AttributeError, KeyError, TypeError):
        raise ManagedFieldsError("the stored managedFields are no list of entries") from None


def _decode(entries: Sequence[Object]) -> Managers:
    managers: Managers = {}
    for entry in entries:
        applied = entry["operation"] == APPLY
        version = entry["apiVersion"]
        identifier = Identifier(
            entry.get("manager", ""), entry["operation"], "" if applied else version, entry.get("subresource", "")
        )
        managers[identifier] = Managed(entry.get("fieldsV1") or EMPTY, version, applied, entry.get("time"), entry)
    return managers


def is_reset(entries: Json) -> bool:
    """Returns True if the entries of a request reset all managers: an empty list, or one empty entry."""
    return type(entries) is list and (not entries or entries == [{}])


def is_readable(entries: Json) -> bool:
    """Returns True if kube-apiserver can read the entries of a configuration. Unreadable entries are ignored, but may
    still not match the type."""
    return type(entries) is list and all(type(entry) is dict and _has_types(entry) for entry in entries)


def has_malformed_time(entries: Json) -> bool:
    """Returns True if an entry of a configuration has a malformed time."""
    return type(entries) is list and any(type(entry) is dict and not _has_time(entry) for entry in entries)


def _has_types(entry: Object) -> bool:
    return all(type(entry.get(name)) in (str, type(None)) for name in _TEXTS) and _has_time(entry)


def _has_time(entry: Object) -> bool:
    try:
        return entry.get("time") is None or parse_time(entry["time"]) is not None
    except (TypeError, ValueError):
        return False


def parse(entries: Json) -> Managers:
    """Returns the managers of the entries of a request. Raises `ManagedFieldsError`."""
    managers: Managers = {}
    if entries is None:
        return managers
    if type(entries) is not list:
        raise ManagedFieldsError("managedFields must be a list")
    for index, entry in enumerate(entries):
        if type(entry) is not dict:
            raise ManagedFieldsError(f"managed fields entry {index} must be an object")
        manager, operation, version, subresource, fields_type, time = (
            _text(entry, name, index)
            for name in ("manager", "operation", "apiVersion", "subresource", "fieldsType", "time")
        )
        if operation not in (APPLY, UPDATE):
            raise ManagedFieldsError("operation must be `Apply` or `Update`")
        if not version:
            raise ManagedFieldsError("apiVersion must not be empty")
        if not fields_type:
            raise ManagedFieldsError(f"missing fieldsType in managed fields entry {index}")
        if fields_type != "FieldsV1":
            raise ManagedFieldsError(f"invalid fieldsType {quote(fields_type)} in managed fields entry {index}")
        try:
            fields = fieldset.parse(entry.get("fieldsV1"))
        except FieldSetError as error:
            raise ManagedFieldsError(f"error decoding set of managed fields entry {index}: {error}") from None
        applied = operation == APPLY
        identifier = Identifier(manager, operation, "" if applied else version, subresource)
        managers[identifier] = Managed(fields, version, applied, _time(time, index))
    return managers


def _text(entry: Object, name: str, index: int) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    if type(value) is not str:
        raise ManagedFieldsError(f"{name} of managed fields entry {index} must be a string")
    return value


def _time(text: str, index: int) -> str | None:
    """Returns the time in the format of entries: UTC, in whole seconds."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ManagedFieldsError(f"time of managed fields entry {index} is not an RFC 3339 time: {quote(text)}")
    return format_time(moment)


def encode(managers: Managers) -> list[Object]:
    """Returns the entries of the managers, in the order of the API."""
    entries = [entry_of(identifier, managed) for identifier, managed in managers.items()]
    if len(entries) > 1:
        entries.sort(key=_order)
    return entries


def entry_of(identifier: Identifier, managed: Managed) -> Object:
    """Returns the entry of one manager."""
    if managed.entry is not None and managed.entry.get("time") == managed.time:
        return managed.entry
    manager, operation, _, subresource = identifier
    if managed.applied:
        operation = APPLY
    return new_entry(manager, operation, managed.api_version, managed.time, managed.fields, subresource)


def new_entry(
    manager: str, operation: str, api_version: str, time: str | None, fields: FieldSet, subresource: str = ""
) -> Object:
    """Returns the entry of a manager that owns these fields."""
    found: Object = {"operation": operation, "apiVersion": api_version, "fieldsType": "FieldsV1", "fieldsV1": fields}
    if manager:
        found["manager"] = manager
    if time is not None:
        found["time"] = time
    if subresource:
        found["subresource"] = subresource
    return found


def _order(entry: Object) -> tuple[Any, ...]:
    return (
        entry["operation"],
        entry.get("time", ""),
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def manager_name(field_manager: str, user_agent: str) -> str:
    """Returns the manager name of a write: that of the request, otherwise the User-Agent up to its first slash."""
    if field_manager:
        return field_manager
    agent = user_agent.partition("/")[0]
    if agent.isascii() and agent.isprintable() and len(agent) <= MAX_FIELD_MANAGER:
        return agent
    if not agent.isprintable():
        agent = "".join(char for char in agent if char.isprintable())
    # Truncated by bytes, but never inside a character.
    return agent.encode()[:MAX_FIELD_MANAGER].decode(errors="ignore")
