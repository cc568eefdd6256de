"""Custom resources as rows of a Table: their columns, and the cells that printer columns show.

A column is compiled once; a row then costs one lookup per column. A cell without a value, or with a value of another
type than its column, is null.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from setpoint.objects.duration import human_duration
from setpoint.objects.goformat import format_v
from setpoint.objects.gotext import compact_json
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Json, Object
from setpoint.schema.crd.definition import Column
from setpoint.schema.jsonpath import JSONPath, JSONPathError

_Cell: TypeAlias = Callable[[Json, datetime], Json]

NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
AGE_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
AGE = Column(name="Age", type="date", description=AGE_DESCRIPTION, json_path=".metadata.creationTimestamp")

_INT64 = range(-(2**63), 2**63)
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)


class PrinterColumns:
    """The columns of one version. A version without columns shows the age of its objects."""

    def __init__(self, columns: Sequence[Column]) -> None:
        name = {"name": "Name", "type": "string", "format": "name", "description": NAME_DESCRIPTION, "priority": 0}
        self.headers: list[Object] = [name]
        self._cells: list[tuple[JSONPath, _Cell]] = []
        for column in columns or (AGE,):
            try:
                path = JSONPath(column.json_path)
            except JSONPathError:
                # The server accepts a definition with an invalid path; its table ends before that column.
                break
            self._cells.append((path, _CELLS.get(column.type, _no_value)))
            about = column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"
            self.headers.append(
                {
                    "name": column.name,
                    "type": column.type,
                    "format": column.format,
                    "description": about,
                    "priority": column.priority,
                }
            )

    def cells(self, tree: Object, now: datetime) -> list[Json]:
        """Returns one row: the name, then a cell for each column."""
        metadata = tree.get("metadata")
        row: list[Json] = [metadata.get("name", "") if isinstance(metadata, dict) else ""]
        for path, cell in self._cells:
            try:
                found = path.find(tree)
            except JSONPathError:
                found = []
            row.append(cell(found[0], now) if found else None)
        return row


def text_of(value: Json) -> str:
    """Formats a value as templates do: strings and numbers as in Go, objects and lists as JSON."""
    if value is None:
        return "<no value>"
    if type(value) is dict or type(value) is list:
        return compact_json(value)
    return format_v(float(value) if type(value) is int and value not in _INT64 else value)


def _no_value(_value: Json, _now: datetime) -> None:
    return None


def _string(value: Json, _now: datetime) -> Json:
    return text_of(value)


def _integer(value: Json, _now: datetime) -> Json:
    if type(value) is float or type(value) is int:
        whole = int(value)
        return whole if whole in _INT64 else -(2**63)
    return None


def _number(value: Json, _now: datetime) -> Json:
    return value if type(value) is float or type(value) is int else None


def _boolean(value: Json, _now: datetime) -> Json:
    return value if type(value) is bool else None


def _date(value: Json, now: datetime) -> Json:
    if type(value) is not str:
        return None
    if value in ("", "null"):
        return "<unknown>"
    try:
        moment = parse_time(value)
    except ValueError:
        return "<invalid>"
    return "<unknown>" if moment == _ZERO_TIME else human_duration((now - moment).total_seconds())


_CELLS: dict[str, _Cell] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
