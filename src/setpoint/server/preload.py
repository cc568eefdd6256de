"""Imports the modules that only some requests need.

A server starts fast because the strategies of most kinds, the schema compiler and the expression language are imported
by the first request that needs them. Such an import blocks the event loop for tens of milliseconds. A server with many
users therefore imports all of them in a thread once the server is serving.
"""

import pkgutil
from importlib import import_module

from setpoint.server.offload import Offload

_PACKAGE = "setpoint.server"
# The user that the thread is assigned to, so that no request waits for a thread because of the import.
_USER = "system:preload"


async def preload(offload: Offload) -> None:
    """Imports every module of the server, and returns when all are loaded."""
    await offload.run(_USER, _import_all)


def _import_all() -> None:
    for module in pkgutil.walk_packages(import_module(_PACKAGE).__path__, f"{_PACKAGE}."):
        import_module(module.name)
