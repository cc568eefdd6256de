"""A server with telemetry, for tests of its endpoints."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.server.authorization.cluster import Answer, Cluster
from tests.telemetry.samples import held

from setpoint.server.message import Request, Response
from setpoint.server.telemetry.receiver import KEY_HEADER, TelemetryReceiver
from setpoint.telemetry.recorder import TelemetryRecorder
from setpoint.telemetry.records import Record
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.telemetry.store import TelemetryStore

API = "/apis/setpoint.dev/v1/telemetry"
KEY = "the-key"
PROTOBUF = "application/x-protobuf"


class TelemetryCluster(Cluster):
    """A server that has received telemetry."""

    recorder: TelemetryRecorder
    receiver: TelemetryReceiver

    async def received(self, *records: Record) -> None:
        await self.recorder.add(held(*records))

    async def listed(self, below: str, **query: str) -> list[Any]:
        """The items of a list."""
        answer: Answer = await self("GET", f"{API}/{below}", **query)
        assert answer.status == 200, answer.body
        found: list[Any] = answer.body["items"]
        return found

    async def post(self, signal: str, body: bytes, kind: str = PROTOBUF, *, key: str = KEY, **headers: str) -> Response:
        """Sends a request as an exporter does."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"content-type": kind, KEY_HEADER: key, **names}
        return await self.receiver(Request("POST", f"/otlp/v1/{signal}", headers=sent, body=body))


@asynccontextmanager
async def telemetry_cluster(**settings: Any) -> AsyncIterator[TelemetryCluster]:
    """A server that receives telemetry with these settings, and keeps ten years of it."""
    cluster = TelemetryCluster()
    wanted = TelemetrySettings(**{"retention_seconds": 315e6, **settings})
    cluster.recorder = TelemetryRecorder(TelemetryStore(wanted, cluster.clock), None, cluster.clock)
    services = cluster.server.services
    services.telemetry = cluster.recorder
    cluster.receiver = TelemetryReceiver(cluster.recorder, services.offload, KEY)
    cluster.recorder.start()
    await cluster.server.start()
    try:
        yield cluster
    finally:
        await cluster.recorder.close()
        cluster.server.close()
