"""`setpoint blame`: shows which client last set each field of an object, and when."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from setpoint.cli.past.target import Times
    from setpoint.client.client import Client
    from setpoint.past.blame import BlameLine, Setter
    from setpoint.past.moment import Moment
    from setpoint.past.object_ref import ObjectReference


@click.command()
@click.argument("what", metavar="KIND/NAME | NAME", nargs=-1, required=True, shell_complete=kinds_and_names)
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    default="",
    help="Read the object as of a revision or time, such as 14:03 or 5m (ago).",
)
@output_option("json", "yaml")
@server_options
def blame(what: tuple[str, ...], when: str, form: Form, server: Server) -> None:
    """Show the YAML of an object with the revision, time and client that last set each line.

    \b
      setpoint blame api
      setpoint blame deployment/web --at 14:03
    """
    run(_blame(what, when, form, server))


async def _blame(what: tuple[str, ...], when: str, form: Form, server: Server) -> None:
    from setpoint.past.queries import current_user

    async with connect(server) as client:
        with target.history_failures():
            times = target.Times.of(client)
            place = await target.find(client, what)
            lines = await _lines(client, place, times.moment(when), times)
            me = await current_user(client)
    if form.is_table:
        _write(lines, times, me)
    else:
        write_tree({"kind": "Blame", "object": place.to_json(), "lines": [_json(line, me) for line in lines]}, form)


async def _lines(
    client: "Client", place: "ObjectReference", moment: "Moment | None", times: "Times"
) -> "list[BlameLine]":
    from setpoint.past.blame import blame, blame_by_managers
    from setpoint.past.queries import NoHistory, read_history

    try:
        found = await read_history(client, place, until=moment)
    except NoHistory:
        if moment is not None:
            raise
        return blame_by_managers(await client.get(place.kind, place.name, place.namespace))
    if not found:
        raise Failure(f"{place} did not exist yet", NOT_FOUND)
    if found[-1].raw is None:
        gone = found[-1]
        how = f"use --at {gone.number - 1} to see the last version"
        raise Failure(f"{place} was deleted at {times.shown(gone.time)}; {how}", NOT_FOUND)
    return blame(found)


def _write(lines: "Sequence[BlameLine]", times: "Times", me: "Collection[str]") -> None:
    from setpoint.cli.output.terminal import harmless, shortened, terminal
    from setpoint.past.who import writer_name

    place = terminal()
    heads = [
        _head(line.setter, times, writer_name(line.setter.actor, line.setter.cause, me) if line.setter else "")
        for line in lines
    ]
    width = max(map(len, heads), default=0)
    last = ""
    for head, line in zip(heads, lines, strict=True):
        shown = "" if head == last else head  # repeated values are left blank
        last = head or last
        text = f"{shown:<{width}} │ "
        room = place.width - len(text) if place.width is not None else len(line.text)
        place.echo(f"{place.paint(text, 'quiet')}{shortened(harmless(line.text), max(room, 20))}".rstrip())


def _head(setter: "Setter | None", times: "Times", who: str) -> str:
    if setter is None:
        return ""
    revision = f"rv {setter.revision:<5} " if setter.revision else ""
    return f"{revision}{times.shown(setter.time)}  {who}"


def _json(line: "BlameLine", me: "Collection[str]") -> dict[str, object]:
    from setpoint.past.who import writer_name

    found: dict[str, object] = {"text": line.text}
    if line.setter is not None:
        found["time"] = line.setter.time.isoformat().replace("+00:00", "Z")
        found["actor"] = writer_name(line.setter.actor, line.setter.cause, me)
        if line.setter.revision:
            found["revision"] = line.setter.revision
    return found
