"""The rules of Events, which two groups serve from one storage: the core group, and the newer `events.k8s.io`.

They are validated in the older form, which is the stored one. The newer group has more requirements for new events.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.field import FieldError, invalid, required
from setpoint.objects.names import dns1123_subdomain, path_segment
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.registry.kinds.base_strategy import immutable
from setpoint.server.registry.kinds.gotypes.roundtrip import normalize
from setpoint.server.registry.kinds.printers.cells import field, lookup, selectable, text
from setpoint.server.registry.kinds.printers.columns import since
from setpoint.server.registry.kinds.validation.values import qualified
from setpoint.server.registry.strategy import Column, Strategy

_LIMIT = 128
_NOTE_LIMIT = 1024
_CORE, _EVENTS = "v1", "events.k8s.io/v1"
# The names of the newer form for the fields of the older one.
_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _NAMES.items()}
_DEFINITIONS = {_CORE: "io.k8s.api.core.v1.Event", _EVENTS: "io.k8s.api.events.v1.Event"}
_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def convert(tree: Object, to_version: str) -> Object:
    """Converts an event to the other form."""
    if tree.get("apiVersion") == to_version:
        return tree
    names = _NAMES if to_version == _EVENTS else _OLD_NAMES
    made = {names.get(name, name): value for name, value in tree.items()}
    made["apiVersion"] = to_version
    normalize(made, _DEFINITIONS[to_version])
    return made


def _source(tree: Object) -> str:
    return text(tree, "source", "component") or text(tree, "reportingComponent")


def _fields(reference: str, reporting: str) -> dict[str, Callable[[Object], str]]:
    found = {f"{reference}.{name}": selectable(reference, name) for name in _OBJECT_FIELDS}
    found |= {name: selectable(name) for name in ("reason", reporting, "type")}
    return found


# --- cells, of an event in the older form ---


def _first_seen(tree: Object, now: datetime) -> str:
    return since(tree.get("firstTimestamp") or tree.get("eventTime"), now)


def _last_seen(tree: Object, now: datetime) -> Json:
    series = tree.get("series")
    if series is not None:
        return since(series.get("lastObservedTime"), now)
    last = tree.get("lastTimestamp")
    return since(last, now) if last else _first_seen(tree, now)


def _target(tree: Object, _now: datetime) -> Json:
    kind, name = text(tree, "involvedObject", "kind").lower(), text(tree, "involvedObject", "name")
    return f"{kind}/{name}" if name else kind


def _reporter(tree: Object, _now: datetime) -> Json:
    instance = text(tree, "source", "host") or text(tree, "reportingInstance")
    return f"{_source(tree)}, {instance}" if instance else _source(tree)


def _message(tree: Object, _now: datetime) -> Json:
    return text(tree, "message").strip()


def _count(tree: Object, _now: datetime) -> Json:
    series = tree.get("series")
    return series.get("count", 0) if series is not None else tree.get("count") or 1


_COLUMNS = (
    Column("Last Seen", _last_seen),
    Column("Type", field("type")),
    Column("Reason", field("reason")),
    Column("Object", _target),
    Column("Subobject", field("involvedObject", "fieldPath"), priority=1),
    Column("Source", _reporter, priority=1),
    Column("Message", _message),
    Column("First Seen", _first_seen, priority=1),
    Column("Count", _count, priority=1),
    Column("Name", field("metadata", "name"), format="name", priority=1),
)


def _of_newer_form(column: Column) -> Column:
    cell = column.cell
    return column._replace(cell=lambda tree, now: cell(_older(tree), now))


def _older(tree: Object) -> Object:
    """Returns an event of the newer form with the field names of the older one."""
    return {_OLD_NAMES.get(name, name): value for name, value in tree.items()}


class EventStrategy(Strategy):
    """Events of the core group."""

    # kube-apiserver reads Events from its store, which does not ask clients to repeat a read.
    retry_after_seconds = 0
    without_domains: ClassVar[Sequence[str]] = ("",)
    validates_metadata_last: ClassVar[bool] = True
    allows_create_on_update = True
    has_dependents = False
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    selectable_fields: ClassVar = {**_fields("involvedObject", "reportingComponent"), "source": _source}
    columns: ClassVar[Sequence[Column]] = _COLUMNS

    expires: ClassVar[bool] = True

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return path_segment(name, prefix)

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        return convert(tree, to_version)

    def validate(self, tree: Object) -> list[FieldError]:
        return _validate(tree, "reportingComponent")

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        return self.validate(tree)


class NewerEventStrategy(EventStrategy):
    """Events of the group `events.k8s.io`."""

    without_domains: ClassVar[Sequence[str]] = ()
    validates_metadata_last: ClassVar[bool] = False
    selectable_fields: ClassVar = _fields("regarding", "reportingController")
    columns: ClassVar[Sequence[Column]] = tuple(_of_newer_form(column) for column in _COLUMNS)

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return dns1123_subdomain(name, prefix)

    validates_before_metadata: ClassVar[bool] = True

    def validate_before_metadata(self, tree: Object) -> list[FieldError]:
        return _validate(convert(copy(tree), _CORE), "reportingController")

    def validate(self, tree: Object) -> list[FieldError]:
        event = convert(copy(tree), _CORE)
        found = _validate_series(event)
        if not event.get("eventTime"):
            found.append(required("eventTime"))
        kind = event.get("type") or ""
        if kind not in ("Normal", "Warning"):
            found.append(invalid("type", "", f"has invalid value: {kind}"))
        set_fields = [name for name in ("firstTimestamp", "lastTimestamp", "count", "source") if event.get(name)]
        return found + [invalid(name, "", "needs to be unset") for name in set_fields]

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        event, before = convert(copy(tree), _CORE), convert(copy(old), _CORE)
        found = [] if event.get("series") == before.get("series") else _validate_series(event)
        for name in _KEPT:
            shown = "reportingController" if name == "reportingComponent" else name
            found += immutable(event.get(name), before.get(name), shown, _SHOWN_AS.get(name))
        return found


_SHOWN_AS = {
    "involvedObject": "ObjectReference",
    "source": "EventSource",
    "related": "*ObjectReference",
    "count": "0",
    **dict.fromkeys(("reason", "message", "type", "action", "reportingComponent", "reportingInstance"), '""'),
}
_KEPT = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)


def _validate(event: Object, reporting: str) -> list[FieldError]:
    """Validates an event. An event with an `eventTime` is of the newer form, with more requirements."""
    namespace = event["metadata"].get("namespace") or ""
    referred = lookup(event, "involvedObject", "namespace") or ""
    place, mismatch = "involvedObject.namespace", "does not match event.namespace"
    if not event.get("eventTime"):
        fits = namespace in ("", "default") if not referred else namespace == referred
        return [] if fits else [invalid(place, referred, mismatch)]
    found: list[FieldError] = []
    if not referred and namespace not in ("default", "kube-system"):
        found.append(invalid(place, referred, mismatch))
    controller = event.get("reportingComponent") or ""
    if not controller:
        found.append(required(reporting))
    found += qualified(controller, reporting)
    for name in ("reportingInstance", "action", "reason"):
        value = event.get(name) or ""
        if not value:
            found.append(required(name))
        elif len(value) > _LIMIT:
            found.append(invalid(name, "", f"can have at most {_LIMIT} characters"))
    if len(event.get("message") or "") > _NOTE_LIMIT:
        found.append(invalid("message", "", f"can have at most {_NOTE_LIMIT} characters"))
    return found


def _validate_series(event: Object) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    found = [invalid("series.count", "", "should be at least 2")] if series.get("count", 0) < 2 else []
    return found if series.get("lastObservedTime") else [*found, required("series.lastObservedTime")]
