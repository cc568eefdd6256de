"""Setpoint: a Kubernetes-compatible control plane that installs with pip.

    import setpoint as sp

    class Widget(sp.Resource, group="example.com", version="v1"): ...

    async with sp.ControlPlane() as plane: ...

Importing this package imports nothing else; each name is looked up when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.client.sync import SyncClient
    from setpoint.plane import ControlPlane
    from setpoint.schema.types import Column, Model, Resource, Scale, crd_of, rule

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Column",
    "ControlPlane",
    "Model",
    "Resource",
    "Scale",
    "SyncClient",
    "__version__",
    "crd_of",
    "rule",
]

# Where a name is found, if not among the types.
_HOMES = {
    "Client": "setpoint.client.client",
    "ControlPlane": "setpoint.plane",
    "SyncClient": "setpoint.client.sync",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOMES.get(name, "setpoint.schema.types"))
    found = globals()[name] = getattr(home, name)
    return found
