"""The place of one entry: there is at most one program that works, and the next one takes over when it is ready.

A program that cannot be loaded changes nothing: the old one goes on, and why is told. One that ends by itself is
started again, ever more slowly; a change of its files starts it at once.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from setpoint.controller.overview import FAILED, LOADING, Row
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.reconcile_report import Reconciled, Wanted
from setpoint.session.controllers.entry import Entry
from setpoint.session.controllers.lag import REMEDY
from setpoint.session.controllers.messages import Begin, Blocked, Line, Ran, Refused, Told
from setpoint.session.controllers.program import Program

# What the reconciles of a program that is replaced have to finish.
GRACE_SECONDS = 10.0
# After how long it is said that they are waited for.
PATIENT_SECONDS = 1.0
# How long a program may take to tell how it does.
ANSWER_SECONDS = 2.0
# How long one that ended by itself waits to be started again: at first, at most; and after how long it is forgiven.
FIRST_SECONDS, MOST_SECONDS, FORGIVEN_SECONDS = 1.0, 30.0, 60.0
# After so many tries it is believed that the server does not answer.
PATIENT_TRIES = 3


class Teller(Protocol):
    """Hears what becomes of programs."""

    def happened(self, entry: Entry, reason: str, text: str, *, bad: bool) -> None:
        """Something that the user should know; `reason` is one word for it."""

    def printed(self, entry: Entry, controller: str, text: str, *, error: bool) -> None:
        """A line of output."""

    def ran(self, entry: Entry, run: Ran) -> None:
        """A reconcile, where these are wanted."""


class WorkerSlot:
    """One entry. `taken` says who has a name of a controller already."""

    def __init__(
        self,
        entry: Entry,
        begin: Begin,
        teller: Teller,
        taken: Callable[[str, Entry], Entry | None],
        clock: Clock,
        environ: Mapping[str, str],
        *,
        at_terminal: bool = False,
    ) -> None:
        self.entry, self._begin, self._teller, self._taken = entry, begin, teller, taken
        self._clock, self._environ, self._at_terminal = clock, environ, at_terminal
        self._program: Program | None = None
        # The last one that was started: the one that works, or that is to.
        self._starting: asyncio.Task[Program] | None = None
        self._known: Told | None = None
        self._changed = asyncio.Event()
        # Whether it is being loaded, or about to be: what is known of the last time may be wrong in a moment.
        self._trying = True
        self._because = ""
        self.names: list[str] = []
        # What the last try to load was made of.
        self.files: set[str] = set()
        # Why the program that should run does not; empty: it does.
        self.problem = ""
        # Whether that may pass by itself, and how often it has not.
        self._passes, self._tries = False, 0
        self.decided = asyncio.Event()
        self._keeping = asyncio.ensure_future(self._keep())

    def change(self, because: str) -> None:
        """Has it loaded anew."""
        self._because, self._trying = because, True
        self._changed.set()

    def concerns(self, files: set[str]) -> bool:
        """Whether a change of files has to do with it: with any, while it waits for its mistake to be mended."""
        return bool(self.problem) or bool(self.files & files)

    @property
    def called(self) -> str:
        """Whose it is what nobody in particular says: the one controller's that there is, or the file's."""
        return self.names[0] if len(self.names) == 1 else self.entry.module

    async def refresh(self) -> None:
        """Learns which files it is made of by now."""
        told = await self._ask()
        if told is not None:
            self.files |= set(told.files)

    async def settled(self) -> bool:
        """Whether its controllers have nothing to do, before something changes or time has passed."""
        told = await self._ask()
        return told is not None and told.settled

    async def rows(self) -> list[Row]:
        """How its controllers do."""
        told = await self._ask()
        known = told or self._known
        if self._program is None or known is None:
            state = FAILED if self.problem and not self._trying else LOADING
            return [Row(name=self.called, state=state, note=self.problem, module=self.entry.module)]
        notes = ["it does not answer"] if told is None else []
        if self.problem:
            notes.append(f"the version before still runs: {self.problem}")
        return [msgspec.structs.replace(row, note="; ".join(filter(None, (*notes, row.note)))) for row in known.rows]

    async def reconciles(self, wanted: Wanted) -> list[Reconciled]:
        """What its controllers remember of some reconciles."""
        told = await self._ask(wanted)
        return told.reconciles if told is not None else []

    async def close(self) -> None:
        """Ends what runs, in order."""
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        programs = {self._program} if self._program is not None else set()
        if self._starting is not None:
            # Who was cancelled while it was being started would leave nobody to end it.
            [started] = await asyncio.gather(self._starting, return_exceptions=True)
            programs |= {started} if isinstance(started, Program) else set()
        self._program = None
        await asyncio.gather(*(each.stop(GRACE_SECONDS) for each in programs))

    async def _ask(self, wanted: Wanted | None = None) -> Told | None:
        program = self._program
        told = await program.ask(ANSWER_SECONDS, wanted) if program is not None else None
        if told is not None:
            self._known = told
        return told

    # Keeping it running

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
            await self._until_something(program, pause if self._passes else None)
            if program is not None and program.ended.done():
                self._program = None
                self.problem = f"{self.entry} has ended: {program.ended.result()}"
                self._teller.happened(self.entry, "ControllersEnded", self.problem, bad=True)
                if self._clock.monotonic() - began > FORGIVEN_SECONDS:
                    pause = FIRST_SECONDS
                await self._until_something(None, pause)
                self._because = self._because or "it had ended"
            pause = FIRST_SECONDS if self._changed.is_set() else min(2 * pause, MOST_SECONDS)

    async def _until_something(self, program: Program | None, seconds: float | None) -> None:
        """Waits for a change, for the end of the program, or until so many seconds have passed."""
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
        """Loads what the files say now, and has it take over."""
        because, self._because = self._because, ""
        try:
            self._starting = asyncio.ensure_future(
                Program.start(self._begin, self._heard, self._clock, self._environ, at_terminal=self._at_terminal)
            )
            program = await asyncio.shield(self._starting)
        except OSError as error:
            self._refuse(f"no process can be started for {self.entry}: {error.strerror or error}")
            return
        answer = await program.loaded()
        self.files = set(answer.files)
        if isinstance(answer, Refused):
            self._refuse(answer.why, passes=answer.passes)
            await program.stop(0)
            return
        for name in answer.controllers:
            if (other := self._taken(name, self.entry)) is not None:
                self._refuse(f"{self.entry} has a controller named {name!r}, and so has {other}: rename one of them")
                await program.stop(0)
                return
        self.names = answer.controllers
        if self._program is not None:
            await self._end(self._program)
        self._program, self._known = program, None
        self.problem, self._passes = "", False
        program.work()
        names = ", ".join(self.names)
        what = f"{self.entry} loaded again: {because}" if because else f"{self.entry} loaded"
        self._teller.happened(self.entry, "ControllersLoaded", f"{what} ({names})", bad=False)
        for note in answer.notes:
            self._teller.happened(self.entry, "ControllersNote", note, bad=True)

    async def _end(self, program: Program) -> None:
        """Has the version before finish; where that takes long, says what is waited for."""
        ending = asyncio.ensure_future(program.stop(GRACE_SECONDS))
        try:
            with suppress(TimeoutError):
                async with timeout(self._clock, PATIENT_SECONDS):
                    await asyncio.shield(ending)
            if not ending.done():
                text = (
                    f"{self.entry}: the new version waits for the one before, which has {GRACE_SECONDS:g} s to finish"
                )
                self._teller.happened(self.entry, "ControllersWait", text, bad=True)
            await ending
        finally:
            ending.cancel()

    def _refuse(self, why: str, *, passes: bool = False) -> None:
        """Tells why the files cannot be run as they are. What passes is tried again and again: once is enough."""
        self._passes = passes
        if passes and why == self.problem:
            return
        self.problem = why
        goes_on = "; the version before still runs" if self._program is not None else ""
        self._teller.happened(self.entry, "ControllersNotLoaded", f"{why}{goes_on}", bad=True)

    def _heard(self, message: Line | Ran | Blocked) -> None:
        match message:
            case Line(controller, text, error):
                self._teller.printed(self.entry, controller or self.called, text, error=error)
            case Blocked(controller, about, where, _):
                at = f" at {where}" if where else ""
                what = f" while it reconciles {about}" if about else ""
                text = f"{controller or self.entry} blocks all of its file{what}{at}: {REMEDY}"
                self._teller.happened(self.entry, "ControllerBlocks", text, bad=True)
            case Ran():
                self._teller.ran(self.entry, message)
