"""A server whose requests are recorded, and what tests ask of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.server.access.audit.auditor import Auditor, EventSink
from setpoint.server.access.audit.memory_log import Collected
from setpoint.server.access.audit.policy import AuditPolicy, Level, everything
from setpoint.server.access.authentication.credentials import Credentials
from setpoint.server.access.authentication.users import ADMIN
from setpoint.server.app import Server
from setpoint.server.message import Peer, Request, Response
from setpoint.server.ports import User
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.server_options import AccessControl, Serving
from setpoint.store.memory import MemoryStore

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
START = datetime(2026, 1, 1, tzinfo=UTC)
JANE = User("jane", ("dev", "system:authenticated"), "u-1", {"scopes": ("a",)})


class Audited:
    """The server and its events."""

    def __init__(self, server: Server, clock: ManualClock, auditor: Auditor) -> None:
        self.server = server
        self.clock = clock
        self.auditor = auditor
        self.collected = Collected()

    async def ask(
        self,
        path: str,
        method: str = "GET",
        body: Any = None,
        *,
        token: str = "admins-token",
        peer: str = "10.0.0.9:4000",
        **headers: str,
    ) -> Response:
        path, _, query = path.partition("?")
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            named["authorization"] = f"Bearer {token}"
        return await self.server(Request(method, path, query, named, sent, Peer(peer)))

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.collected.events

    @property
    def text(self) -> str:
        """Everything that was recorded."""
        return json.dumps(self.events)

    def last(self) -> dict[str, Any]:
        return self.events[-1]

    async def metrics(self, name: str) -> dict[str, float]:
        page = await self.ask("/metrics")
        assert isinstance(page.body, bytes)
        lines = (line.rpartition(" ") for line in page.body.decode().splitlines() if line.startswith(name))
        return {labels.removeprefix(name): float(value) for labels, _, value in lines}


@asynccontextmanager
async def audited(
    policy: AuditPolicy | Level = "RequestResponse",
    *plugins: Plugin,
    sink: EventSink | None = None,
    strict: bool = False,
) -> AsyncIterator[Audited]:
    clock, metrics, collected = ManualClock(START), Metrics(), Collected()
    chosen = policy if isinstance(policy, AuditPolicy) else everything(policy)
    auditor = Auditor(chosen, sink or collected, strict=strict)
    server = Server(
        MemoryStore(),
        clock=clock,
        ids=SeededIds(1),
        access=AccessControl(Credentials({"admins-token": ADMIN, "janes-token": JANE}), auditor=auditor),
        admission=plugins,
        serving=Serving(pages=standard(metrics)),
        observer=metrics,
    )
    await server.start()
    made = Audited(server, clock, auditor)
    made.collected = collected
    yield made
