"""`setpoint trace`: shows the reconciles of an object: triggers, reads, writes and results."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from collections.abc import Collection

    from setpoint.cli.past.target import Times
    from setpoint.client.client import Client
    from setpoint.past.related_objects import Related
    from setpoint.past.trace import Trace

_ONE = "reconcile"
# The indentation of continuation lines.
_BELOW = " " * 13
_FORGOTTEN = (
    "For some reconciles only the writes are known: their controllers run elsewhere, or no longer remember "
    "the reads and the duration."
)


@click.command()
@click.argument(
    "what", metavar="KIND/NAME | NAME | reconcile/ID", nargs=-1, required=True, shell_complete=kinds_and_names
)
@target.moment_options
@click.option("--last", is_flag=True, help="Show only the last reconcile.")
@output_option("json", "yaml", "wide", "name")
@server_options
def trace(what: tuple[str, ...], server: Server, form: Form, since: str, until: str, last: bool) -> None:
    """Show the reconciles of an object, and those that wrote the object or its dependents, newest first.

    Shows for each reconcile its triggers, the objects and revisions that were read, the writes, duration and result,
    and whether the reads were current. Controllers remember reads for a while; for controllers that run elsewhere, only
    the writes are known, from the log. Traces of services (OpenTelemetry) are shown by `setpoint telemetry`.

    \b
      setpoint trace api --last
      setpoint trace deployment/web --since 5m
      setpoint trace reconcile/3f2a91c0
    """
    run(_trace(what, server, form, since, until, last))


async def _trace(what: tuple[str, ...], server: Server, form: Form, since: str, until: str, last: bool) -> None:
    from setpoint.past.queries import current_user
    from setpoint.past.related_objects import Related

    async with connect(server) as client:
        with target.history_failures():
            times = target.Times.of(client)
            if what[0].partition("/")[0] in (_ONE, f"{_ONE}s"):
                related = Related(client, await client.mapper.resources())
                found = [await _one(client, related, what)]
            else:
                found = await _of_object(client, what, times, since, until)
            me = await current_user(client)
    found = found[:1] if last else found
    if form.name == "name":
        for each in found:
            echo(each.cause.id)
    elif form.is_table:
        _write(found, times, me, wide=form.name == "wide")
    else:
        write_tree({"kind": "Traces", "items": [each.to_json() for each in found]}, form)


async def _one(client: "Client", related: "Related", what: tuple[str, ...]) -> "Trace":
    from setpoint.past.reconciles import read_trace

    words = [word for each in what for word in each.split("/") if word]
    if len(words) != 2:
        raise Failure("expected exactly one reconcile: reconcile/ID", USAGE)
    try:
        return await read_trace(client, related, words[1])
    except ValueError as error:
        raise Failure(str(error), USAGE) from None


async def _of_object(client: "Client", what: tuple[str, ...], times: "Times", since: str, until: str) -> "list[Trace]":
    from setpoint.objects.errors import NotFound
    from setpoint.past.reconciles import read_traces
    from setpoint.past.related_objects import Related

    place = await target.find(client, what)
    related = Related(client, await client.mapper.resources(refresh=False))
    try:
        tree = await client.get(place.kind, place.name, place.namespace)
    except NotFound:
        tree = None
    how = {"since": times.moment(since), "until": times.moment(until)}
    return (await read_traces(client, place, tree, related, **how))[::-1]


def _write(found: "list[Trace]", times: "Times", me: "Collection[str]", *, wide: bool) -> None:
    from setpoint.cli.output.terminal import harmless, terminal
    from setpoint.past.trace_lines import heading, lines

    place = terminal()
    width = None if wide else place.width
    for each in found:
        first, *rest = (_wrapped(harmless(line), width) for line in (heading(each, times.shown), *lines(each, me)))
        place.echo(place.paint(first, "heading"))
        for text in rest:
            place.echo(text)
    if any(each.reconcile is None for each in found):
        place.echo(place.paint(_FORGOTTEN, "quiet"), err=True)


def _wrapped(line: str, width: int | None) -> str:
    if width is None:
        return line
    import textwrap

    return textwrap.fill(line, width, subsequent_indent=_BELOW, break_on_hyphens=False)
