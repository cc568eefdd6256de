"""Imports the modules that only some requests need.

A server starts fast because the strategies of most kinds, the schema compiler and the expression language are imported
by the first request that needs them. Such an import blocks the event loop for tens of milliseconds. A server with many
users therefore imports all of them in a thread once the server is serving.
"""

import logging
import pkgutil
from importlib import import_module

from setpoint.server.offload import Offload

_PACKAGE = "setpoint.server"
# The user that the thread is assigned to, so that no request waits for a thread because of the import.
_USER = "system:preload"

_log = logging.getLogger(__name__)


async def preload(offload: Offload) -> None:
    """Imports every module of the server, and returns when all are loaded. If a module cannot be read now, for example
    because clients use all file descriptors, the first request that needs the module imports it.
    """
    try:
        await offload.run(_USER, _import_all)
    except (OSError, ImportError) as error:
        _log.warning("not all modules are loaded yet, and the first requests may take longer: %s", error)


def _import_all() -> None:
    for module in pkgutil.walk_packages(import_module(_PACKAGE).__path__, f"{_PACKAGE}."):
        import_module(module.name)
