"""The CustomResourceDefinitions of the workload kinds, and their installation in a server.

They are generated from the classes by `tools/workload_definitions.py` and shipped as a file, because a control plane
needs them at every start, and reading the docstrings of some sixty classes takes longer than the rest of the start.
"""

import importlib.resources
import zlib
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from setpoint.objects.conditions import is_true
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.client.client import Client

FILE = "definitions.json.z"


def definitions() -> list[Object]:
    """Returns the definitions of all workload kinds, as a new copy."""
    found: list[Object] = msgspec.json.decode(_text())
    return found


async def install(client: "Client", *, wait: bool = True) -> None:
    """Installs the workload kinds in a server, except those with an identical and established definition."""
    wanted = [tree for tree in definitions() if not await _is_served(client, tree)]
    if wanted:
        await client.install(*wanted, wait=wait)


async def _is_served(client: "Client", wanted: Object) -> bool:
    # Read one by one: a list of definitions makes the server load its validation of new ones.
    try:
        found = await client.get("apiextensions.k8s.io/v1/CustomResourceDefinition", wanted["metadata"]["name"])
    except NotFound:
        return False
    if found["spec"] != wanted["spec"] or "deletionTimestamp" in found["metadata"]:
        return False
    return is_true(found.get("status", {}).get("conditions") or [], "Established")


@cache
def _text() -> bytes:
    return zlib.decompress(importlib.resources.files(__package__).joinpath(FILE).read_bytes())
