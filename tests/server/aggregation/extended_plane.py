"""A control plane that listens, and an extension API server behind an APIService."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.server.aggregation.extension import (
    API_SERVICES,
    ExtensionServer,
    api_service,
    ask,
    front_proxy_authority,
    has_reason,
    until,
)

from setpoint.plane import ControlPlane
from setpoint.server.access.audit.auditor import Auditor


@asynccontextmanager
async def extended(
    *, aggregated: bool = False, system: bool = False, auditor: Auditor | None = None, **spec: Any
) -> AsyncIterator[tuple[ControlPlane, ExtensionServer]]:
    """Yields a control plane with an available extension server."""
    async with ControlPlane(system=system, auditor=auditor) as plane:
        await plane.listen()
        async with ExtensionServer(await front_proxy_authority(plane), aggregated=aggregated) as extension:
            plane.webhook_services.put("extensions", "notes", "127.0.0.1", extension.port)
            assert (await ask(plane, "POST", API_SERVICES, api_service(**spec)))[0] == 201
            await until(has_reason("Passed"), plane)
            yield plane, extension
