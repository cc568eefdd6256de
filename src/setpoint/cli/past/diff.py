"""`setpoint diff`: shows the differences between two revisions of an object."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.cli.output.terminal import Meaning
    from setpoint.cli.past.target import Times
    from setpoint.client.client import Client
    from setpoint.past.moment import Moment
    from setpoint.past.object_ref import ObjectReference


@click.command()
@click.argument("what", metavar="KIND/NAME [A..B]", nargs=-1, required=True, shell_complete=kinds_and_names)
@click.option(
    "--at", "when", metavar="WHEN", default="", help="Compare that moment with now: a revision, 14:03, 5m (ago)."
)
@click.option("--fields", is_flag=True, help="List the changed fields instead of a YAML diff.")
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if there are differences.")
@output_option("json", "yaml")
@server_options
def diff(what: tuple[str, ...], when: str, fields: bool, exit_code: bool, form: Form, server: Server) -> None:
    """Show the differences between two revisions of an object; by default, those of its last change.

    \b
      setpoint diff api
      setpoint diff api 190..218
      setpoint diff configmap/settings 14:03..14:10 --fields
      setpoint diff configmap/settings --at 5m
    """
    *words, last = what
    given = last if words and (".." in last or last.isdecimal()) else ""
    if given and when:
        raise Failure("a range cannot be combined with --at", USAGE)
    differs = run(_diff(words if given else what, given or when, fields, form, server))
    if differs and exit_code:
        raise SystemExit(1)


async def _diff(words: "list[str] | tuple[str, ...]", when: str, by_field: bool, form: Form, server: Server) -> bool:
    from setpoint.past.difference import fields, unified
    from setpoint.past.moment import parse_range

    async with connect(server) as client:
        with target.history_failures():
            times = target.Times.of(client)
            place = await target.find(client, words)
            first, last = parse_range(when, times.now, times.zone) if when else await _last_change(client, place)
            before, after = [await _state(client, place, moment, times) for moment in (first, last)]
    (old, old_name), (new, new_name) = before, after
    if old is None and new is None:
        raise Failure(f"{place} existed neither at {old_name} nor at {new_name}", NOT_FOUND)
    changes = fields(old or {}, new or {})
    if not form.is_table:
        items = [change.to_json() for change in changes]
        write_tree({"kind": "Difference", "from": old_name, "to": new_name, "changes": items}, form)
    elif by_field:
        for change in changes:
            echo(str(change))
    else:
        _write(unified(old or {}, new or {}, f"{place} {old_name}", f"{place} {new_name}"))
    return bool(changes)


async def _last_change(client: "Client", place: "ObjectReference") -> "tuple[Moment, Moment]":
    """Returns the moments before and after the last significant revision."""
    from setpoint.past.moment import Moment
    from setpoint.past.queries import read_history

    found = await read_history(client, place)
    telling = [each for each in found if not each.is_noise] or found
    last = telling[-1]
    return Moment(revision=last.number - 1), Moment(revision=last.number)


async def _state(
    client: "Client", place: "ObjectReference", moment: "Moment", times: "Times"
) -> "tuple[dict[str, object] | None, str]":
    """Returns the object at a moment, and a label of that moment."""
    from setpoint.past.queries import read_at, revision_at

    at = await revision_at(client, moment)
    if moment.is_now:
        return await read_at(client, place, moment), "now"
    when = f" ({times.shown(moment.time)})" if moment.time is not None else ""
    return await read_at(client, place, moment), f"rv {at}{when}"


def _write(lines: list[str]) -> None:
    from setpoint.cli.output.terminal import harmless, terminal

    place = terminal()
    for line in lines:
        place.echo(place.paint(harmless(line), _meaning(line)))


def _meaning(line: str) -> "Meaning":
    if line.startswith(("---", "+++")):
        return "heading"
    return (
        "bad" if line.startswith("-") else "good" if line.startswith("+") else "quiet" if line.startswith("@@") else ""
    )
