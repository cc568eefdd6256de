"""`setpoint runs`: lists the earlier runs of the app, pins them, and compares two of them."""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import counted
from setpoint.cli.support.connection import Server, run, server_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from setpoint.cli.output.terminal import Meaning

# The words for the manners in which a run ended.
_ENDS = {
    "": "running",
    "Stopped": "stopped",
    "TerminalGone": "terminal gone",
    "Signal": "signal",
    "DirectoryDeleted": "directory deleted",
    "Crashed": "crashed",
}
_TYPES = {"added": "created", "removed": "deleted", "changed": ""}


@click.group(invoke_without_command=True)
@output_option("json", "yaml", "name")
@server_options
@click.pass_context
def runs(ctx: click.Context, form: Form, server: Server) -> None:
    """List the runs of the app, newest first: the current one, the last five and the pinned ones.

    A run begins with `setpoint up` and ends with `setpoint down`, with the terminal, or with a crash. Without a running
    app, shows the runs of the last session in this directory. The variable SETPOINT_RUNS changes the number of runs.

    \b
      setpoint runs
      setpoint runs diff 3
      setpoint runs pin 3 --name "before the upgrade"
    """
    ctx.obj = server
    if ctx.invoked_subcommand is None:
        run(_list(server, form))


@runs.command()
@click.argument("number", type=click.IntRange(1))
@click.option("--name", metavar="TEXT", default=None, help="Name of the run.")
@server_options
def pin(number: int, name: str | None, server: Server) -> None:
    """Keep a run until it is unpinned. At most 20 runs can be pinned."""
    run(_change(server, number, {"pinned": True, **({"name": name} if name is not None else {})}))
    echo(f"run {number} pinned")


@runs.command()
@click.argument("number", type=click.IntRange(1))
@server_options
def unpin(number: int, server: Server) -> None:
    """Let a run be removed when newer ones take its place."""
    run(_change(server, number, {"pinned": False}))
    echo(f"run {number} unpinned")


@runs.command()
@click.argument("number", metavar="A", type=click.IntRange(1))
@click.argument("other", metavar="[B]", type=click.IntRange(1), required=False)
@output_option("json", "yaml")
@server_options
def diff(number: int, other: int | None, form: Form, server: Server) -> None:
    """Show the differences from run A to run B; by default, to the current run.

    First the parts that differ in their state, time to ready, restarts or exit code, then the changed fields of all
    objects. Differences that each new run has are counted only: UIDs, generated names, times, process ids and allocated
    ports. Without a running app, B is the last run.
    """
    found = run(_difference(server, number, other))
    if form.name:
        write_tree(found, form)
        return
    for line, meaning in _difference_lines(found):
        _write(line, meaning)


async def _list(server: Server, form: Form) -> None:
    from setpoint.cli.past.run_source import NO_RUNS, run_source
    from setpoint.objects.clock import SystemClock

    async with run_source(server) as source:
        found = await source.runs()
    if form.name == "name":
        for each in found:
            echo(each["number"])
    elif not form.is_table:
        write_tree({"kind": "RunList", "apiVersion": "setpoint.dev/v1", "items": list(found)}, form)
    elif not found:
        echo(f"{NO_RUNS[0].upper()}{NO_RUNS[1:]}.", err=True)
    else:
        _write_table(found, SystemClock().now())


async def _change(server: Server, number: int, patch: dict[str, Any]) -> None:
    from setpoint.cli.past.run_source import run_source

    async with run_source(server) as source:
        await source.change(number, patch)


async def _difference(server: Server, number: int, other: int | None) -> dict[str, Any]:
    from setpoint.cli.past.run_source import run_source

    async with run_source(server) as source:
        return await source.difference(number, other)


def _write_table(found: list[dict[str, Any]], now: "datetime") -> None:
    from setpoint.cli.output.table import Cell, render
    from setpoint.cli.output.terminal import terminal
    from setpoint.objects.times import parse_micro_time
    from setpoint.past.why.explanation_text import clock_time

    zone = now.astimezone().tzinfo
    assert zone is not None
    rows: list[list[str | Cell]] = []
    for each in found:
        started = parse_micro_time(each["started"])
        failed = each["failed"]
        rows.append(
            [
                str(each["number"]),
                each["name"] or "-",
                clock_time(started, zone, now),
                _duration(each, now),
                Cell(_ENDS[each["end"]], "bad" if each["end"] == "Crashed" else ""),
                Cell(str(failed), "bad" if failed else ""),
                "yes" if each["pinned"] else "",
            ]
        )
    place = terminal()
    for line in render(("RUN", "NAME", "STARTED", "DURATION", "END", "FAILED", "PINNED"), rows, place):
        place.echo(line)


def _duration(record: dict[str, Any], now: "datetime") -> str:
    """Returns the duration of a run; empty if the end is unknown."""
    from setpoint.objects.duration import human_duration
    from setpoint.objects.times import parse_micro_time

    if record["end"] and not record["ended"]:
        return ""
    ended = parse_micro_time(record["ended"]) if record["ended"] else now
    return human_duration((ended - parse_micro_time(record["started"])).total_seconds())


def _difference_lines(found: dict[str, Any]) -> "Iterable[tuple[str, Meaning]]":
    yield f"run {found['from']} → run {found['to']}", "heading"
    for part in found["parts"]:
        yield f"  {part['name']}: {_part_text(part['before'])} → {_part_text(part['after'])}", ""
    if not found["parts"]:
        yield "  no part differs", "quiet"
    for each in found["objects"]:
        place = each["object"]
        where = f"{place['namespace']}/" if place.get("namespace") else ""
        yield f"{place['kind']}/{where}{place['name']} {_TYPES[each['type']]}".rstrip(), "heading"
        for change in each["changes"]:
            yield f"  {_change_text(change)}", ""
    for note in found["notes"]:
        yield note, "quiet"
    if found["truncated"]:
        yield "further differences are not shown", "quiet"
    if folded := _folded_text(found["folded"]):
        yield f"not shown: {folded}", "quiet"


def _part_text(part: dict[str, Any] | None) -> str:
    """Returns the outcome of a part, such as `Ready in 1.2s` or `Failed (ExitedWithError), exit code 3`."""
    if part is None:
        return "absent"
    if part.get("purged"):
        return "purged"
    text = str(part["state"])
    if part.get("readySeconds") is not None:
        text += f" in {part['readySeconds']:.1f}s" if text in ("Ready", "Finished") else ""
    elif part.get("reason"):
        text += f" ({part['reason']})"
    if part.get("wanted", 0) > 1:
        text += f", {part.get('ready', 0)} of {part['wanted']} ready"
    if part.get("restarts"):
        text += f", {counted(part['restarts'], 'restart')}"
    if part.get("exitCode"):
        text += f", exit code {part['exitCode']}"
    return text


def _change_text(change: dict[str, Any]) -> str:
    from setpoint.past.change import ABSENT, FieldChange

    return str(FieldChange(change["path"], change.get("old", ABSENT), change.get("new", ABSENT)))


def _folded_text(folded: dict[str, int]) -> str:
    texts = {
        "times": "times, process ids and counts of probes in {}",
        "ports": "allocated ports in {}",
    }
    found = [text.format(counted(folded[name], "field")) for name, text in texts.items() if folded[name]]
    if folded["identities"]:
        found.append(f"UIDs and generated names of {counted(folded['identities'], 'object')}")
    return "; ".join(found)


def _write(line: str, meaning: "Meaning") -> None:
    from setpoint.cli.output.terminal import harmless, terminal

    place = terminal()
    place.echo(place.paint(harmless(line), meaning))
