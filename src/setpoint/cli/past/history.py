"""`setpoint history`: lists the stored revisions of an object with author and changes."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from setpoint.cli.past.target import Times
    from setpoint.past.revision import Revision


@click.command()
@click.argument("what", metavar="KIND/NAME | NAME", nargs=-1, required=True, shell_complete=kinds_and_names)
@target.moment_options
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Show only the newest N revisions.")
@click.option("--all", "everything", is_flag=True, help="Show heartbeat revisions one by one instead of folding them.")
@click.option("--no-headers", is_flag=True, help="Do not print headers.")
@output_option("json", "yaml", "wide", "name")
@server_options
def history(
    what: tuple[str, ...], server: Server, form: Form, since: str, until: str, **how: bool | int | None
) -> None:
    """Show the revisions of an object, newest first.

    \b
      setpoint history api --since 5m
      setpoint history configmap/settings -o json
    """
    run(_history(what, server, form, since, until, how))


async def _history(
    what: tuple[str, ...], server: Server, form: Form, since: str, until: str, how: "dict[str, bool | int | None]"
) -> None:
    from setpoint.past.queries import current_user, read_history
    from setpoint.past.revision import folded

    async with connect(server) as client:
        with target.history_failures():
            times = target.Times.of(client)
            place = await target.find(client, what)
            found = await read_history(client, place, since=times.moment(since), until=times.moment(until))
            me = await current_user(client)
    shown = found if how["everything"] else folded(found)
    shown = shown[-how["limit"] :] if how["limit"] else shown
    shown = shown[::-1]
    if form.name == "name":
        for revision in shown:
            echo(revision.number)
    elif form.is_table:
        write_table(shown, times, me, wide=form.name == "wide", headers=not how["no_headers"])
    else:
        write_tree({"kind": "History", "items": [revision.to_json() for revision in shown]}, form)


def write_table(
    revisions: "Sequence[Revision]",
    times: "Times",
    me: "Collection[str]",
    *,
    wide: bool,
    headers: bool,
    with_object: bool = False,
) -> None:
    """Prints revisions as a table."""
    from setpoint.cli.output.table import Cell, render
    from setpoint.cli.output.terminal import terminal
    from setpoint.past.who import writer_name

    columns = ["RV", "TIME", *(["OBJECT"] if with_object else []), "ACTOR", "CHANGE", *(["CAUSE"] if wide else [])]
    rows = []
    for each in revisions:
        row: list[str | Cell] = [str(each.number), times.shown(each.time)]
        row += [str(each.place)] if with_object else []
        row += [writer_name(each.actor, each.cause, me), Cell(each.summary, "quiet" if each.is_noise else "")]
        row += [_cause(each)] if wide else []
        rows.append(row)
    place = terminal()
    for line in render(columns, rows, place, with_headers=headers, fit=not wide):
        place.echo(line)


def _cause(revision: "Revision") -> str:
    """Returns the cause of a write as short text."""
    cause = revision.cause
    if cause is None or not cause.controller:
        return f"request {cause.id[:8]}" if cause is not None else ""
    because = ", ".join(
        f"{each.kind.partition('.')[0]} {each.object}@{each.revision}"
        if each.revision
        else f"{each.event} {each.object}".strip()
        for each in cause.because
    )
    claimed = f"claimed by {revision.claimant}: " if revision.claimant else ""
    return f"{claimed}reconcile {cause.key} {cause.id[:8]}{f' because {because}' if because else ''}"
