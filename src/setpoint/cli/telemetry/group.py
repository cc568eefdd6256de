"""`setpoint telemetry`: lists the traces that services export with OpenTelemetry, and shows one of them."""

from datetime import datetime
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import FAILED, NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.cli.past.target import Times
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_TRACES = "/apis/setpoint.dev/v1/telemetry/traces"
# The number of traces that are searched for the slowest ones, and for the rest of an ID.
_MOST_SEARCHED = 1000
_ID_LENGTH, _SHORT_ID = 32, 12
_HEADERS = ("TRACE", "START", "SERVICE", "NAME", "DURATION", "SPANS", "ERRORS", "ERROR")


@click.group()
def telemetry() -> None:
    """Show the traces that services export with OpenTelemetry.

    The reconciles of an object are shown by `setpoint trace KIND/NAME`.

    \b
      setpoint telemetry traces --errors
      setpoint telemetry trace 0af7651916cd
    """


@telemetry.command()
@click.argument("service", metavar="[SERVICE]", default="")
@click.option("--errors", is_flag=True, help="Only traces with a failing span.")
@click.option("--min-duration", metavar="DURATION", default="", help="Only traces of at least this duration, as 100ms.")
@seconds_option("--since", help="Only traces that started within a relative time, such as 30s, 5m or 1h.")
@click.option("--text", metavar="TEXT", default="", help="Only traces with this text in the name of a span.")
@click.option("--slowest", is_flag=True, help="The slowest of the newest 1000 traces first, instead of the newest.")
@click.option(
    "--limit", type=click.IntRange(1, _MOST_SEARCHED), default=20, show_default=True, help="Number of traces to show."
)
@output_option("json", "yaml", "name", "wide")
@server_options
def traces(
    service: str,
    errors: bool,
    min_duration: str,
    since: float | None,
    text: str,
    slowest: bool,
    limit: int,
    form: Form,
    server: Server,
) -> None:
    """List the traces of all services, or of one, newest first.

    \b
      setpoint telemetry traces api --errors --since 5m
      setpoint telemetry traces --slowest --limit 5
    """
    searched = _MOST_SEARCHED if slowest else limit
    query = {"service": service, "text": text, "minDuration": min_duration, "errors": "true" if errors else ""}
    run(_list({**query, "limit": str(searched)}, since, form, server, limit=limit, slowest=slowest))


async def _list(
    query: dict[str, str], since: float | None, form: Form, server: Server, *, limit: int, slowest: bool
) -> None:
    from setpoint.cli.past.target import Times
    from setpoint.past.secret_mask import masked_text

    async with connect(server) as client:
        times = Times.of(client)
        found: list[Object] = (await _read(client, _TRACES, query))["items"]
    if since is not None:
        found = [each for each in found if (times.now - _moment(each)).total_seconds() <= since]
    if slowest:
        found.sort(key=lambda each: -each["durationNanoseconds"])
    shown = [
        {**each, "name": masked_text(each["name"]), "error": masked_text(each.get("error") or "")}
        for each in found[:limit]
    ]
    if form.name == "name":
        for each in shown:
            echo(each["traceId"])
    elif not form.is_table:
        write_tree({"kind": "TraceList", "items": shown}, form)
    elif not shown:
        echo("No trace is kept. Services with an OpenTelemetry SDK send their traces without configuration.", err=True)
    else:
        _write(shown, times, wide=form.name == "wide")


def _write(found: "list[Object]", times: "Times", *, wide: bool) -> None:
    from setpoint.cli.output.table import Cell, render
    from setpoint.cli.output.terminal import terminal
    from setpoint.objects.duration import measured

    place = terminal()
    rows = [
        (
            each["traceId"] if wide else each["traceId"][:_SHORT_ID],
            times.shown(_moment(each)),
            each["service"],
            each["name"],
            measured(each["durationNanoseconds"] / 1e9),
            str(each["spans"]),
            Cell(str(each["errors"]), "bad" if each["errors"] else ""),
            each["error"],
        )
        for each in found
    ]
    for line in render(_HEADERS, rows, place, fit=not wide):
        place.echo(line)


@telemetry.command()
@click.argument("trace_id", metavar="ID")
@output_option("json", "yaml")
@server_options
def trace(trace_id: str, form: Form, server: Server) -> None:
    """Show a trace as a tree of spans, with errors, the attributes of failing spans, and its log records.

    The first digits of the ID are enough. Of a large trace, failing and long spans are shown; values that look like
    secrets are masked. The reconciles of an object are shown by `setpoint trace KIND/NAME`.

    \b
      setpoint telemetry trace 0af7651916cd
      setpoint telemetry trace 0af7651916cd43dd8448eb211c80319c -o json
    """
    run(_show(trace_id.lower(), form, server))


async def _show(trace_id: str, form: Form, server: Server) -> None:
    from setpoint.cli.output.terminal import harmless, terminal
    from setpoint.cli.past.target import Times
    from setpoint.cli.telemetry.compact_trace import compact_trace, lines

    if not trace_id or not set(trace_id) <= set("0123456789abcdef") or len(trace_id) > _ID_LENGTH:
        raise Failure(f"invalid trace ID {trace_id!r}: expected up to {_ID_LENGTH} hexadecimal digits", USAGE)
    async with connect(server) as client:
        times = Times.of(client)
        found = compact_trace(await _read(client, f"{_TRACES}/{await _whole(client, trace_id)}", {}))
    if not form.is_table:
        write_tree(found, form)
        return
    place = terminal()
    for line in lines(found, times.shown(_moment(found))):
        place.echo(harmless(line))


async def _whole(client: "Client", trace_id: str) -> str:
    """Returns the ID of the only trace that begins with some digits. Raises Failure."""
    if len(trace_id) == _ID_LENGTH:
        return trace_id
    listed = (await _read(client, _TRACES, {"text": trace_id, "limit": str(_MOST_SEARCHED)}))["items"]
    found = [each["traceId"] for each in listed if each["traceId"].startswith(trace_id)]
    if not found:
        raise Failure(_unknown(trace_id), NOT_FOUND)
    if len(found) > 1:
        raise Failure(f"{len(found)} traces begin with {trace_id}: give more digits of the ID", USAGE)
    only: str = found[0]
    return only


async def _read(client: "Client", path: str, query: dict[str, str]) -> "Object":
    """Returns an answer of the telemetry. Raises Failure for an unknown trace."""
    import msgspec

    from setpoint.objects.errors import NotFound

    given = [(name, value) for name, value in query.items() if value]
    try:
        answer = await client.raw("GET", path, query=given)
    except NotFound:
        if path == _TRACES:
            raise Failure("this server has no telemetry: it is no server of Setpoint", FAILED) from None
        raise Failure(_unknown(path.rpartition("/")[2]), NOT_FOUND) from None
    found: Object = msgspec.json.decode(answer.body)
    return found


def _unknown(trace_id: str) -> str:
    return f"no trace {trace_id} is kept; `setpoint telemetry traces` lists the traces"


def _moment(trace: "Object") -> datetime:
    """Returns the start of a trace, without its nanoseconds."""
    return datetime.fromisoformat(f"{trace['start'][:26].rstrip('Z')}+00:00")
