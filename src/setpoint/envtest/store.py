"""Which store `--etcd-servers` means, by what answers there.

Our own stand-in names its directory: the objects are in the memory of the API server, which leaves them there when it
stops, and the next one over the same etcd goes on with them, as it would with the real pair. An etcd that names none is
a real one, and is the store.
"""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 2.0
_FILE = "setpoint.snapshot"


async def store_of(servers: list[str]) -> str:
    """The store, as a control plane is told it: by the first of the servers that answers. Where none does, the objects
    are kept nowhere."""
    for server in servers:
        if server.startswith("https:"):
            return f"etcd:{server}"  # our own has no certificates
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
        raise ValueError("an etcd answers with an object")
    return found
