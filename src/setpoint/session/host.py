"""The host process of an app: runs a control plane with workloads until stopped or abandoned by its terminal.

`startup.start` starts the host, which reports readiness or an error on its standard output, and writes to its log from
then on. A second host of the same session detects the first and exits.
"""

import argparse
import asyncio
import gc
import logging
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from setpoint import process
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.times import format_time
from setpoint.session.attachment import attend, deserted, detach
from setpoint.session.locks import locked
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions, process_identity, session_id
from setpoint.store.files import make_directory
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.workload.usage_settings import UsageSettings

if TYPE_CHECKING:
    from setpoint.past.runs.record import End
    from setpoint.past.runs.run_history import RunHistory
    from setpoint.past.runs.settings import RunSettings
    from setpoint.server.request.context import Services
    from setpoint.store.contract import Store

READY = "ready"
TAKEN = "taken"
# The variables with the settings of telemetry and of earlier runs.
TELEMETRY_VARIABLE = "SETPOINT_TELEMETRY"
RUNS_VARIABLE = "SETPOINT_RUNS"
USAGE_VARIABLE = "SETPOINT_USAGE"
# The number of deleted objects with kept logs, for `setpoint export`.
_KEPT_LOGS = 100
# The interval of the heartbeat.
_SIGN_SECONDS = 10.0
# The ends of runs by the reasons of the shutdown.
_ENDS: "Mapping[str, End]" = {
    "state directory deleted; no client could reach this session": "DirectoryDeleted",
    "received a signal": "Signal",
    "its terminal is gone": "TerminalGone",
}
Settings = TypeVar("Settings")
_log = logging.getLogger(__name__)


class HostError(Exception):
    """Raised if the app cannot be hosted, with the reason and remedy."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hosts an app to its end. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="setpoint-host", description="Host process of an app; started by `setpoint up`."
    )
    parser.add_argument("app", help="name of the app")
    parser.add_argument("file", help="path of the app file", type=Path)
    parser.add_argument("--profile", action="append", default=[], help="enabled profile")
    parser.add_argument("--isolated-from", default="", help="app of which this one is an isolated copy")
    parser.add_argument("--attendant", default="", help="process whose exit ends the session")
    given = parser.parse_args(arguments)
    directory = given.file.parent
    places = Places.of(os.environ, session_id(given.app, str(directory)))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Startup creates hardly any garbage.
    gc.disable()
    try:
        with _alone(places):
            _begin(places, given.attendant)
            host = SessionHost(given.app, given.file, tuple(given.profile), places, given.isolated_from)
            return process.run(host.serve)
    except HostError as error:
        report(str(error))
        return 1


class SessionHost:
    """The host of one app."""

    def __init__(
        self, app: str, file: Path, profiles: tuple[str, ...], places: Places, isolated_from: str = ""
    ) -> None:
        self._app, self._file, self._profiles, self._places = app, file, profiles, places
        self._isolated_from = isolated_from
        self._clock = SystemClock()
        self._sessions = Sessions.of(os.environ)

    async def serve(self, stop: asyncio.Event) -> None:
        """Serves the control plane until the session ends. Raises HostError."""
        from setpoint.config import Config
        from setpoint.plane import ControlPlane, PlaneError, Serving
        from setpoint.server.dashboard.settings import DashboardSettings
        from setpoint.session.controllers.page import ControllersPage
        from setpoint.session.controllers.supervisor import hosting
        from setpoint.store.contract import StoreError
        from setpoint.store.sqlite.errors import Damaged, UnknownLayout
        from setpoint.workload.records import records_path
        from setpoint.workload.workloads import WorkloadSettings

        places, page = self._places, ControllersPage()
        has_crashed = _set_aside_data(places)
        settings = WorkloadSettings(
            places.workloads,
            records_path(os.environ),
            working_directory=self._file.parent,
            workload_id=places.data.name,
            kept_logs=_KEPT_LOGS,
        )
        try:
            # The data is needed only until the next reboot, so that durable writes are not worth their cost.
            store = f"sqlite:{places.store}?durability=off"
            if RUNS_VARIABLE in os.environ:
                run_settings(os.environ)
            serving = Serving(pages=[page], dashboard=DashboardSettings(app=self._app))
            async with ControlPlane(
                store,
                config=Config(telemetry=telemetry_settings(os.environ), usage=usage_settings(os.environ)),
                workloads=settings,
                system=False,
                serving=serving,
                telemetry=places.telemetry,
                runs=partial(self._runs, has_crashed=has_crashed),
            ) as plane:
                last = self._last()
                url = await _listen(partial(plane.listen, "127.0.0.1"), _port(last.url if last is not None else ""))
                dashboard = await _listen(plane.listen_page, _port(last.dashboard if last is not None else ""))
                plane.write_kubeconfig(places.kubeconfig)
                await plane.workloads_started()
                session = self._session(url, dashboard)
                self._sessions.add(session)
                try:
                    report(READY)
                    plane.start_system()
                    plane.runs.begin()
                    gc.freeze()
                    gc.enable()
                    async with hosting(plane, page, directory=self._file.parent, data=places.data):
                        deleted, signal, gone = _ENDS
                        reason = await process.until_ended(
                            plane,
                            {
                                deleted: touch_lock(places.lock, self._clock),
                                signal: stop.wait(),
                                gone: deserted(places.attended, self._clock),
                            },
                        )
                        await plane.runs.finish(_ENDS.get(reason, "Stopped"))
                    places.applied.unlink(missing_ok=True)
                finally:
                    self._sessions.remove(session, ended=format_time(self._clock.now()))
        except (Damaged, UnknownLayout) as error:
            raise HostError(
                f"the stored history {places.store} cannot be read; remove it with `setpoint clean`"
            ) from error
        except (PlaneError, StoreError, OSError) as error:
            raise HostError(str(error)) from error

    def _runs(self, services: "Services", first: int, *, has_crashed: bool) -> "RunHistory":
        """Returns the runs of the app. Their modules are imported after the session is ready."""
        from setpoint.past.runs.run_history import RunHistory, RunStart

        places, start = self._places, RunStart(str(self._file), self._profiles)
        open_crashed = partial(_open_crashed, places, self._clock) if has_crashed else None
        return RunHistory(services, first, places.runs, run_settings(os.environ), start, open_crashed)

    def _session(self, url: str, dashboard: str) -> Session:
        return Session(
            app=self._app,
            directory=str(self._file.parent),
            process=process_identity(),
            kubeconfig=str(self._places.kubeconfig),
            url=url,
            dashboard=dashboard,
            started=format_time(self._clock.now()),
            data=str(self._places.data),
            file=str(self._file),
            profiles=self._profiles,
            isolated_from=self._isolated_from,
        )

    def _last(self) -> Session | None:
        """Returns the previous session; None if unknown."""
        try:
            return msgspec.json.decode(self._places.record.read_bytes(), type=Session)
        except (OSError, ValueError):
            return None


def _port(url: str) -> int:
    """Returns the port of a URL of the previous session, so that its kubeconfigs and pages stay valid; 0 if unknown."""
    try:
        return urlsplit(url).port or 0
    except ValueError:
        return 0


def telemetry_settings(environ: Mapping[str, str]) -> TelemetrySettings:
    """Returns the settings of telemetry, which a variable may change. Raises HostError for an invalid value."""
    return _settings(environ, TELEMETRY_VARIABLE, TelemetrySettings, '{"retentionSeconds": 3600}')


def usage_settings(environ: Mapping[str, str]) -> UsageSettings:
    """Returns the settings of samples, which a variable may change. Raises HostError for an invalid value."""
    return _settings(environ, USAGE_VARIABLE, UsageSettings, '{"retentionSeconds": 600}')


def run_settings(environ: Mapping[str, str]) -> "RunSettings":
    """Returns the settings of earlier runs, which a variable may change. Raises HostError for an invalid value."""
    from setpoint.past.runs.settings import RunSettings

    return _settings(environ, RUNS_VARIABLE, RunSettings, '{"keep": 5}')


def _settings(environ: Mapping[str, str], variable: str, settings: type[Settings], example: str) -> Settings:
    """Returns the settings in a variable, which are enabled unless it is `off`. Raises HostError."""
    text = environ.get(variable, "")
    try:
        given = {"enabled": False} if text == "off" else msgspec.json.decode(text or "{}", type=dict[str, Any])
        return msgspec.convert({"enabled": True, **given}, settings)
    except msgspec.MsgspecError as error:
        raise HostError(f"{variable}: {error}; set the variable to off, or to settings: {example}") from None


async def touch_lock(path: Path, clock: Clock) -> None:
    """Touches the lock file regularly, so that the time of a crash is known. Returns when the file was deleted."""
    while True:
        try:
            os.utime(path)
        except FileNotFoundError:
            return
        except OSError:
            pass  # the disk is full or unreachable for a while
        await clock.sleep(_SIGN_SECONDS)


async def _listen(listen: Callable[[int], Awaitable[str]], port: int) -> str:
    """Listens at the port of the previous session, or at any port if that is in use."""
    if port:
        try:
            return await listen(port)
        except OSError:
            _log.info("the previous port %d is in use", port)
    return await listen(0)


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    """Holds the lock of the session. Raises HostError if another host holds the lock."""
    with ExitStack() as held:
        try:
            make_directory(places.data)
            ours = held.enter_context(locked(places.lock))
        except OSError as error:
            remedy = "set XDG_STATE_HOME to a writable directory"
            raise HostError(f"{error.filename}: {error.strerror}; {remedy}") from error
        if not ours:
            raise HostError(TAKEN)
        yield


def _begin(places: Places, attendant: str) -> None:
    """Truncates the log and attaches the session. Raises HostError."""
    try:
        with suppress(OSError):  # not a file
            os.ftruncate(2, 0)  # the messages of an earlier host
        if attendant:
            attend(places.attended, attendant)
        else:
            detach(places.attended)
    except OSError as error:
        raise HostError(f"{error.filename or places.data}: {error.strerror}") from error


async def _open_crashed(places: Places, clock: Clock) -> "Store":
    """Opens the store of the crashed run before. Raises StoreError and OSError."""
    from setpoint.store.contract import Retention
    from setpoint.store.sqlite import SqliteStore

    return await SqliteStore.open(Places(places.crashed).store, clock=clock, retention=Retention())


def _set_aside_data(places: Places) -> bool:
    """Keeps the store of a session that ended normally. Moves the data of a crashed session aside, because its state no
    longer matches reality. Returns True if the session had crashed.
    """
    if has_crashed := places.applied.exists():
        shutil.rmtree(places.crashed, ignore_errors=True)
        places.crashed.mkdir(mode=0o700)
        # The keys stay, so that clients can keep their credentials.
        stores = [left for left in places.data.glob(f"{places.store.name}*") if not left.is_dir()]
        for left in (*stores, places.workloads, places.applied):
            if left.exists():
                left.rename(places.crashed / left.name)
    shutil.rmtree(places.workloads, ignore_errors=True)
    return has_crashed


def report(text: str) -> None:
    """Reports to the starting process, and redirects standard output to the log."""
    with open(1, "wb", closefd=False) as out:
        out.write(text.encode())
    os.dup2(2, 1)


if __name__ == "__main__":
    sys.exit(main())
