"""The slot of one entry: at most one worker process is active, and its successor takes over when ready.

If the new version cannot be loaded, the previous one keeps running and the reason is reported. A worker that exits by
itself is restarted with increasing delays; a change of its files restarts the worker immediately.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from setpoint.controller.loop_monitor import REMEDY
from setpoint.controller.overview import FAILED, LOADING, Row
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.reconcile_report import Reconciled, ReconcileQuery
from setpoint.session.controllers.entry import EntryPoint
from setpoint.session.controllers.messages import Begin, Blocked, PrintedLine, Ran, Refused, StatusAnswer
from setpoint.session.controllers.program import Program

# The time for running reconciles of a replaced worker.
GRACE_SECONDS = 10.0
# The delay before the wait for them is reported.
PATIENT_SECONDS = 1.0
# The time limit for the answer of a worker.
ANSWER_SECONDS = 2.0
# The first and the maximum delay of restarts, and the time after which the delay is reset.
FIRST_SECONDS, MOST_SECONDS, FORGIVEN_SECONDS = 1.0, 30.0, 60.0
# The number of attempts before an unreachable server is reported.
PATIENT_TRIES = 3


class Teller(Protocol):
    """Receives reports about worker processes."""

    def happened(self, entry: EntryPoint, reason: str, text: str, *, bad: bool) -> None:
        """Reports an event to the user; `reason` is a CamelCase word."""

    def printed(self, entry: EntryPoint, controller: str, text: str, *, error: bool) -> None:
        """Reports a line of output."""

    def ran(self, entry: EntryPoint, run: Ran) -> None:
        """Reports a finished reconcile, if requested."""


class WorkerSlot:
    """The slot of one entry. `find_user` returns the entry that already uses a controller name."""

    def __init__(
        self,
        entry: EntryPoint,
        begin: Begin,
        teller: Teller,
        find_user: Callable[[str, EntryPoint], EntryPoint | None],
        clock: Clock,
        environ: Mapping[str, str],
        *,
        at_terminal: bool = False,
    ) -> None:
        self.entry, self._begin, self._teller, self._find_user = entry, begin, teller, find_user
        self._clock, self._environ, self._at_terminal = clock, environ, at_terminal
        self._program: Program | None = None
        # The last started worker: the active one or its successor.
        self._starting: asyncio.Task[Program] | None = None
        self._last_status: StatusAnswer | None = None
        self._changed = asyncio.Event()
        # True while loading or about to load: the known state may be outdated.
        self._trying = True
        self._because = ""
        self.names: list[str] = []
        # The files of the last attempt to load.
        self.files: set[str] = set()
        # The reason why the current version does not run; empty if running.
        self.problem = ""
        # True if a retry may succeed, and the number of failed attempts.
        self._passes, self._tries = False, 0
        self.decided = asyncio.Event()
        self._keeping = asyncio.ensure_future(self._keep())

    def change(self, because: str) -> None:
        """Reloads the module."""
        self._because, self._trying = because, True
        self._changed.set()

    def concerns(self, files: set[str]) -> bool:
        """Returns True if a change of files affects the module. After an error, every change does."""
        return bool(self.problem) or bool(self.files & files)

    @property
    def called(self) -> str:
        """The name for output without a controller: the only controller, or the file."""
        return self.names[0] if len(self.names) == 1 else self.entry.module

    async def refresh(self) -> None:
        """Updates the set of imported files."""
        status = await self._request_status()
        if status is not None:
            self.files |= set(status.files)

    async def is_idle(self) -> bool:
        """Returns True if the controllers have no work until the next change or timer."""
        status = await self._request_status()
        return status is not None and status.is_idle

    async def rows(self) -> list[Row]:
        """Returns the status of the controllers."""
        status = await self._request_status()
        known = status or self._last_status
        if self._program is None or known is None:
            state = FAILED if self.problem and not self._trying else LOADING
            return [Row(name=self.called, state=state, note=self.problem, module=self.entry.module)]
        notes = ["the worker does not answer"] if status is None else []
        if self.problem:
            notes.append(f"the previous version is still running: {self.problem}")
        return [msgspec.structs.replace(row, note="; ".join(filter(None, (*notes, row.note)))) for row in known.rows]

    async def reconciles(self, wanted: ReconcileQuery) -> list[Reconciled]:
        """Returns the remembered reconciles that match."""
        status = await self._request_status(wanted)
        return status.reconciles if status is not None else []

    async def close(self) -> None:
        """Stops all workers of the slot."""
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        programs = {self._program} if self._program is not None else set()
        if self._starting is not None:
            # Waits for a worker that is still starting, because no other code would stop that worker.
            [started] = await asyncio.gather(self._starting, return_exceptions=True)
            programs |= {started} if isinstance(started, Program) else set()
        self._program = None
        await asyncio.gather(*(each.stop(GRACE_SECONDS) for each in programs))

    async def _request_status(self, wanted: ReconcileQuery | None = None) -> StatusAnswer | None:
        program = self._program
        status = await program.request_status(ANSWER_SECONDS, wanted) if program is not None else None
        if status is not None:
            self._last_status = status
        return status

    # Keeping the worker running

    async def _keep(self) -> None:
        pause = FIRST_SECONDS
        while True:
            self._changed.clear()
            await self._replace()
            self._tries = self._tries + 1 if self._passes else 0
            if not 0 < self._tries < PATIENT_TRIES:
                self._trying = self._changed.is_set()
                self.decided.set()
            program, began = self._program, self._clock.monotonic()
            await self._wait_for_change(program, pause if self._passes else None)
            if program is not None and program.ended.done():
                self._program = None
                self.problem = f"{self.entry} exited: {program.ended.result()}"
                self._teller.happened(self.entry, "ControllersEnded", self.problem, bad=True)
                if self._clock.monotonic() - began > FORGIVEN_SECONDS:
                    pause = FIRST_SECONDS
                await self._wait_for_change(None, pause)
                self._because = self._because or "restarted after exit"
            pause = FIRST_SECONDS if self._changed.is_set() else min(2 * pause, MOST_SECONDS)

    async def _wait_for_change(self, program: Program | None, seconds: float | None) -> None:
        """Waits for a change, the exit of the worker, or a number of seconds."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(
                [*waits, *([program.ended] if program is not None else [])], return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for each in waits:
                each.cancel()

    async def _replace(self) -> None:
        """Loads the current files in a new worker, which takes over."""
        because, self._because = self._because, ""
        try:
            self._starting = asyncio.ensure_future(
                Program.start(self._begin, self._on_message, self._clock, self._environ, at_terminal=self._at_terminal)
            )
            program = await asyncio.shield(self._starting)
        except OSError as error:
            self._refuse(f"cannot start a process for {self.entry}: {error.strerror or error}")
            return
        answer = await program.loaded()
        self.files = set(answer.files)
        if isinstance(answer, Refused):
            self._refuse(answer.why, passes=answer.passes)
            await program.stop(0)
            return
        for name in answer.controllers:
            if (other := self._find_user(name, self.entry)) is not None:
                self._refuse(f"{self.entry} has a controller named {name!r}, as does {other}: rename one of them")
                await program.stop(0)
                return
        self.names = answer.controllers
        if self._program is not None:
            await self._end(self._program)
        self._program, self._last_status = program, None
        self.problem, self._passes = "", False
        program.work()
        names = ", ".join(self.names)
        what = f"{self.entry} reloaded: {because}" if because else f"{self.entry} loaded"
        self._teller.happened(self.entry, "ControllersLoaded", f"{what} ({names})", bad=False)
        for note in answer.notes:
            self._teller.happened(self.entry, "ControllersNote", note, bad=True)

    async def _end(self, program: Program) -> None:
        """Stops the previous version. Reports the wait if that takes long."""
        ending = asyncio.ensure_future(program.stop(GRACE_SECONDS))
        try:
            with suppress(TimeoutError):
                async with timeout(self._clock, PATIENT_SECONDS):
                    await asyncio.shield(ending)
            if not ending.done():
                text = f"{self.entry}: waiting for the previous version, which has {GRACE_SECONDS:g} s to finish"
                self._teller.happened(self.entry, "ControllersWait", text, bad=True)
            await ending
        finally:
            ending.cancel()

    def _refuse(self, why: str, *, passes: bool = False) -> None:
        """Reports why the files cannot be run. A repeated temporary error is reported once."""
        self._passes = passes
        if passes and why == self.problem:
            return
        self.problem = why
        goes_on = "; the previous version is still running" if self._program is not None else ""
        self._teller.happened(self.entry, "ControllersNotLoaded", f"{why}{goes_on}", bad=True)

    def _on_message(self, message: PrintedLine | Ran | Blocked) -> None:
        match message:
            case PrintedLine(controller, text, error):
                self._teller.printed(self.entry, controller or self.called, text, error=error)
            case Blocked(controller, about, where, _):
                at = f" at {where}" if where else ""
                what = f" while reconciling {about}" if about else ""
                text = f"{controller or self.entry} blocks its worker process{what}{at}: {REMEDY}"
                self._teller.happened(self.entry, "ControllerBlocks", text, bad=True)
            case Ran():
                self._teller.ran(self.entry, message)
