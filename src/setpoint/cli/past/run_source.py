"""The runs that `setpoint runs` shows: those of a server or, if no app is running, the files of an ended session."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from setpoint.cli.support.connection import Server, connect, ended_sessions, find
from setpoint.cli.support.errors import NO_SERVER, NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.past.runs.record import RunContent
    from setpoint.session.registry import Session

_PATH = "/apis/setpoint.dev/v1/runs"
_MERGE_PATCH = {"content-type": "application/merge-patch+json"}
NO_RUNS = "no run of the app is recorded"


class RunSource(Protocol):
    """The runs of an app, in the form of the API."""

    async def runs(self) -> list[dict[str, Any]]:
        """Returns the records, newest first."""

    async def change(self, number: int, patch: dict[str, Any]) -> None:
        """Pins, unpins or names a run. Raises Failure."""

    async def difference(self, number: int, other: int | None) -> dict[str, Any]:
        """Returns the difference of a run to another one; by default to the current one, or the last one if no app is
        running. Raises Failure."""


@asynccontextmanager
async def run_source(server: Server) -> AsyncIterator[RunSource]:
    """Yields the runs of the selected server or ended session. Raises Failure."""
    if (session := _ended(server)) is not None:
        yield _StoredRuns(session)
        return
    async with connect(server) as client:
        yield _ServedRuns(client)


def _ended(server: Server) -> "Session | None":
    """Returns the ended session to read; None if a server must be asked."""
    try:
        found = find(server)
        if found.session is not None or found.is_explicit:
            return None
    except Failure as failure:
        if not ended_sessions(server) or failure.exit_code not in (NO_SERVER, NOT_FOUND):
            raise
    ended = ended_sessions(server)
    return max(ended, key=lambda session: session.ended) if ended else None


class _ServedRuns:
    """The runs of a server."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def runs(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = (await self._read(_PATH))["items"]
        return listed

    async def change(self, number: int, patch: dict[str, Any]) -> None:
        body = msgspec.json.encode(patch)
        await self._client.raw("PATCH", f"{_PATH}/{number}", headers=_MERGE_PATCH, body=body)

    async def difference(self, number: int, other: int | None) -> dict[str, Any]:
        query = [("to", str(other))] if other is not None else []
        found: dict[str, Any] = await self._read(f"{_PATH}/{number}/difference", query)
        return found

    async def _read(self, path: str, query: Sequence[tuple[str, str]] = ()) -> Any:
        return msgspec.json.decode((await self._client.raw("GET", path, query=query)).body)


class _StoredRuns:
    """The runs of a session that has ended, from its files."""

    def __init__(self, session: "Session") -> None:
        from setpoint.past.runs.run_files import RunFiles
        from setpoint.session.paths import Places

        self._places: Places = Places.of_session(session)
        self._files: RunFiles = RunFiles(self._places.runs)

    async def runs(self) -> list[dict[str, Any]]:
        from setpoint.past.runs.record import record_to_json

        records = await asyncio.to_thread(self._files.records)
        return [record_to_json(record, "") for record in records]

    async def change(self, number: int, patch: dict[str, Any]) -> None:
        from setpoint.past.runs.run_files import NoRun, Refused

        with self._places.try_lock() as free:
            if not free:
                raise Failure("the app is starting; repeat the command", NO_SERVER)
            try:
                self._files.change(number, **patch)
            except NoRun as error:
                raise Failure(str(error), NOT_FOUND) from None
            except Refused as error:
                raise Failure(str(error)) from None

    async def difference(self, number: int, other: int | None) -> dict[str, Any]:
        from setpoint.past.runs.comparison import difference_of

        if other is None:
            newest = await asyncio.to_thread(self._files.records)
            if not newest:
                raise Failure(NO_RUNS, NOT_FOUND)
            other = newest[0].number
        before, after = [self._content(each) for each in (number, other)]
        return difference_of(before, after)

    def _content(self, number: int) -> "RunContent":
        from setpoint.past.runs.record import RunContent
        from setpoint.past.runs.run_files import Damaged, NoRun

        try:
            return RunContent(self._files.record(number), self._files.objects(number))
        except NoRun as error:
            raise Failure(str(error), NOT_FOUND) from None
        except Damaged as error:
            raise Failure(f"{error}; compare other runs", USAGE) from None
