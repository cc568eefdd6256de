"""Asks a control plane about itself."""

from collections.abc import Mapping
from typing import Any

import msgspec
from tests.workload.app import App

from setpoint.client.client import Client
from setpoint.client.transport import Call
from setpoint.objects.tree import Object

EXECUTION = "/admin/execution"
MERGE_PATCH = "application/merge-patch+json"


async def asked(
    client: Client,
    method: str,
    path: str,
    body: bytes = b"",
    content_type: str = "",
    query: Mapping[str, str] | None = None,
) -> Any:
    """The status code and the body of an answer, whatever it is."""
    headers = {"content-type": content_type} if content_type else {}
    answer = await client.transport.send(Call(method, path, list((query or {}).items()), headers, body))
    return answer.status, msgspec.json.decode(answer.body) if answer.body else None


async def execution(world: App) -> Object:
    status, found = await asked(world.client, "GET", EXECUTION)
    assert status == 200
    document: Object = found
    return document


async def patched(world: App, status: str, **more: str) -> Any:
    """What asking for another status is answered with."""
    body = msgspec.json.encode({"status": status, **more})
    return await asked(world.client, "PATCH", EXECUTION, body, MERGE_PATCH)
