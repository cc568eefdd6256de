"""`python -m setpoint.session.controllers.worker DESCRIPTOR`: the worker process of a module of controllers.

The module is given over the socket (`messages.Begin`). The process exits with its supervisor.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from setpoint.client.client import Client
from setpoint.client.connection_config import ConfigError
from setpoint.client.kubeconfig import load as load_kubeconfig
from setpoint.client.loop import loop_factory
from setpoint.client.options import Options
from setpoint.client.transport import TransportError
from setpoint.controller.controller import Controller
from setpoint.controller.loop_monitor import Block, LoopMonitor
from setpoint.controller.manager import Manager
from setpoint.controller.options import ReconcileObserver
from setpoint.controller.overview import BLOCKED, LOADING, STOPPED, Row, overview
from setpoint.controller.reconciles import recorded_runs
from setpoint.controller.run_record import CANCELLED, CONFLICT, ReconcileRecord
from setpoint.objects.clock import SystemClock
from setpoint.objects.duration import measured
from setpoint.objects.errors import APIError
from setpoint.session.controllers import crd_installation, output
from setpoint.session.controllers.channel import Channel
from setpoint.session.controllers.faults import error_text, project_files
from setpoint.session.controllers.loader import Contents, LoadError, load
from setpoint.session.controllers.messages import (
    Begin,
    Blocked,
    Failed,
    Loaded,
    PrintedLine,
    Ran,
    Refused,
    Start,
    StatusAnswer,
    StatusRequest,
    Stop,
    ToProgram,
)

# Items due later than this count as delayed, not as pending.
_SOON_SECONDS = 1.0
# The time limit for the loop to answer; after that, another thread reads the state.
_ANSWER_SECONDS = 0.5


class Worker:
    """A worker, from the first message to the last."""

    def __init__(self, channel: Channel, begin: Begin) -> None:
        self._channel, self._begin = channel, begin
        self._directory = Path(begin.directory)
        self._clock = SystemClock()
        self._started, self._stopped = asyncio.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._controllers: list[Controller] = []
        self._manager: Manager | None = None
        self._monitor: LoopMonitor | None = None

    async def run(self, program: Contents) -> None:
        """Runs the controllers until stopped."""
        self._loop, self._controllers = asyncio.get_running_loop(), program.controllers
        try:
            connection = load_kubeconfig([Path(each) for each in self._begin.kubeconfigs]).connection(
                self._begin.context, os.environ, self._clock
            )
            options = Options(impersonate=connection.impersonate)
            async with Client(connection.transport(), clock=self._clock, options=options) as client:
                notes = [*program.notes, *await self._define(client, program)]
                self._channel.send(Loaded([each.name for each in program.controllers], project_files(), notes))
                if await self._is_wanted():
                    await self._work(client, program)
        except (crd_installation.DefinitionError, ConfigError) as error:
            self._refuse(str(error))
        except crd_installation.NotInstalledError as error:
            self._refuse(str(error), passes=True)
        except (TransportError, APIError) as error:
            self._refuse(f"cannot use the server: {error}", passes=True)
        except Exception as error:
            self._channel.send(Failed(error_text(error, self._directory)))

    async def _define(self, client: Client, program: Contents) -> list[str]:
        """Installs the kinds, or checks that they are installed. Returns notes for the user."""
        if self._begin.installs:
            return await crd_installation.install(client, program.kinds)
        reconciled = {each.primary.gvk for each in program.controllers if each.primary is not None}
        await crd_installation.check_installed(client, [each for each in program.kinds if each.gvk() in reconciled])
        return []

    def _refuse(self, why: str, *, passes: bool = False) -> None:
        answer = Failed(why) if self._manager is not None else Refused(why, project_files(), passes)
        self._channel.send(answer)

    async def _is_wanted(self) -> bool:
        """Waits for the start. Returns False if stopped instead."""
        signs = [asyncio.ensure_future(sign.wait()) for sign in (self._started, self._stopped)]
        await asyncio.wait(signs, return_when=asyncio.FIRST_COMPLETED)
        for each in signs:
            each.cancel()
        return self._started.is_set()

    async def _work(self, client: Client, program: Contents) -> None:
        manager = self._manager = Manager(
            client, controllers=program.controllers, preflight=self._begin.reports_runs, watchdog=False
        )
        for controller in manager.controllers:
            controller.observer = _Watching(controller, controller.observer, self._ran)
        self._monitor = LoopMonitor(self._clock, self._directory, self._blocked)
        self._monitor.start()
        try:
            await manager.run(self._stopped)
        finally:
            self._monitor.stop()

    # Incoming messages. Called in another thread, because the loop may be blocked.

    def on_message(self, message: ToProgram) -> None:
        match message:
            case StatusRequest():
                self._answer_request(message)
            case Start():
                self._in_loop(self._started.set)
            case Stop(seconds):
                if self._loop is None:
                    os._exit(0)  # still importing: no reconcile to finish
                self._in_loop(lambda: self._stop(seconds))

    def _in_loop(self, do: Callable[[], None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(do)

    def _stop(self, seconds: float) -> None:
        if self._manager is not None:
            self._manager.graceful = seconds
        self._stopped.set()

    def _answer_request(self, ask: StatusRequest) -> None:
        """Answers in the loop. If the loop is blocked, answers in this thread, because the state does not
        change then.
        """
        turned = threading.Event()

        def answer() -> None:
            turned.set()
            self._answer(ask)

        self._in_loop(answer)
        if not turned.wait(_ANSWER_SECONDS):
            self._answer(ask)

    def _answer(self, ask: StatusRequest) -> None:
        rows = [self._row(each) for each in self._controllers]
        settled = bool(rows) and all(map(_is_idle, self._controllers))
        runs = recorded_runs(self._controllers, ask.wanted) if ask.wanted is not None else []
        self._channel.send(StatusAnswer(ask.number, rows, project_files(), settled, runs))

    def _row(self, controller: Controller) -> Row:
        row = overview(controller)
        notes = [self._monitor.note(controller.name) if self._monitor is not None else "", row.note]
        state = LOADING if row.state == STOPPED else row.state
        if self._monitor is not None and self._monitor.blocks(controller.name):
            state = BLOCKED
        return msgspec.structs.replace(row, state=state, note="; ".join(filter(None, notes)), module=self._begin.module)

    # Outgoing messages

    def _blocked(self, block: Block, seconds: float) -> None:
        self._channel.send(Blocked(block.controller, block.object, block.where, seconds))

    def _ran(self, controller: Controller, run: ReconcileRecord) -> None:
        error = run.error if run.result not in (CANCELLED, CONFLICT) else None
        why = error_text(error, self._directory) if error is not None else ""
        again = run.requeue_after
        if error is not None:
            again = dict(controller.queue.waiting()).get(run.request)
        if self._begin.reports_runs:
            reasons = [str(each) for each in run.why] + ([f"{run.more} more"] if run.more else [])
            writes = [str(each) for each in run.writes if not each.skipped]
            about = str(run.request)
            self._channel.send(Ran(run.controller, about, reasons, writes, run.result, run.seconds, why, again))
        elif why:
            next_try = "waiting for the next change" if again is None else f"next try in {measured(again)}"
            self._channel.send(PrintedLine(run.controller, f"{run.request} failed: {why}; {next_try}", error=True))


class _Watching:
    """Observes the reconciles of a controller, and passes them on to the counting observer."""

    def __init__(
        self,
        controller: Controller,
        counting: ReconcileObserver | None,
        ran: Callable[[Controller, ReconcileRecord], None],
    ) -> None:
        self._controller, self._counting, self._ran = controller, counting, ran

    def started(self, run: ReconcileRecord) -> None:
        output.current.set(run.controller)  # each task reconciles for one controller only
        if self._counting is not None:
            self._counting.started(run)

    def finished(self, run: ReconcileRecord) -> None:
        if self._counting is not None:
            self._counting.finished(run)
        self._ran(self._controller, run)


def _is_idle(controller: Controller) -> bool:
    """Returns True if the controller has no work until the next change or timer."""
    queue = controller.queue
    busy = len(queue) or queue.working() or any(seconds <= _SOON_SECONDS for _, seconds in queue.waiting())
    return controller.working and controller.synced and not busy


def main(descriptor: int) -> None:
    """Runs the program requested over a socket."""
    channel = Channel(socket.socket(fileno=descriptor), owns_group=os.getpgrp() == os.getpid())
    begin = channel.receive()
    assert isinstance(begin, Begin)
    worker = Worker(channel, begin)
    channel.listen(worker.on_message)
    output.follow_log(channel.send)
    if begin.reports_runs:  # at a terminal: output is visible there, and Ctrl-C is handled by the supervisor
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        finish = None
    else:
        finish = output.follow_printing(channel.send)
    try:
        program = load(begin.module, Path(begin.directory), begin.name)
    except LoadError as error:
        channel.send(Refused(str(error), project_files()))
        return
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(worker.run(program))
    finally:
        if finish is not None:
            finish()


if __name__ == "__main__":
    main(int(sys.argv[1]))
