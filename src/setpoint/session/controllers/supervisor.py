"""Runs the controllers of a control plane's App objects while the plane runs."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import generation
from setpoint.controller.request import Request
from setpoint.objects.frozen import thaw
from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.session.controllers.entry import entries_of
from setpoint.session.controllers.page import ControllersPage
from setpoint.workload.kinds.app import App
from setpoint.workload.process.process_table import COOKIE

if TYPE_CHECKING:
    from setpoint.plane import ControlPlane

# The user that reads the App and writes its Events.
USER = "system:setpoint:session"


@asynccontextmanager
async def hosting(
    plane: "ControlPlane", page: ControllersPage, *, directory: Path, data: Path, ids: Ids | None = None
) -> AsyncIterator[None]:
    """Runs the controllers of the app in a directory, and reports them on the page, until the block ends. The plane
    must be listening, because the controllers are separate processes.
    """
    await asyncio.to_thread(shutil.rmtree, data / "controllers", ignore_errors=True)  # of the previous session
    async with plane.client(user=USER, groups=[MASTERS]) as client, Cache(client) as cache:
        following = _Following(plane, page, client, directory, data, ids)
        page.plane = plane
        controller = Controller(
            "app-controllers", following.reconcile, kind=KindRef(App.gvk()), ids=ids, predicates=(generation,)
        )
        await controller.start(cache)
        controller.work()
        try:
            yield
        finally:
            await controller.stop(0)
            await following.close()


class _Following:
    def __init__(
        self, plane: "ControlPlane", page: ControllersPage, client: Client, directory: Path, data: Path, ids: Ids | None
    ) -> None:
        self._plane, self._page, self._client = plane, page, client
        self._directory, self._data, self._ids = directory, data, ids

    async def reconcile(self, ctx: Context, request: Request) -> None:
        found: Object | None = await ctx.object()
        entries = entries_of(found) if found is not None else ()
        hosted = self._page.hosted
        if hosted is None:
            if not entries:
                return
            from setpoint.session.controllers.hosted_controllers import HostedControllers  # most apps have none

            hosted = self._page.hosted = HostedControllers(
                self._client,
                self._kubeconfig,
                directory=self._directory,
                data=self._data,
                ids=self._ids,
                environ=self._environ(),
            )
            self._plane.attach_controllers(hosted)
        await hosted.set(entries, thaw(found) if found is not None else None)

    def _kubeconfig(self, user: str) -> str:
        return self._plane.kubeconfig(user, [MASTERS])

    def _environ(self) -> Mapping[str, str]:
        """Returns the environment of the worker processes, with a cookie that identifies them as ours for the
        cleanup.
        """
        if not self._plane.runs_workloads:
            return os.environ
        own = self._plane.workloads.machine.processes.cookie("controllers")
        return {**os.environ, COOKIE: " ".join([*os.environ.get(COOKIE, "").split(), own])}

    async def close(self) -> None:
        hosted, self._page.hosted = self._page.hosted, None
        if hosted is not None:
            self._plane.detach_controllers(hosted)
            await asyncio.shield(hosted.close())
