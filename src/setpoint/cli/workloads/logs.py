"""`setpoint logs`: prints the logs of one or more workloads, and optionally follows them.

Existing lines of several workloads are sorted by time; new lines are printed as they arrive, prefixed with the name.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from setpoint.cli.output.terminal import Terminal, terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import NOT_FOUND, Failure
from setpoint.cli.support.group_option import group_option
from setpoint.cli.workloads.log_selection import output_of, refuse_selection, selection, with_attempt
from setpoint.objects.times import format_time

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client
    from setpoint.session.controllers.status_query import ControllerStatus

_PODS = ("pod/", "pods/", "po/")
# The prefix of controller names; alone, the prefix selects all controllers.
CONTROLLERS = "controllers/"
# The delay before a broken watch is restarted.
_AGAIN_SECONDS = 0.5
_LEVELS = ("trace", "debug", "info", "warning", "error", "fatal")
# The number of logs that the server merges.
_MOST_MERGED = 50
_SOURCES = ("all", "stdout", "stderr", "startup_stdout", "startup_stderr", "system")


@click.command()
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=workload_names)
@click.option("-f", "--follow", is_flag=True, help="Follow the log output.")
@click.option(
    "--tail", metavar="LINES", type=click.IntRange(min=1), help="Number of lines to show from the end of each log."
)
@seconds_option("--since", help="Show logs since a relative time, such as 30s, 5m or 1h.")
@click.option("-t", "--timestamps", is_flag=True, help="Include timestamps on each line.")
@click.option(
    "-l", "--selector", metavar="LABELS", default="", help="Selector (label query) to filter on, e.g. app=shop."
)
@group_option
@click.option("--source", type=click.Choice(_SOURCES), default="all", show_default=True, help="Output stream to show.")
@click.option(
    "--prefix/--no-prefix", default=None, help="Prefix each line with the name. [default: if there are several]"
)
@click.option("-c", "--container", metavar="NAME", default="", help="Container name, if the pod has several.")
@click.option("-p", "--previous", is_flag=True, help="Print the logs of the run before the current one.")
@click.option("--attempt", metavar="NUMBER", type=click.IntRange(min=1), help="Print the logs of one run, from 1.")
@click.option("--grep", metavar="PATTERN", default="", help="Show lines that match a regular expression (RE2).")
@click.option("-v", "--invert-match", "invert", is_flag=True, help="Show lines that do not match the pattern.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case in the pattern.")
@click.option("--level", type=click.Choice(_LEVELS, case_sensitive=False), help="Least level of the shown lines.")
@click.option("--fields", metavar="NAMES", help="Fields of JSON lines to show, separated by commas. [default: all]")
@click.option(
    "-o",
    "--output",
    type=click.Choice(("text", "raw", "json")),
    help="Show JSON lines as text, lines unchanged, or a JSON object per line. [default: text on a terminal, else raw]",
)
@server_options
def logs(names: tuple[str, ...], server: Server, **how: Any) -> None:
    """Print the logs of workloads: of the named ones, of those with a label, or of all.

    A replica set selects all its replicas, a task all its runs. pod/NAME selects a pod, controllers/NAME a controller
    of the app. The level of a line is read from JSON lines and common text formats; the lines of a stack trace have the
    level of their error. With --grep or --level, --tail counts the selected lines.

    \b
      setpoint logs api -f
      setpoint logs api web --tail 20 -t
      setpoint logs -l app=shop --since 5m
      setpoint logs api --previous
      setpoint logs --level error --grep timeout -i
    """
    run(print_logs(server, names, how))


class _Source(NamedTuple):
    """A log. `key` identifies the workload during its lifetime."""

    name: str
    path: str
    query: tuple[tuple[str, str], ...]
    key: str = ""
    # The resource and name of a workload, whose server merges logs.
    workload: str = ""

    @property
    def is_workload(self) -> bool:
        return bool(self.workload)


async def print_logs(server: Server, names: tuple[str, ...], how: dict[str, Any]) -> None:
    """Prints the logs as the options specify."""
    async with connect(server) as client:
        sources = await _sources(client, names, how)
        if not sources and not how["follow"]:
            what = f"{' and '.join(names)} has" if names else "no workload has"
            raise Failure(f"{what} no output yet", NOT_FOUND)
        with_prefix = how["prefix"] if how["prefix"] is not None else len(sources) != 1
        if how["output"] == "json":
            with_prefix = False  # each object has the name
        prefixes = Prefixes(terminal(), [source.name for source in sources], shown=with_prefix)
        if how["follow"]:
            await _follow(client, sources, names, how, prefixes)
        elif len(sources) == 1:
            await _copy(client, sources[0], prefixes)
        elif all(source.is_workload for source in sources) and len(sources) <= _MOST_MERGED:
            await _merged(client, sources, prefixes, how)
        else:
            await _in_order(client, sources, prefixes, shows_time=how["timestamps"])


class Prefixes:
    """Formats the names before lines: one colour per name, all of the same width."""

    def __init__(self, place: Terminal, names: list[str], *, shown: bool) -> None:
        self._place = place
        self._width = max(map(len, names), default=0)
        self._shown = shown
        self._numbers: dict[str, int] = {}
        for name in names:
            self._number(name)

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def print(self, name: str, line: bytes) -> None:
        """Prints a line. Colours in the output of workloads are kept."""
        prefix = self._place.prefix(f"{name:<{self._width}} | ", self._number(name)) if self._shown else ""
        self._place.echo(prefix + line.decode("utf-8", "replace").rstrip("\r"))


async def _sources(client: "Client", names: tuple[str, ...], how: dict[str, Any]) -> list[_Source]:
    from setpoint.cli.workloads.inventory import find, in_groups, outputs, read_workloads

    pods = [name.partition("/")[2] for name in names if name.startswith(_PODS)]
    hosted = [name.removeprefix(CONTROLLERS) for name in names if name.startswith(CONTROLLERS)]
    others = [name for name in names if not name.startswith((*_PODS, CONTROLLERS))]
    refuse_selection([*pods, *hosted], how)
    found = [_pod(client, name, how) for name in pods]
    found += await _controllers(client, hosted, how) if hosted else []
    if names and not others:
        return found
    workloads = await read_workloads(client, labels=how["selector"])
    chosen = in_groups(workloads, how["groups"]) if how["groups"] or not others else []
    chosen += [each for name in others for each in find(workloads, name)]
    seen = {output.tree["metadata"]["uid"]: output for each in chosen for output in outputs(each)}
    wanted, how = with_attempt(list(seen.values()), how) if seen else ([], how)
    return [*found, *[await _workload(client, each, how) for each in wanted]]


async def _controllers(client: "Client", names: list[str], how: dict[str, Any]) -> list[_Source]:
    from urllib.parse import quote

    from setpoint.cli.controllers.controller_status import read_controllers
    from setpoint.session.controllers.status_query import PATH

    known = await read_controllers(client)
    chosen: dict[str, None] = {}
    for name in names:
        meant = _selected(name, known)
        if name and not meant:
            hint = f"available controllers: {', '.join(known.logs)}" if known.logs else "there are no controllers"
            raise Failure(f"controller {name!r} not found or without output; {hint}", NOT_FOUND)
        chosen |= dict.fromkeys(meant)
    query = tuple(_query(how))
    return [_Source(each, f"{PATH}/{quote(each, safe='')}/log", query, f"{CONTROLLERS}{each}") for each in chosen]


def _selected(name: str, known: "ControllerStatus") -> list[str]:
    """Returns the logs that a name selects: a controller, all controllers of a file, or all. Files in the directory
    `controllers` may be named without the directory.
    """
    if not name:
        return known.logs
    files = {name, f"{CONTROLLERS}{name}"}
    of_files = {row["name"] for row in known.hosted if row["module"] in files}
    return [each for each in known.logs if each in files | of_files]


async def _workload(client: "Client", workload: "Workload", how: dict[str, Any]) -> _Source:
    from setpoint.cli.workloads.inventory import ref

    resource = await client.resource(ref(workload.kind))
    path = resource.path(name=workload.name, subresource="log")
    query = (*_query(how), *selection(how))
    place = f"{resource.plural}/{workload.name}"
    return _Source(workload.called, path, query, workload.tree["metadata"]["uid"], place)


def _query(how: dict[str, Any]) -> list[tuple[str, str]]:
    from setpoint.client.requests import query_of

    return query_of(
        source=how["source"],
        follow="true" if how["follow"] else "",
        timestamps="true" if how["timestamps"] else "",
        tail=str(how["tail"]) if how["tail"] is not None else "",
        since=f"{how['since']:g}s" if how["since"] is not None else "",
    )


def _pod(client: "Client", name: str, how: dict[str, Any]) -> _Source:
    from setpoint.client.requests import query_of

    query = query_of(
        container=how["container"],
        previous="true" if how["previous"] else "",
        follow="true" if how["follow"] else "",
        timestamps="true" if how["timestamps"] else "",
        tailLines=str(how["tail"]) if how["tail"] is not None else "",
        sinceSeconds=str(max(1, round(how["since"]))) if how["since"] is not None else "",
    )
    return _Source(name, f"/api/v1/namespaces/{client.namespace}/pods/{name}/log", tuple(query), name)


async def _lines(client: "Client", source: _Source) -> AsyncIterator[bytes]:
    from setpoint.client.transport import Call
    from setpoint.client.watch import lines

    async with client.stream(Call("GET", source.path, source.query, {"accept": "*/*"})) as stream:
        async for line in lines(stream, with_remainder=True):
            yield line


async def _copy(client: "Client", source: _Source, prefixes: Prefixes) -> None:
    async for line in _lines(client, source):
        prefixes.print(source.name, line)


async def _follow(
    client: "Client", sources: list[_Source], names: tuple[str, ...], how: dict[str, Any], prefixes: Prefixes
) -> None:
    """Follows all logs, including those of new replicas and restarted workloads. Ends when no log is left."""
    following = {source.key: asyncio.ensure_future(_copy(client, source, prefixes)) for source in sources}
    ended: dict[str, str] = {}
    changed = asyncio.Event()
    watching = [asyncio.ensure_future(_watch(client, kind, changed)) for kind in ("Executable", "Container")]
    hearing = asyncio.ensure_future(changed.wait())
    try:
        while following:
            await asyncio.wait((*following.values(), hearing), return_when=asyncio.FIRST_COMPLETED)
            for key in [key for key, task in following.items() if task.done()]:
                following.pop(key).result()
                ended[key] = format_time(client.clock.now())
            if not hearing.done():
                continue
            changed.clear()
            hearing = asyncio.ensure_future(changed.wait())
            for source in await _sources(client, names, how):
                if source.key in following or not await _runs(client, source):
                    continue
                if source.key in ended:
                    source = source._replace(query=_only_from(source.query, ended[source.key]))
                following[source.key] = asyncio.ensure_future(_copy(client, source, prefixes))
    finally:
        for task in (*following.values(), *watching, hearing):
            task.cancel()
        await asyncio.gather(*following.values(), *watching, hearing, return_exceptions=True)


def _only_from(query: tuple[tuple[str, str], ...], moment: str) -> tuple[tuple[str, str], ...]:
    """Returns the query for the lines since a moment, because earlier lines were printed already."""
    return (*((name, value) for name, value in query if name not in ("tail", "since")), ("since_time", moment))


async def _runs(client: "Client", source: _Source) -> bool:
    """Returns True if the log may still grow."""
    from setpoint.client.requests import decode

    tree = decode((await client.raw("GET", source.path.removesuffix("/log"))).body)
    return (tree.get("status") or {}).get("state", "") in ("", "Starting", "Running", "Pending", "Building")


async def _watch(client: "Client", kind: str, changed: asyncio.Event) -> None:
    """Sets `changed` when an object is created or changes its state."""
    from setpoint.cli.workloads.inventory import ref
    from setpoint.client.transport import TransportError
    from setpoint.client.watch import ADDED, MODIFIED
    from setpoint.objects.errors import APIError

    listed = await client.list(ref(kind))
    states = {item["metadata"]["uid"]: (item.get("status") or {}).get("state", "") for item in listed.items}
    version = listed.resource_version
    while True:
        try:
            async with client.watch(ref(kind), resource_version=version) as events:
                async for event in events:
                    version = event.resource_version or version
                    if event.type not in (ADDED, MODIFIED):
                        continue
                    uid, state = event.object["metadata"]["uid"], (event.object.get("status") or {}).get("state", "")
                    if states.get(uid) != state:
                        states[uid] = state
                        changed.set()
        except (TransportError, APIError):
            version = ""
        await client.clock.sleep(_AGAIN_SECONDS)


async def _merged(client: "Client", sources: list[_Source], prefixes: Prefixes, how: dict[str, Any]) -> None:
    """Prints the existing lines of several workloads, which the server merges by time."""
    import msgspec

    from setpoint.workload.logs.line_parser import rendered

    first, *others = sources
    query = [pair for pair in first.query if pair[0] != "format"]
    query += [("format", "json"), *(("with", each.workload) for each in others)]
    called = {each.workload.partition("/")[2]: each.name for each in sources}
    shown, fields = output_of(how), how["fields"].split(",") if how["fields"] is not None else None
    async for line in _lines(client, first._replace(query=tuple(query))):
        if shown == "json":
            prefixes.print("", line)
            continue
        record = msgspec.json.decode(line)
        text = rendered(record["line"], fields) if shown == "text" else record["line"]
        time = f"{record['time']} " if how["timestamps"] else ""
        prefixes.print(called.get(record["name"], record["name"]), f"{time}{text}".encode())


async def _in_order(client: "Client", sources: list[_Source], prefixes: Prefixes, *, shows_time: bool) -> None:
    """Prints the existing lines of several logs, sorted by time."""
    timed = [each if shows_time else each._replace(query=(*each.query, ("timestamps", "true"))) for each in sources]

    async def read(source: _Source) -> list[tuple[bytes, str, bytes]]:
        last, found = b"", []
        async for line in _lines(client, source):
            time, _, text = line.partition(b" ")
            last = time or last
            found.append((last, source.name, line if shows_time else text))
        return found

    everything = [line for lines in await asyncio.gather(*map(read, timed)) for line in lines]
    for _, name, text in sorted(everything, key=lambda line: line[0]):
        prefixes.print(name, text)
