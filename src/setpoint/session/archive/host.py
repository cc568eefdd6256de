"""The process that shows an archive: a read-only server, which runs no workloads.

`viewer.show` starts the process, which reports readiness on its standard output. On exit, the process removes the
unpacked archive.
"""

import argparse
import asyncio
import logging
import os
import shutil
import sys
from collections.abc import Sequence

import msgspec

from setpoint import process
from setpoint.objects.clock import StandingClock
from setpoint.objects.times import parse_micro_time
from setpoint.server.request.extension import Extension
from setpoint.session.host import READY, report
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions, process_identity
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.workload.admin.execution import ExecutionPage
from setpoint.workload.kinds.api_names import GROUP, LOGGED
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.shutdown import Shutdown
from setpoint.workload.subresources.log import NAME, LogEndpoint

# Records of an archive do not expire.
_ALWAYS_SECONDS = 1e10


def main(arguments: Sequence[str] | None = None) -> int:
    """Shows an archive until stopped. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="setpoint-archive", description="Shows an archive; see `setpoint import`.")
    parser.add_argument("session", help="the session to show, as JSON")
    given = parser.parse_args(arguments)
    session = msgspec.json.decode(given.session, type=Session)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    return process.run(lambda stop: _serve(session, stop))


async def _serve(session: Session, stop: asyncio.Event) -> None:
    from setpoint.config import Config
    from setpoint.plane import ControlPlane, Serving
    from setpoint.server.dashboard.settings import DashboardSettings
    from setpoint.store.contract import Retention
    from setpoint.store.sqlite import SqliteStore

    places, sessions = Places.of_session(session), Sessions.of(os.environ)
    # Ages are shown relative to the time of the export.
    clock = StandingClock(parse_micro_time(session.exported))
    logs = LogStore(places.workloads / "logs", clock)
    logs.reopen()
    endpoint = LogEndpoint(lambda: logs)
    shutdown = Shutdown()
    store = await SqliteStore.open(places.store, clock=clock, retention=Retention(), durability="off", sparse=True)
    try:
        async with ControlPlane(
            store,
            clock=clock,
            data=places.data / "keys",
            serving=Serving(
                subresources=[Extension(GROUP, each, NAME, {"get": endpoint.get}) for each in LOGGED],
                pages=[ExecutionPage(shutdown)],
                dashboard=DashboardSettings(app=session.app, read_only=True, is_archive=True),
                read_only=f"{session.app} was imported from {session.imported} and is read-only",
            ),
            system=False,
            workloads=False,
            config=Config(telemetry=TelemetrySettings(retention_seconds=_ALWAYS_SECONDS)),
            telemetry=places.telemetry,
        ) as plane:
            url = await plane.listen("127.0.0.1")
            dashboard = await plane.listen_page()
            plane.write_kubeconfig(places.kubeconfig)
            session = msgspec.structs.replace(session, url=url, dashboard=dashboard, process=process_identity())
            sessions.add(session)
            report(READY)
            await process.until(stop, shutdown.ended())
            await shutdown.close()
    finally:
        await store.close()
        sessions.remove(session)
        shutil.rmtree(places.data, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
