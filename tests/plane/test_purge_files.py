"""A purge through the API of a server on SQLite: no byte is left on the disk, and the tombstone survives a restart."""

import base64
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from setpoint.client.client import Client
from setpoint.objects.errors import Expired, NotFound
from setpoint.plane import ControlPlane

OURS = "/apis/setpoint.dev/v1/namespaces/default/secrets/s"


def secret(value: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"},
        "data": {"password": base64.b64encode(value.encode()).decode()},
    }


def found_in(folder: Path, value: str) -> list[str]:
    encoded = base64.b64encode(value.encode())
    pieces = [encoded[start : start + 24] for start in (0, len(encoded) // 2, len(encoded) - 24)]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path.name for path in files if any(piece in path.read_bytes() for piece in pieces)]


async def history(client: Client) -> Any:
    return msgspec.json.decode((await client.raw("GET", f"{OURS}/history")).body)


async def test_no_byte_of_a_purged_secret_is_on_the_disk(tmp_path: Path) -> None:
    value = Random(1).randbytes(3000).hex()
    store = f"sqlite:{tmp_path}/state/plane.db"

    async def purge() -> None:
        async with ControlPlane(store) as plane:
            client = plane.client()
            made = await client.create(secret(value))
            await client.delete("v1/Secret", "s", "default")
            assert found_in(tmp_path, value)
            headers = {"content-type": "application/json"}
            await client.raw("POST", f"{OURS}/purge", headers=headers, body=b'{"reason": "leaked"}')
            assert found_in(tmp_path, value) == []
            told = await history(client)
            assert [item["type"] for item in told["items"]] == ["DELETED", "PURGED"]
            with pytest.raises(Expired, match="was purged by"):
                await client.get("v1/Secret", "s", "default", at=int(made["metadata"]["resourceVersion"]))
        assert found_in(tmp_path, value) == []

    async def look() -> None:
        async with ControlPlane(store) as plane:
            client = plane.client()
            told = await history(client)
            assert [item["type"] for item in told["items"]] == ["DELETED", "PURGED"]
            [record] = told["purges"]
            assert (record["reason"], record["phase"], record["removed"]) == ("leaked", "Completed", 1)
            with pytest.raises(NotFound):
                await client.get("v1/Secret", "s", "default")

    await purge()
    await look()
