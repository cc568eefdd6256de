"""`setpoint attach`: connects standard streams or a terminal to a process.

With a terminal, raw mode passes every key to the process, and changes of size are forwarded. The terminal mode is
always restored. The command exits with the exit code of the process.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from setpoint.client.channels import Process
    from setpoint.client.client import Client

_BLOCK = 32 << 10
# The detach sequence Ctrl-P Ctrl-Q, as in Docker.
_DETACH = b"\x10\x11"


@click.command()
@click.option("-i", "--stdin", is_flag=True, help="Pass stdin to the process.")
@click.option("-t", "--tty", is_flag=True, help="Stdin is a TTY.")
@click.option("-c", "--container", metavar="NAME", default="", help="Container name, if the pod has several.")
@server_options
@click.argument("name", shell_complete=workload_names)
def attach(name: str, stdin: bool, tty: bool, container: str, server: Server) -> None:
    """Attach to a running process of a workload, or of pod/NAME.

    Prints the output from now on; with -i, passes stdin to the process. Press Ctrl-P Ctrl-Q to detach.
    """
    sys.exit(run(_talk(server, name, "attach", [], stdin, tty, container)))


async def feed(client: "Client", path: str) -> None:
    """Copies stdin to the process at a path until the end of stdin or of the process. Its output is ignored."""
    async with _opened(client, path, [("stdin", "true")]) as process:

        async def drain() -> None:
            async for _ in process:
                pass

        tasks = [asyncio.ensure_future(drain()), asyncio.ensure_future(_feed(process, tty=False))]
        try:
            await tasks[0]
        finally:
            for task in tasks:
                task.cancel()


async def _talk(
    server: Server, name: str, below: str, query: list[tuple[str, str]], stdin: bool, tty: bool, container: str
) -> int:
    if tty and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure("-t requires a terminal: run without -t", USAGE)
    async with connect(server) as client:
        path = await attachable_path(client, name, below)
        query += [("container", container)] if container else []
        return await talk(client, path, query, stdin=stdin, tty=tty)


async def talk(client: "Client", path: str, query: list[tuple[str, str]], *, stdin: bool, tty: bool) -> int:
    """Connects to the process at a path until the process ends or the user detaches. Returns the exit code."""
    wanted = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
    query = [*query, *((key, "true") for key, value in wanted.items() if value)]
    async with _opened(client, path, query) as process:
        with _raw_terminal(tty):
            return await _join(process, stdin=stdin, tty=tty)


async def attachable_path(client: "Client", name: str, below: str) -> str:
    """Returns the path of the subresource of the named process. Raises Failure if the process does not support it."""
    from setpoint.cli.workloads.inventory import find, outputs, read_workloads, ref

    kind, _, bare = name.rpartition("/")
    if kind in ("pod", "pods", "po"):
        return f"/api/v1/namespaces/{client.namespace}/pods/{bare}/{below}"
    [chosen, *_] = find(await read_workloads(client), name)
    running = outputs(chosen)
    if len(running) != 1:
        names = ", ".join(each.name for each in running) or "none yet"
        raise Failure(f"{name} has several processes: specify one of {names}", USAGE)
    resource = await client.resource(ref(running[0].kind))
    if below not in resource.subresources:
        other = (
            "use `setpoint attach`" if below == "exec" and "attach" in resource.subresources else "use `setpoint logs`"
        )
        raise Failure(f"{running[0].kind} {running[0].name} does not support {below}: {other} instead", USAGE)
    return resource.path(name=running[0].name, subresource=below)


@asynccontextmanager
async def _opened(client: "Client", path: str, query: list[tuple[str, str]]) -> "AsyncIterator[Process]":
    from setpoint.client.channels import V4, V5, Process
    from setpoint.client.requests import JSON
    from setpoint.client.transport import Call

    async with client.socket(Call("GET", path, query, {"accept": JSON}), (V5, V4)) as socket:
        yield Process(socket)
        await socket.close()


async def _join(process: "Process", *, stdin: bool, tty: bool) -> int:
    """Copies data in both directions until the process ends or the user detaches. Returns the exit code."""
    from setpoint.client.channels import STDERR

    async def show() -> int:
        async for channel, data in process:
            stream = sys.stderr.buffer if channel == STDERR else sys.stdout.buffer
            stream.write(data)
            stream.flush()
        return process.exit_code or 0

    showing = asyncio.ensure_future(show())
    feeding = asyncio.ensure_future(_feed(process, tty=tty)) if stdin else None
    with _resizes(process) if tty else nullcontext():
        try:
            waited = (showing,) if feeding is None else (showing, feeding)
            while not showing.done():
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                if feeding is not None and feeding.done():
                    if feeding.result():
                        return 0  # detached
                    feeding, waited = None, (showing,)
            return showing.result()
        finally:
            for task in (showing, feeding):
                if task is not None:
                    task.cancel()


async def _feed(process: "Process", *, tty: bool) -> bool:
    """Copies stdin to the process until its end. Returns True if the user detached."""
    loop = asyncio.get_running_loop()
    held = b""
    while True:
        data = held + await _read(loop)
        held = b""
        if len(data) == 0:
            await process.close_stdin()
            return False
        if tty and _DETACH in data:
            return True
        if tty and data.endswith(_DETACH[:1]) and len(data) == 1:
            held = data  # may be the start of the detach sequence: the next key decides
            continue
        await process.write(data)


async def _read(loop: asyncio.AbstractEventLoop) -> bytes:
    """Reads from stdin. Regular files are read directly, because selectors do not accept them."""
    descriptor = sys.stdin.fileno()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(descriptor, _set_done, ready)
    except (PermissionError, OSError):
        return os.read(descriptor, _BLOCK)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _BLOCK)


def _set_done(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


@contextmanager
def _raw_terminal(wanted: bool) -> Iterator[None]:
    """Puts the terminal into raw mode, and restores the mode afterwards."""
    if not wanted:
        yield
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


async def _resize(process: "Process", columns: int, rows: int) -> None:
    from setpoint.client.transport import TransportError

    with suppress(TransportError):  # the process has just ended
        await process.resize(columns, rows)


@contextmanager
def _resizes(process: "Process") -> Iterator[None]:
    """Sends the terminal size to the process, now and on each change."""
    loop = asyncio.get_running_loop()
    telling: set[asyncio.Task[Any]] = set()

    def send_size() -> None:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        task = loop.create_task(_resize(process, columns, rows))
        telling.add(task)
        task.add_done_callback(telling.discard)

    send_size()
    loop.add_signal_handler(signal.SIGWINCH, send_size)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
        for task in telling:
            task.cancel()
