"""Remembers the worlds and servers of the current test, and describes one of them if the test fails.

Tests that pass leave no files: a world leaves only a reference to its log, until the next test begins.
"""

import asyncio
import re
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from setpoint.testing.world_evidence import Evidence
    from setpoint.testing.world_observer import Subject

T = TypeVar("T")
TITLE = "setpoint"
# The number of ended worlds of a test that are remembered, and of archives that a run of pytest saves.
_MOST_ENDED = 3
MOST_ARCHIVES = 50


class FailureRecorder:
    """The observer of the worlds of one run of pytest. `directory` creates a directory for
    archives, if possible."""

    def __init__(self, directory: Callable[[], Path | None]) -> None:
        self._directory = directory
        self._made: Path | None = None
        self._open: list[Subject] = []
        self._ended: deque[tuple[Evidence, BaseException | None]] = deque(maxlen=_MOST_ENDED)
        self._saved = 0

    def begin(self) -> None:
        """Forgets the ended worlds of the previous test."""
        self._ended.clear()

    def opened(self, subject: "Subject") -> None:
        self._open.append(subject)

    def closed(self, subject: "Subject", evidence: "Evidence", error: BaseException | None) -> None:
        self._open.remove(subject)
        self._ended.append((evidence, error))

    def section(self, test: str, failure: str) -> str:
        """Returns the section about the failure of a test; empty if the test has no world and no server."""
        try:
            evidence = self._evidence()
            return "" if evidence is None else _in_thread(self._describe(evidence, test, failure))
        except Exception as error:  # the failure of the test is more important
            return f"cannot describe the world of this test: {type(error).__name__}: {error}"

    def _evidence(self) -> "Evidence | None":
        """Returns the evidence of the world that failed; else of an open world, else of the last one."""
        failed = [evidence for evidence, error in self._ended if error is not None]
        if failed:
            return failed[-1]
        for subject in reversed(self._open):
            evidence = _at_once(subject.evidence())
            if evidence is not None:
                return evidence
        return self._ended[-1][0] if self._ended else None

    async def _describe(self, evidence: "Evidence", test: str, failure: str) -> str:
        from setpoint.testing.failure_section import MOST_ENTRIES, describe, save  # not needed by tests that pass

        found = await describe(evidence, failure)
        if evidence.store is None:
            return found.text
        if found.entries > MOST_ENTRIES:
            return f"{found.text}\nthe log has {found.entries:,} entries, too many for an archive"
        if self._saved >= MOST_ARCHIVES:
            return f"{found.text}\n{MOST_ARCHIVES} archives are saved already: run this test alone for its archive"
        self._made = self._made or self._directory()
        if self._made is None:
            return found.text
        self._saved += 1
        path = self._made / f"{self._saved:02d}-{_file_name(test)}.setpoint"
        return f"{found.text}\n{await save(evidence, path, test, found.keys)}"


def _file_name(test: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")[:50].strip("-")


def _at_once(coroutine: Coroutine[Any, Any, T]) -> T | None:
    """Returns the result of a coroutine that does not wait; None for one that does. The event loop of an open world
    does not run now."""
    try:
        coroutine.send(None)
    except StopIteration as result:
        found: T = result.value
        return found
    coroutine.close()
    return None


def _in_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in a thread, because an event loop may run in this one."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(coroutine))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="setpoint-failure")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
