"""Requests tables from the server, merges and prints them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from setpoint.cli.output.table import render
from setpoint.cli.output.terminal import Terminal
from setpoint.cli.support.resource_args import Selection
from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.requests import decode
from setpoint.client.transport import Call
from setpoint.objects.duration import human_duration
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_PAGE = "500"


class TableOptions(NamedTuple):
    """The objects to list, and the format of their table."""

    namespace: str = ""
    query: tuple[tuple[str, str], ...] = ()
    wide: bool = False
    show_namespace: bool = False
    show_kind: bool = False
    show_labels: bool = False
    label_columns: tuple[str, ...] = ()
    headers: bool = True
    # Returns the sort key of a row's object.
    sort: Callable[[Object], Any] | None = None


class ServerTable(NamedTuple):
    """The columns and rows as sent by the server."""

    columns: list[Object]
    rows: list[Object]
    resource_version: str = ""


def table_query(options: TableOptions) -> list[tuple[str, str]]:
    return [*options.query, *([("includeObject", "Object")] if options.sort is not None else [])]


async def read_table(client: Client, resource: APIResource, options: TableOptions, name: str = "") -> ServerTable:
    """Returns the table of one object, or of a list with all its pages."""
    path = resource.path(quote(options.namespace), quote(name))
    query = table_query(options)
    if not name:
        query.append(("limit", _PAGE))
    found: ServerTable | None = None
    while True:
        tree = decode((await client.send(Call("GET", path, query, {"accept": ACCEPT}))).body)
        page = table_of(tree, client.clock.now())
        found = page if found is None else found._replace(rows=found.rows + page.rows)
        following = (tree.get("metadata") or {}).get("continue")
        if name or not following:
            return found
        query = [*table_query(options), ("limit", _PAGE), ("continue", following)]


def table_of(tree: Object, now: datetime) -> ServerTable:
    """Returns the table of a response. For servers without table support, builds one with names and ages."""
    metadata = tree.get("metadata") or {}
    version = metadata.get("resourceVersion", "")
    if tree.get("kind") == "Table":
        return ServerTable(tree.get("columnDefinitions") or [], tree.get("rows") or [], version)
    items = tree["items"] if isinstance(tree.get("items"), list) else [tree]
    rows = [
        {"cells": [each["metadata"]["name"], age(each["metadata"].get("creationTimestamp"), now)], "object": each}
        for each in items
    ]
    return ServerTable([{"name": "Name"}, {"name": "Age"}], rows, version)


def age(created: str | None, now: datetime) -> str:
    """Returns the time since the timestamp, as text."""
    return human_duration((now - parse_time(created)).total_seconds()) if created else "<unknown>"


def table_lines(selection: Selection, table: ServerTable, options: TableOptions, terminal: Terminal) -> list[str]:
    """Returns the lines of the table."""
    shown = [index for index, column in enumerate(table.columns) if options.wide or not column.get("priority")]
    headers = [str(table.columns[index]["name"]).upper() for index in shown]
    sort = options.sort
    rows_in_order = table.rows if sort is None else sorted(table.rows, key=lambda row: sort(row["object"]))
    rows = [[_text(row["cells"][index]) for index in shown] for row in rows_in_order]
    metadata = [(row.get("object") or {}).get("metadata") or {} for row in rows_in_order]
    if options.show_kind:
        for row in rows:
            row[0] = f"{selection.word}/{row[0]}"
    for label in options.label_columns:
        headers.append(label.rpartition("/")[2].upper())
        for row, each in zip(rows, metadata, strict=True):
            row.append((each.get("labels") or {}).get(label, ""))
    if options.show_labels:
        headers.append("LABELS")
        for row, each in zip(rows, metadata, strict=True):
            row.append(",".join(f"{key}={value}" for key, value in (each.get("labels") or {}).items()) or "<none>")
    if options.show_namespace and selection.resource.namespaced:
        headers.insert(0, "NAMESPACE")
        for row, each in zip(rows, metadata, strict=True):
            row.insert(0, each.get("namespace", ""))
    return render(headers, rows, terminal, with_headers=options.headers, fit=not options.wide)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(cell)


def same_columns(one: ServerTable, two: ServerTable) -> bool:
    """Returns True if both tables have the same columns."""
    return [column["name"] for column in one.columns] == [column["name"] for column in two.columns]


def rows_before(table: ServerTable, others: Sequence[ServerTable]) -> ServerTable:
    """Returns the rows of several tables of one resource as one table."""
    return table._replace(rows=[row for each in (table, *others) for row in each.rows])
