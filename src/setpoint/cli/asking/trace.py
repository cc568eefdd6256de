"""`setpoint trace`: the reconciles of an object: why each ran, and what it wrote."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.asking import target
from setpoint.cli.completing import kinds_and_names
from setpoint.cli.connecting import Server, connect, run, server_options
from setpoint.cli.printing.output import Form, output_option, write_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from setpoint.cli.asking.target import Times
    from setpoint.past.revision import Revision
    from setpoint.past.trace import Trace


@click.command()
@click.argument("what", metavar="KIND/NAME | NAME", nargs=-1, required=True, shell_complete=kinds_and_names)
@target.moment_options
@click.option("--last", is_flag=True, help="Only the last one.")
@output_option("json", "yaml", "wide", "name")
@server_options
def trace(what: tuple[str, ...], server: Server, form: Form, since: str, until: str, last: bool) -> None:
    """Show the reconciles that wrote an object or what it owns, the newest first: because of what, and what they wrote.

    One that wrote nothing left nothing behind.

    \b
      setpoint trace api --last
      setpoint trace deployment/web --since 5m
    """
    run(_trace(what, server, form, since, until, last))


async def _trace(what: tuple[str, ...], server: Server, form: Form, since: str, until: str, last: bool) -> None:
    from setpoint.objects.errors import NotFound
    from setpoint.past.reading import who_am_i
    from setpoint.past.related import Related
    from setpoint.past.trace import read_traces

    async with connect(server) as client:
        with target.told():
            times = target.Times.of(client)
            place = await target.find(client, what)
            related = Related(client, await client.mapper.resources(anew=False))
            try:
                tree = await client.get(place.kind, place.name, place.namespace)
            except NotFound:
                tree = None
            how = {"since": times.moment(since), "until": times.moment(until)}
            found = (await read_traces(client, place, tree, related, **how))[::-1]
            me = await who_am_i(client)
    found = found[:1] if last else found
    if form.name == "name":
        for each in found:
            click.echo(each.cause.id)
    elif form.is_table:
        _write(found, times, me, wide=form.name == "wide")
    else:
        write_tree({"kind": "Traces", "items": [each.to_json() for each in found]}, form)


def _write(found: "list[Trace]", times: "Times", me: "Collection[str]", *, wide: bool) -> None:
    from setpoint.cli.printing.terminal import harmless, shortened, terminal

    place = terminal()
    for each in found:
        head = f"{each.cause.controller} reconciled {each.cause.key}  {times.shown(each.time)}  {each.cause.id[:8]}"
        place.echo(place.paint(harmless(head), "heading"))
        for line in _lines(each, me):
            fits = wide or place.width is None
            place.echo(harmless(line) if fits else shortened(harmless(line), place.width or 80))


def _lines(each: "Trace", me: "Collection[str]") -> "Iterator[str]":
    from setpoint.past.who import told

    for reason, write in each.because:
        if write is not None:
            by = told(write.actor, write.cause, me)
            yield f"  because  {write.place} rv {write.number}: {write.summary}  ({by})"
        elif reason.kind:
            at = f" rv {reason.revision}" if reason.revision else ""
            yield f"  because  {reason.kind.partition('.')[0]}/{reason.object}{at}: {reason.event}"
        else:
            yield f"  because  {reason.event} {reason.object}".rstrip()
    for write in each.writes:
        yield f"  wrote    {_of(write)}"


def _of(write: "Revision") -> str:
    return f"{write.place} rv {write.number}: {write.summary}"
