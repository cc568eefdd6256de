"""The process that hosts an app: a control plane with workloads, until it is told to end or is deserted.

It is started by `starting.start`, says on its standard output that it serves or what keeps it from it, and from then on
speaks to its log alone. A second one for the same session finds the first and gives way.
"""

import argparse
import asyncio
import gc
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from setpoint import process
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.times import format_time
from setpoint.session.attachment import attend, deserted, detach
from setpoint.session.locks import locked
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions, process_identity, session_id
from setpoint.store.files import make_directory

if TYPE_CHECKING:
    from setpoint.plane import ControlPlane

READY = "ready"
TAKEN = "taken"
# Of so many objects that are gone the output is kept: `setpoint export` tells of it.
_KEPT_LOGS = 100
# How often a host shows that it lives.
_SIGN_SECONDS = 10.0
_log = logging.getLogger(__name__)


class HostError(Exception):
    """It cannot be hosted; says why, and what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hosts an app to its end. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="setpoint-host", description="Hosts an app; started by `setpoint up`.")
    parser.add_argument("app", help="its name")
    parser.add_argument("file", help="its file", type=Path)
    parser.add_argument("--profile", action="append", default=[], help="a variant that was chosen")
    parser.add_argument("--attendant", default="", help="the process that it ends with")
    given = parser.parse_args(arguments)
    directory = given.file.parent
    places = Places.of(os.environ, session_id(given.app, str(directory)))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Hardly anything of what a start makes is garbage.
    gc.disable()
    try:
        with _alone(places):
            _begin(places, given.attendant)
            host = Host(given.app, given.file, tuple(given.profile), places)
            return process.run(host.serve)
    except HostError as error:
        say(str(error))
        return 1


class Host:
    """One app's host."""

    def __init__(self, app: str, file: Path, profiles: tuple[str, ...], places: Places) -> None:
        self._app, self._file, self._profiles, self._places = app, file, profiles, places
        self._clock = SystemClock()
        self._sessions = Sessions.of(os.environ)

    async def serve(self, stop: asyncio.Event) -> None:
        """Raises HostError."""
        from setpoint.plane import ControlPlane, PlaneError
        from setpoint.session.controllers.page import ControllersPage
        from setpoint.session.controllers.supervisor import hosting
        from setpoint.store.contract import StoreError
        from setpoint.store.sqlite.errors import Damaged, UnknownLayout
        from setpoint.workload.records import records_path
        from setpoint.workload.workloads import WorkloadSettings

        places, page = self._places, ControllersPage()
        _make_room(places)
        settings = WorkloadSettings(
            places.workloads,
            records_path(os.environ),
            working_directory=self._file.parent,
            workload_id=places.data.name,
            kept_logs=_KEPT_LOGS,
        )
        try:
            # What it holds is of use while this machine is up, and a developer's disk has better things to do.
            store = f"sqlite:{places.store}?durability=off"
            async with ControlPlane(store, workloads=settings, system=False, pages=[page]) as plane:
                url = await _listen(plane, self._last_port())
                plane.write_kubeconfig(places.kubeconfig)
                await plane.workloads_started()
                session = self._session(url)
                self._sessions.add(session)
                try:
                    say(READY)
                    plane.start_system()
                    gc.freeze()
                    gc.enable()
                    async with hosting(plane, page, directory=self._file.parent, data=places.data):
                        await process.until_ended(
                            plane,
                            {
                                "its files were removed, and nobody could find it": show_life(places.lock, self._clock),
                                "a signal came": stop.wait(),
                                "its terminal is gone": deserted(places.attended, self._clock),
                            },
                        )
                    places.applied.unlink(missing_ok=True)
                finally:
                    self._sessions.remove(session, ended=format_time(self._clock.now()))
        except (Damaged, UnknownLayout) as error:
            raise HostError(
                f"what is kept of its past cannot be read ({places.store}); `setpoint clean` removes it"
            ) from error
        except (PlaneError, StoreError, OSError) as error:
            raise HostError(str(error)) from error

    def _session(self, url: str) -> Session:
        return Session(
            app=self._app,
            directory=str(self._file.parent),
            process=process_identity(),
            kubeconfig=str(self._places.kubeconfig),
            url=url,
            started=format_time(self._clock.now()),
            data=str(self._places.data),
            file=str(self._file),
            profiles=self._profiles,
        )

    def _last_port(self) -> int:
        """Where the session before was served: what still has its kubeconfig should find this one."""
        try:
            last = msgspec.json.decode(self._places.record.read_bytes(), type=Session)
            return int(last.url.rpartition(":")[2])
        except (OSError, ValueError):
            return 0


async def show_life(path: Path, clock: Clock) -> None:
    """Leaves a sign of life from time to time: should it be killed, it is known until when it lived. Returns when there
    is no place for it any more."""
    while True:
        try:
            os.utime(path)
        except FileNotFoundError:
            return
        except OSError:
            pass  # a disk that is full, or out of reach for a while
        await clock.sleep(_SIGN_SECONDS)


async def _listen(plane: "ControlPlane", port: int) -> str:
    if port:
        try:
            return await plane.listen("127.0.0.1", port)
        except OSError:
            _log.info("port %d, where it was served before, is taken", port)
    return await plane.listen("127.0.0.1")


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    """Nobody else hosts this session meanwhile. Raises HostError."""
    with ExitStack() as held:
        try:
            make_directory(places.data)
            ours = held.enter_context(locked(places.lock))
        except OSError as error:
            remedy = "set XDG_STATE_HOME to a directory of yours"
            raise HostError(f"{error.filename}: {error.strerror}; {remedy}") from error
        if not ours:
            raise HostError(TAKEN)
        yield


def _begin(places: Places, attendant: str) -> None:
    """Raises HostError."""
    try:
        with suppress(OSError):  # it is no file
            os.ftruncate(2, 0)  # what an earlier one had to say
        if attendant:
            attend(places.attended, attendant)
        else:
            detach(places.attended)
    except OSError as error:
        raise HostError(f"{error.filename or places.data}: {error.strerror}") from error


def _make_room(places: Places) -> None:
    """The past of sessions that came to their end goes on; that of one that did not is put aside, for it ends in the
    middle of something that is no more."""
    if places.applied.exists():
        shutil.rmtree(places.crashed, ignore_errors=True)
        places.crashed.mkdir(mode=0o700)
        # The keys stay: clients go on with the credentials they have.
        stores = [left for left in places.data.glob(f"{places.store.name}*") if not left.is_dir()]
        for left in (*stores, places.workloads, places.applied):
            if left.exists():
                left.rename(places.crashed / left.name)
    shutil.rmtree(places.workloads, ignore_errors=True)


def say(text: str) -> None:
    """Tells whoever started it, who then listens no longer."""
    with open(1, "wb", closefd=False) as out:
        out.write(text.encode())
    os.dup2(2, 1)


if __name__ == "__main__":
    sys.exit(main())
