"""A server with several users who may do everything and none of whom is an administrator, and a rule of admission that
keeps their writes waiting for as long as a test likes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import SeededIds
from setpoint.server.access.authentication.credentials import Trusting
from setpoint.server.access.authentication.users import ADMIN
from setpoint.server.access.authorization.modes import AlwaysAllow
from setpoint.server.access.flowcontrol.flow_control_settings import FlowControlSettings
from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.server.ports import Operation, User
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import RequestInfo
from setpoint.server.server_options import AccessControl, ServerSettings, Serving
from setpoint.store.memory import MemoryStore

MAPS = "/api/v1/namespaces/default/configmaps"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"


class Named(Trusting):
    """Believes whoever says a name: `authorization: admin` is the administrator, others are just users."""

    async def authenticate(self, request: Request, info: RequestInfo) -> User | None:
        name = request.headers.get("authorization", "").removeprefix("Bearer ")
        if name == "admin":
            return ADMIN
        if not name:
            return User("system:anonymous", ("system:unauthenticated",))
        if name.startswith("system:serviceaccount:"):
            return User(name, ("system:serviceaccounts", "system:authenticated"))
        return User(name, ("system:authenticated",))


class Slow(Plugin):
    """Keeps writes of objects whose names begin with `slow` waiting, as a webhook that does not answer would."""

    name = "Slow"

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.held = 0

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.name.startswith("slow"):
            self.held += 1
            await self.open.wait()


class Crowd:
    """The server, and requests of its users."""

    def __init__(self, server: Server, slow: Slow) -> None:
        self.server = server
        self.slow = slow

    async def ask(self, user: str, path: str, method: str = "GET", body: Any = None) -> Response:
        path, _, query = path.partition("?")
        sent = json.dumps(body).encode() if body is not None else b""
        return await self.server(Request(method, path, query, {"authorization": f"Bearer {user}"}, sent))

    async def make(self, user: str, name: str) -> Response:
        return await self.ask(user, MAPS, "POST", {"metadata": {"name": name}})

    async def measure(self, name: str) -> dict[str, float]:
        """The samples of a family of metrics."""
        page = await self.ask("admin", "/metrics")
        assert isinstance(page.body, bytes)
        lines = (line.rpartition(" ") for line in page.body.decode().splitlines() if line.startswith(f"{name}{{"))
        return {labels.removeprefix(name): float(value) for labels, _, value in lines}


@asynccontextmanager
async def crowd(clock: Clock | None = None, **settings: Any) -> AsyncIterator[Crowd]:
    metrics, slow = Metrics(), Slow()
    server = Server(
        MemoryStore(),
        clock=clock or SystemClock(),
        ids=SeededIds(1),
        access=AccessControl(Named(), authorizer=AlwaysAllow()),
        admission=[slow],
        serving=Serving(pages=standard(metrics)),
        observer=metrics,
        settings=ServerSettings(overload=FlowControlSettings(**settings)),
    )
    await server.start()
    try:
        yield Crowd(server, slow)
    finally:
        slow.open.set()


async def soon() -> None:
    """Gives everybody who can go on the time to."""
    for _ in range(50):
        await asyncio.sleep(0)
