"""Tables: objects as rows of cells, for human readers. The server makes the cells, so that all clients show the
same."""

import importlib.resources
import lzma
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Protocol

import msgspec

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.field import invalid
from setpoint.objects.tree import Json, Object
from setpoint.schema.crd import printer_columns as crd_table
from setpoint.server.codec.partial_metadata import partial_tree
from setpoint.server.registry.kinds.printers.columns import CREATED_AT, NAME
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.strategy import Column
from setpoint.server.request.context import Context

NONE, METADATA, OBJECT = "None", "Metadata", "Object"
# The descriptions of columns of kinds that the generated data does not contain.
_DESCRIPTIONS = {
    "Name": crd_table.NAME_DESCRIPTION,
    "Age": crd_table.AGE_DESCRIPTION,
    "Created At": crd_table.AGE_DESCRIPTION,
}
# The columns of a kind that defines none.
_DEFAULT: Sequence[Column] = (NAME, CREATED_AT)


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    """Returns the descriptions of columns by kind and name, as data that `tools/column_texts.py` generates."""
    data = importlib.resources.files(__package__).joinpath("column_texts.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(data), type=dict[str, dict[str, str]])


class Cells(Protocol):
    """The columns of a kind: their headers, and the cells of an object."""

    headers: list[Object]

    def cells(self, tree: Object, now: datetime) -> list[Json]: ...


class BuiltinCells:
    """The columns of a built-in kind, as its strategy lists them."""

    def __init__(self, kind: str, columns: Sequence[Column], undefined: Sequence[Column] = ()) -> None:
        self._columns = [*(columns or _DEFAULT), *undefined]
        texts = {**_DESCRIPTIONS, **_texts().get(kind, {})}
        self.headers: list[Object] = [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description or texts.get(column.name, ""),
                "priority": column.priority,
            }
            for column in columns or _DEFAULT
        ]

    def cells(self, tree: Object, now: datetime) -> list[Json]:
        return [column.cell(tree, now) for column in self._columns]


def cells_of(resource: Resource) -> Cells:
    """The columns of a resource."""
    version = resource.crd.version(resource.version) if resource.crd is not None else None
    if version is not None and not resource.strategy.columns:
        return crd_table.PrinterColumns(version.additional_printer_columns)
    strategy = resource.strategy
    return BuiltinCells(resource.kind, strategy.columns, strategy.undefined_columns)


def has_rows(resource: Resource) -> bool:
    """Returns True if a Table without objects has an empty list of rows instead of null, as those of most kinds."""
    return resource.crd is not None or CREATED_AT not in (resource.strategy.columns or _DEFAULT)


def included(context: Context) -> str:
    """Returns the part of each object that its row includes. Raises BadRequest."""
    wanted = context.parameter("includeObject") or METADATA
    if wanted not in (NONE, METADATA, OBJECT):
        error = invalid("includeObject", wanted, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequest(f"Unable to convert to Table as requested: {error}")
    return wanted


class TableMaker:
    """Makes the tables of one request."""

    def __init__(self, resource: Resource, api_version: str, include: str) -> None:
        self._resource = resource
        self._cells = cells_of(resource)
        self._api_version = api_version
        self._include = include

    def table(self, trees: Iterable[Object], metadata: Object, now: datetime, *, headers: bool = True) -> Object:
        """Returns the table of some objects. Without headers the column definitions are omitted, as in all but the
        first table of a watch."""
        return {
            "kind": "Table",
            "apiVersion": self._api_version,
            "metadata": metadata,
            "columnDefinitions": self._cells.headers if headers else None,
            "rows": [self.row(tree, now) for tree in trees],
        }

    def of_object(self, tree: Object, now: datetime, *, headers: bool = True) -> Object:
        """Returns the table of one object."""
        # The object of a dry run has no revision.
        revision = meta.resource_version(tree)
        return self.table([tree], {"resourceVersion": revision} if revision else {}, now, headers=headers)

    def of_bookmark(self, tree: Object, now: datetime, *, headers: bool) -> Object:
        """Returns the table of a bookmark, whose almost empty object is included regardless of `includeObject`."""
        table = self.of_object(tree, now, headers=headers)
        table["rows"][0]["object"] = partial_tree(self._resource, tree, self._api_version)
        return table

    def row(self, tree: Object, now: datetime) -> Object:
        """Returns the row of one object."""
        row: Object = {"cells": self._cells.cells(tree, now)}
        conditions = self._resource.strategy.row_conditions(tree)
        if conditions:
            row["conditions"] = conditions
        row["object"] = self._shown(tree)
        return row

    def _shown(self, tree: Object) -> Json:
        if self._include == OBJECT:
            return tree
        return partial_tree(self._resource, tree, self._api_version) if self._include == METADATA else None
