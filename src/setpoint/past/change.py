"""The changes of one revision, as a list of fields: `status.state Running→Finished`.

Named items of a list are identified by name, so that `status.conditions[Ready]` is the same item at any position.
Insignificant changes (a time that changes with every report, the message of a condition that changed anyway) are marked
as noise: they are recorded, but not shown to users. Has no side effects.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from setpoint.merge.equality import identical
from setpoint.objects.tree import Json, Object

# The fields that can identify an item of a list.
_KEYS = ("name", "type", "probeName", "key", "uid", "id", "containerPort", "port")
# Metadata that the log has in a better form.
_LEFT_OUT = frozenset({"managedFields", "resourceVersion", "generation", "selfLink"})
_NOISE = frozenset(
    {
        "lastTransitionTime",
        "lastUpdateTime",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastSeen",
        "lastTimestamp",
        "observedGeneration",
        "renewTime",
        "timestamp",
        # Fields that every new run of a process changes, besides its state.
        "executionID",
        "finishTimestamp",
        "identityTime",
        "nextRestartTime",
        "pid",
        "startupTimestamp",
        "stdErrFile",
        "stdOutFile",
    }
)
# Long derived fields: adding them is noise, changing them is not.
_DERIVED = ("status.effectiveEnv", "status.effectiveArgs")
# The outcome of a probe is significant, the number of attempts is not.
_COUNTS = frozenset({"successes", "failures"})
_WIDEST = 60
_plain = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*").fullmatch

ABSENT = msgspec.UNSET


class FieldChange(msgspec.Struct, frozen=True):
    """A changed field. A side without the field is UNSET."""

    path: str
    old: Json | msgspec.UnsetType = ABSENT
    new: Json | msgspec.UnsetType = ABSENT
    # True for a change that is not worth a line.
    noise: bool = False

    def __str__(self) -> str:
        if self.old is ABSENT:
            return f"{self.path} set to {shown(self.new)}"
        if self.new is ABSENT:
            return f"{self.path} removed"
        return f"{self.path} {shown(self.old)}→{shown(self.new)}"

    def to_json(self) -> Object:
        found: Object = {"path": self.path}
        if self.old is not ABSENT:
            found["old"] = self.old
        if self.new is not ABSENT:
            found["new"] = self.new
        return found


def shown(value: Any) -> str:
    """Returns a short text for a value."""
    if isinstance(value, str):
        text = value if value and value == value.strip() and "\n" not in value else repr(value)
    elif isinstance(value, dict):
        text = f"{{{', '.join(value)}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(map(shown, value))}]"
    else:
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def compare(old: Object, new: Object) -> tuple[FieldChange, ...]:
    """Returns the fields in which two states of an object differ, significant changes first."""
    return tuple(_mark_noise(list(_changes("", old, new))))


def _changes(path: str, old: Json, new: Json) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if not _is_left_out(path, key):
                yield from _of_one(_below(path, key), old.get(key, ABSENT), new.get(key, ABSENT))
    elif isinstance(old, list) and isinstance(new, list) and (field := _key_of(old, new)):
        before, after = _by_key(old, field), _by_key(new, field)
        for key in dict.fromkeys((*before, *after)):
            yield from _of_one(f"{path}[{key}]", before.get(key, ABSENT), after.get(key, ABSENT))
    elif not identical(old, new):
        yield FieldChange(path, old, new, _is_noise(path))


def _of_one(path: str, old: Any, new: Any) -> Iterator[FieldChange]:
    if _is_condition(path):
        yield from _of_condition(path, old, new)
    elif old is ABSENT:
        yield from _added(path, new)
    elif new is ABSENT:
        yield FieldChange(path, old, ABSENT, _is_noise(path))
    else:
        yield from _changes(path, old, new)


def _added(path: str, value: Json) -> Iterator[FieldChange]:
    """Yields each field of an added value."""
    if _is_condition(path):
        yield from _of_condition(path, ABSENT, value)
    elif isinstance(value, dict) and value:
        for key in sorted(value):
            if not _is_left_out(path, key):
                yield from _added(_below(path, key), value[key])
    elif isinstance(value, list) and value and (field := _key_of(value)):
        for key, item in _by_key(value, field).items():
            yield from _added(f"{path}[{key}]", item)
    else:
        yield FieldChange(path, ABSENT, value, _is_noise(path) or path.startswith(_DERIVED))


def _of_condition(path: str, old: Any, new: Any) -> Iterator[FieldChange]:
    """Yields the changes of a condition, which is one fact together with its message."""
    before, after = _condition(old), _condition(new)
    if before != after:
        yield FieldChange(path, before, after)
    old_message, new_message = _message(old), _message(new)
    if old_message != new_message and new_message:
        yield FieldChange(f"{path}.message", old_message or ABSENT, new_message, noise=before != after)


def _condition(value: Any) -> Any:
    if not isinstance(value, dict):
        return ABSENT
    status, reason = value.get("status", ""), value.get("reason", "")
    return f"{status} ({reason})" if reason else status


def _message(value: Any) -> str:
    return str(value.get("message") or "") if isinstance(value, dict) else ""


def _is_condition(path: str) -> bool:
    parent, bracket, _ = path.rpartition("[")
    return bool(bracket) and parent.endswith(".conditions") and path.endswith("]")


def _is_left_out(path: str, key: str) -> bool:
    return path == "metadata" and key in _LEFT_OUT


def _is_noise(path: str) -> bool:
    last = path.rpartition(".")[2]
    return last in _NOISE or (last in _COUNTS and "healthProbeResults" in path)


def _mark_noise(changes: list[FieldChange]) -> list[FieldChange]:
    return sorted(changes, key=lambda change: (change.noise, not change.path.startswith(("status.state", "spec"))))


def _below(path: str, key: str) -> str:
    if not _plain(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _key_of(*lists: Sequence[Json]) -> str:
    """Returns the field that identifies the items of lists, or an empty string."""
    for field in _KEYS:
        if all(_names(items, field) for items in lists):
            return field
    return ""


def _names(items: Sequence[Json], field: str) -> bool:
    found = [item.get(field) for item in items if isinstance(item, dict)]
    names = {name for name in found if isinstance(name, str | int) and name != ""}
    return len(names) == len(items)


def _by_key(items: Sequence[Json], field: str) -> dict[str, Json]:
    return {str(item[field]): item for item in items}
