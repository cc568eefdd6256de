"""`setpoint get`: prints objects of any kind as a table or in another format, once or on each change."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_objects
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from setpoint.cli.objects.tables import TableOptions
    from setpoint.cli.support.resource_args import Selection
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object


@click.command()
@click.argument("what", metavar="KIND [NAME...] | KIND/NAME...", nargs=-1, shell_complete=kinds_and_names)
@click.option("-A", "--all-namespaces", is_flag=True, help="List the objects across all namespaces.")
@click.option(
    "-l", "--selector", metavar="LABELS", default="", help="Selector (label query) to filter on, e.g. app=web,tier!=db."
)
@click.option(
    "--field-selector",
    metavar="FIELDS",
    default="",
    help="Selector (field query) to filter on, e.g. status.phase=Running.",
)
@click.option("-w", "--watch", is_flag=True, help="After listing the objects, watch for changes.")
@click.option("--watch-only", is_flag=True, help="Watch for changes without listing the objects first.")
@output_option()
@click.option("--sort-by", metavar="PATH", default="", help="Sort by a field, e.g. .metadata.creationTimestamp.")
@click.option("--show-labels", is_flag=True, help="Show all labels as the last column.")
@click.option("-L", "--label-columns", metavar="LABEL", multiple=True, help="Show a label as a column (repeatable).")
@click.option("--no-headers", is_flag=True, help="Do not print headers.")
@click.option("--show-managed-fields", is_flag=True, help="Keep the managedFields when printing JSON or YAML.")
@click.option("--show-kind", is_flag=True, help="List the kind with each name.")
@click.option("--ignore-not-found", is_flag=True, help="Do not fail if an object does not exist.")
@click.option(
    "--at", "revision", metavar="REVISION", type=int, help="Read the objects as of this revision of the store."
)
@click.option("--raw", metavar="PATH", default="", help="Raw URI to request from the server, e.g. /healthz.")
@server_options
def get(what: tuple[str, ...], raw: str, server: Server, **how: Any) -> None:
    """Display objects.

    \b
      setpoint get executables
      setpoint get exe/api task/migrate -o yaml
      setpoint get all -A
      setpoint get pods -l app=web -w
      setpoint get exe -o custom-columns=NAME:.metadata.name,PID:.status.pid
    """
    run(_raw(server, raw) if raw else _get(server, what, how))


async def _raw(server: Server, path: str) -> None:
    async with connect(server) as client:
        place, _, query = f"/{path.removeprefix('/')}".partition("?")
        pairs = [tuple(each.split("=", 1)) if "=" in each else (each, "") for each in query.split("&") if each]
        answer = await client.raw("GET", place, query=[(name, value) for name, value in pairs])
        echo(answer.body.decode("utf-8", "replace"))


async def _get(server: Server, what: tuple[str, ...], how: dict[str, Any]) -> None:
    from setpoint.cli.support.resource_args import Kinds, select

    form: Form = how["form"]
    async with connect(server) as client:
        selections = select(await Kinds.of(client), what)
        if any(each.names for each in selections) and (how["selector"] or how["field_selector"]):
            raise Failure("a name cannot be combined with a selector", USAGE)
        options = _list_options(client, selections, how)
        if how["watch"] or how["watch_only"]:
            if len(selections) != 1 or len(selections[0].names) > 1:
                raise Failure("you may only watch a single kind or object", USAGE)
            await _watch(client, selections[0], options, form, how)
        elif form.is_table:
            await _print_tables(client, selections, options, how["ignore_not_found"])
        else:
            await _print_objects(client, selections, options, form, how)


def _list_options(client: "Client", selections: "list[Selection]", how: dict[str, Any]) -> "TableOptions":
    from setpoint.cli.objects.tables import TableOptions
    from setpoint.client.requests import query_of

    revision = how["revision"]
    query = query_of(
        labelSelector=how["selector"],
        fieldSelector=how["field_selector"],
        at=str(revision) if revision is not None else "",
    )
    return TableOptions(
        namespace="" if how["all_namespaces"] else client.namespace,
        query=tuple(query),
        wide=how["form"].name == "wide",
        show_namespace=how["all_namespaces"],
        show_kind=how["show_kind"] or len(selections) > 1,
        show_labels=how["show_labels"],
        label_columns=how["label_columns"],
        headers=not how["no_headers"],
        sort=_sort_key(how["sort_by"]) if how["sort_by"] else None,
    )


def _sort_key(path: str) -> "Callable[[Object], Any]":
    """Returns a sort key. Numbers sort numerically; missing values come first."""
    from setpoint.schema.jsonpath import JSONPath, JSONPathError

    try:
        parsed = JSONPath(path.strip("{}"))
    except JSONPathError as error:
        raise Failure(f"--sort-by: {error}", USAGE) from None

    def key(tree: "Object") -> tuple[int, Any]:
        try:
            value = parsed.first(tree)
        except JSONPathError:
            value = None
        if value is None:
            return 0, 0
        return (1, value) if isinstance(value, int | float) else (2, str(value))

    return key


async def _print_tables(
    client: "Client", selections: "list[Selection]", options: "TableOptions", ignore_missing: bool
) -> None:
    import asyncio

    from setpoint.cli.objects.tables import read_table, rows_before, table_lines
    from setpoint.objects.errors import APIError

    reads = [(each, name) for each in selections for name in each.names or ("",)]
    read = await asyncio.gather(
        *(read_table(client, each.resource, options, name) for each, name in reads), return_exceptions=True
    )
    failures, empty, place = [], True, terminal()
    for selection in selections:
        tables = []
        for (each, _), result in zip(reads, read, strict=True):
            if each is not selection:
                continue
            if isinstance(result, APIError):
                failures.append(result)
            elif isinstance(result, BaseException):
                raise result
            elif result.rows:
                tables.append(result)
        if tables:
            lines = table_lines(selection, rows_before(tables[0], tables[1:]), options, place)
            place.echo("\n".join(lines if empty or not options.headers else ["", *lines]))
            empty = False
    raise_failures(failures, ignore_missing)
    if empty and not failures:
        where = f" in namespace {options.namespace}" if options.namespace and any_namespaced(selections) else ""
        echo(f"No resources found{where}.", err=True)


def any_namespaced(selections: "list[Selection]") -> bool:
    return any(each.resource.namespaced for each in selections)


def raise_failures(failures: list[Any], ignore_missing: bool) -> None:
    """Prints all failures and raises the last one."""
    from setpoint.objects.errors import NotFound

    errors = [error for error in failures if not (ignore_missing and isinstance(error, NotFound))]
    for error in errors[:-1]:
        echo(f"Error: {error.message}", err=True)
    if errors:
        raise errors[-1]


async def read_objects(
    client: "Client", selections: "list[Selection]", options: "TableOptions"
) -> "tuple[list[Object], list[Any]]":
    """Returns the full objects of the selections, and the errors of those that could not be read."""
    import asyncio

    from setpoint.objects.errors import APIError

    where = client.with_options(namespace=options.namespace)
    query = dict(options.query)
    at = int(query["at"]) if "at" in query else None
    reads: list[Any] = []
    for each in selections:
        if each.names:
            reads += [where.get(each.ref, name, at=at) for name in each.names]
        else:
            labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
            reads.append(where.list(each.ref, labels=labels or None, fields=fields or None, at=at))
    found: list[Object] = []
    failures = []
    for result in await asyncio.gather(*reads, return_exceptions=True):
        if isinstance(result, APIError):
            failures.append(result)
        elif isinstance(result, BaseException):
            raise result
        else:
            found += [result] if isinstance(result, dict) else result.items
    return (found if options.sort is None else sorted(found, key=options.sort)), failures


async def _print_objects(
    client: "Client", selections: "list[Selection]", options: "TableOptions", form: Form, how: dict[str, Any]
) -> None:
    found, failures = await read_objects(client, selections, options)
    is_one = len(selections) == 1 and len(selections[0].names) == 1
    if found or not is_one:
        write_objects(found, form, as_list=not is_one, managed_fields=how["show_managed_fields"])
    raise_failures(failures, how["ignore_not_found"])


async def _watch(
    client: "Client", selection: "Selection", options: "TableOptions", form: Form, how: dict[str, Any]
) -> None:
    """Prints the objects, and then each change, until interrupted."""
    from setpoint.cli.objects.tables import same_columns, table_lines

    if form.name == "custom-columns":
        raise Failure("-o custom-columns does not support --watch: use json, yaml, name or jsonpath", USAGE)
    name = selection.names[0] if selection.names else ""
    listed = options._replace(query=(*options.query, ("fieldSelector", f"metadata.name={name}"))) if name else options
    before = None
    async for is_change, table, objects in _states(client, selection, listed, form):
        if not is_change and how["watch_only"]:
            continue
        if form.is_table:
            if not table.rows:
                continue
            place = terminal()
            again = before is not None and same_columns(before, table)
            lines = table_lines(selection, table, options._replace(headers=options.headers and not again), place)
            place.echo("\n".join(lines))
            before = table
            continue
        for each in objects:
            if form.name == "yaml":
                echo("---")
            write_objects([each], form, as_list=False, managed_fields=how["show_managed_fields"])


async def _states(
    client: "Client", selection: "Selection", options: "TableOptions", form: Form
) -> "AsyncIterator[tuple[bool, Any, list[Object]]]":
    """Yields the current objects and then each change, as: whether it is a change, the table, the objects."""
    from setpoint.cli.objects.tables import ACCEPT, read_table, table_of, table_query
    from setpoint.client.requests import decode
    from setpoint.client.transport import Call
    from setpoint.client.watch import raw_events
    from setpoint.objects.errors import Expired, Gone

    # The rows contain the objects, so that one request serves tables and objects.
    whole = options if form.is_table else options._replace(sort=lambda tree: 0)
    path = selection.resource.path(options.namespace)
    while True:
        first = await read_table(client, selection.resource, whole)
        version = first.resource_version
        yield False, first, [row["object"] for row in first.rows]
        try:
            while True:
                query = [*table_query(whole), ("watch", "true"), ("resourceVersion", version)]
                async with client.stream(Call("GET", path, query, {"accept": ACCEPT})) as stream:
                    async for event in raw_events(stream):
                        table = table_of(decode(event.object), client.clock.now())
                        objects = [row["object"] for row in table.rows]
                        version = objects[-1]["metadata"].get("resourceVersion", version) if objects else version
                        yield True, table, objects
        except (Expired, Gone):
            continue  # history compacted: list again
