"""`start-apiserver --server-only`: DCP's API without controllers, which run in another process: those of
`run-controllers`, or those of DCP.

Clients request the end at `/admin/execution` as usual: the server deletes all objects, and the controllers clean up.
Logs are read from the files of the controllers.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.cli.dcp import variables
from setpoint.cli.dcp.served_kinds import STRATEGIES, is_shown_to_controllers
from setpoint.objects.clock import SystemClock
from setpoint.plane import Serving
from setpoint.workload.admin.execution import ExecutionPage
from setpoint.workload.admin.shutdown_admission import ClosingPlugin
from setpoint.workload.kinds.definitions import install
from setpoint.workload.shutdown import Shutdown
from setpoint.workload.subresources.external_log import ExternalLogSubresource

if TYPE_CHECKING:
    from setpoint.plane import ControlPlane
    from setpoint.server.request.admission_plugin import Plugin


class ServerOnly:
    """The parts of a server without controllers. A signal ends the server without waiting for controllers."""

    runs_workloads = False

    def __init__(self, session: variables.SessionFolder) -> None:
        self._session = session
        self._shutdown = Shutdown()

    @property
    def serving(self) -> Serving:
        foreign = [self._session.folder, Path(tempfile.gettempdir())]
        if output := os.environ.get(variables.OUTPUT):
            foreign.append(Path(output))
        folder = None if self._session.own else self._session.folder / "logs"
        return Serving(
            subresources=ExternalLogSubresource(folder, SystemClock(), foreign).extensions,
            pages=(ExecutionPage(self._shutdown),),
            strategies=STRATEGIES,
            shows=is_shown_to_controllers,
        )

    @property
    def admission(self) -> "Sequence[Plugin]":
        return (ClosingPlugin(self._shutdown),)

    async def begin(self, plane: "ControlPlane") -> None:
        """Installs the kinds, and accepts requests for the end."""
        client = plane.client()
        await install(client)
        self._shutdown.begin(client, os.environ)

    def end(self) -> None:
        self._shutdown.request("Stopping", None)

    async def ended(self) -> None:
        await self._shutdown.ended()

    async def close(self) -> None:
        """Cancels a cleanup that is not complete."""
        await self._shutdown.close()
