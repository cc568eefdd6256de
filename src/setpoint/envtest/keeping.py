"""Where the objects are kept, by what answers at `--etcd-servers`.

The etcd that we stand in for says which directory is its own. The objects are in the memory of the API server; when it
stops it leaves them there, and the next one over the same etcd goes on with them, as it would with the real pair. An
etcd that does not know of such a directory is a real one, and is the store.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from setpoint.server.http import files
from setpoint.store.memory import MemoryStore

_PATIENCE_SECONDS = 2.0
_FILE = "setpoint.snapshot"


class Keeping(NamedTuple):
    """A directory of our own etcd, or the address of a real one; neither: what is there dies with the process."""

    directory: Path | None = None
    etcd: str = ""


async def find(servers: list[str]) -> Keeping:
    """Asks the first of the servers that answers. Where none does, the objects are kept nowhere."""
    for server in servers:
        if server.startswith("https:"):
            return Keeping(etcd=server)  # ours has no certificates
        try:
            found = await asyncio.wait_for(_version(server), _PATIENCE_SECONDS)
        except (OSError, TimeoutError, ValueError):
            continue
        if "setpoint" not in found:
            return Keeping(etcd=server)
        return Keeping(Path(found["setpoint"])) if found["setpoint"] else Keeping()
    return Keeping()


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


async def restore(store: MemoryStore, directory: Path) -> None:
    """Goes on with what the last API server left there, if one did."""
    path = directory / _FILE
    if path.exists():
        await store.restore(path.read_bytes())


async def keep(store: MemoryStore, directory: Path) -> None:
    """Leaves the objects for the next API server. A directory that is gone means that there will be none."""
    if directory.is_dir():
        await store.compact(await store.revision())
        files.write(directory / _FILE, (await store.snapshot()).dump())
