"""`setpoint dev`: runs controllers against a server, reloads them on changes, and prints every reconcile.

Each controller module runs in its own process, attached to this terminal, so that `breakpoint()` works.
"""

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import Terminal, echo, terminal
from setpoint.cli.support.connection import Server, connect, find, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import FAILED, TIMED_OUT, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.objects.clock import Clock
    from setpoint.session.controllers.entry import EntryPoint
    from setpoint.session.controllers.messages import Ran
    from setpoint.session.controllers.worker_slots import WorkerSlots

# The controllers count as idle after this number of polls in a row, at this interval.
_CALM_LOOKS, _LOOK_SECONDS = 3, 0.1
_FAILURES = ("error", "terminal", "timeout")


@click.command()
@click.argument("modules", metavar="MODULE...", nargs=-1, required=True, type=click.Path())
@click.option("--once", is_flag=True, help="Exit when no work is left; exit code 1 if a reconcile failed.")
@seconds_option("--timeout", default="60s", help="With --once: time limit.")
@click.option(
    "--install/--no-install",
    default=None,
    help="Install the CRDs of the controllers. [default: not with --kubeconfig or $KUBECONFIG]",
)
@server_options
def dev(modules: tuple[str, ...], once: bool, timeout: float | None, install: bool | None, server: Server) -> None:
    """Run controllers and print every reconcile. Press Ctrl-C to stop.

    MODULE is a file (controllers/shop.py) or a Python module; append :NAME for a single controller. When the file or
    one of its local imports changes, running reconciles finish and the new version takes over. If the new version has
    an error, the error is printed and the previous version keeps running.

    \b
      setpoint dev controllers/shop.py
      setpoint dev shop.operator --kubeconfig ~/.kube/config --install
      setpoint dev controllers/shop.py --once
    """
    entries = [_entry(each) for each in modules]
    raise SystemExit(run(_dev(entries, server, once=once, seconds=timeout, install=install)))


def _entry(text: str) -> "EntryPoint":
    from setpoint.session.controllers.entry import EntryPoint

    module, _, name = text.partition(":")
    if module.endswith(".py") and not Path(module).is_file():
        raise Failure(f"file {module} not found in {Path.cwd()}", USAGE)
    if not module.endswith(".py") and not all(part.isidentifier() for part in module.split(".")):
        raise Failure(f"{module} is neither a Python file, such as controllers/shop.py, nor a module name", USAGE)
    return EntryPoint(module, name)


async def _dev(
    entries: "list[EntryPoint]", server: Server, *, once: bool, seconds: float | None, install: bool | None
) -> int:
    from setpoint.objects.clock import SystemClock
    from setpoint.session.controllers.messages import Begin
    from setpoint.session.controllers.worker_slots import WorkerSlots

    found = find(server)
    if found.session is not None:
        await _warn_of_others(entries, server, Path(found.session.directory))
    installs = install if install is not None else not found.is_explicit
    clock, here = SystemClock(), Path.cwd()
    printer = EventPrinter(terminal(), clock)
    seats = WorkerSlots(here, printer, clock, os.environ, at_terminal=True)
    paths = [str(path.absolute()) for path in found.paths]
    where = server.kubeconfig or found.by
    echo(f"{', '.join(map(str, entries))} against {where}; press Ctrl-C to stop", err=True)
    ended = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, ended.set)
    try:
        await seats.set(
            {each: Begin(str(here), each.module, each.name, paths, server.context, installs, True) for each in entries}
        )
        if not once:
            await ended.wait()
            return 0
        await seats.loaded()
        if seats.problems:
            return FAILED
        if not await _wait_idle(seats, ended, clock, seconds):
            raise Failure("timed out: reconciles are still pending", TIMED_OUT)
        return FAILED if printer.failing else 0
    finally:
        await seats.close()


async def _warn_of_others(entries: "list[EntryPoint]", server: Server, directory: Path) -> None:
    """Warns if the session runs the same modules, because both copies would act."""
    from setpoint.cli.controllers.controller_status import read_controllers

    async with connect(server, quiet=True) as client:
        hosted = {row["module"] for row in (await read_controllers(client)).hosted}
    places = {str((directory / each).resolve()): each for each in hosted}
    for entry in entries:
        if entry.module in hosted or str(Path(entry.module).resolve()) in places:
            echo(
                f"Warning: {entry.module} also runs in the session, and both copies act: remove the module from "
                "setpoint.yaml for now, or watch the session's copy with `setpoint controllers logs -f`",
                err=True,
            )


async def _wait_idle(seats: "WorkerSlots", ended: asyncio.Event, clock: "Clock", seconds: float | None) -> bool:
    """Waits until no work is left. Returns False on timeout."""
    until = None if seconds is None else clock.monotonic() + seconds
    calm = 0
    while calm < _CALM_LOOKS and not ended.is_set():
        if until is not None and clock.monotonic() > until:
            return False
        await clock.sleep(_LOOK_SECONDS)
        calm = calm + 1 if await seats.is_idle() else 0
    return True


class EventPrinter:
    """Prints one line per event; implements `Teller`. `failing` holds the objects with a failed last reconcile."""

    def __init__(self, place: Terminal, clock: "Clock") -> None:
        self._place, self._clock = place, clock
        self.failing: set[tuple[str, str]] = set()

    def happened(self, entry: "EntryPoint", reason: str, text: str, *, bad: bool) -> None:
        self._line(self._place.paint(text, "bad" if bad else "quiet"))

    def printed(self, entry: "EntryPoint", controller: str, text: str, *, error: bool) -> None:
        self._line(f"{controller} | {text}")

    def ran(self, entry: "EntryPoint", run: "Ran") -> None:
        from setpoint.objects.duration import measured

        about = (run.controller, run.object)
        self.failing.discard(about)
        if failed := run.result in _FAILURES:
            self.failing.add(about)
        why = ", ".join(run.why) or "unknown trigger"
        wrote = ", ".join(run.writes) or "no writes"
        how = f"{run.result}: {run.error}" if run.error else run.result.replace("_", " ")
        again = f", requeued after {measured(run.again_after)}" if run.again_after is not None else ""
        result = self._place.paint(how, "bad" if failed else "good")
        self._line(f"{run.controller} {run.object} · {why} · {wrote} · {result}{again} ({measured(run.seconds)})")

    def _line(self, text: str) -> None:
        now = self._clock.now().astimezone()
        self._place.echo(f"{now:%H:%M:%S}.{now.microsecond // 1000:03d}  {text}")
