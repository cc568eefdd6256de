"""The CustomResourceDefinitions of the workload kinds, and a server that has them.

They are made from the classes by `tools/workload_definitions.py` and shipped as a file, because a plane needs them at
every start and reading the docstrings of some sixty classes takes longer than all the rest of it.
"""

import importlib.resources
import zlib
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.client.client import Client

FILE = "definitions.json.z"


def definitions() -> list[Object]:
    """The definitions of all workload kinds. They are the caller's."""
    found: list[Object] = msgspec.json.decode(_text())
    return found


async def install(client: "Client", *, wait: bool = True) -> None:
    """Has the server serve the workload kinds; where it has them as they are here, nothing is sent."""
    await client.install(*definitions(), wait=wait)


@cache
def _text() -> bytes:
    return zlib.decompress(importlib.resources.files(__package__).joinpath(FILE).read_bytes())
