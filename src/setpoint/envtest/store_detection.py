"""Determines the store of `--etcd-servers` from the response of these servers.

The etcd replacement of this package reports its directory: the API server keeps the objects in memory and writes them
to that directory when stopped, and the next API server with the same etcd loads them, as with the originals. An etcd
that reports no directory is a real one, and becomes the store.
"""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 2.0
_FILE = "setpoint.snapshot"


async def store_of(servers: list[str]) -> str:
    """Returns the store argument of a control plane, by the first server that responds; `memory` if none does."""
    for server in servers:
        if server.startswith("https:"):
            return f"etcd:{server}"  # the replacement does not support TLS
        try:
            found = await asyncio.wait_for(_version(server), _PATIENCE_SECONDS)
        except (OSError, TimeoutError, ValueError):
            continue
        if "setpoint" not in found:
            return f"etcd:{server}"
        return f"memory:{found['setpoint']}/{_FILE}"
    return "memory"


async def _version(server: str) -> dict[str, Any]:
    address = urlsplit(server)
    reader, writer = await asyncio.open_connection(address.hostname, address.port or 2379)
    try:
        writer.write(f"GET /version HTTP/1.0\r\nHost: {address.netloc}\r\n\r\n".encode())
        _, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("the response of etcd is not a JSON object")
    return found
