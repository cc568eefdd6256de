"""Setpoint: a Kubernetes-compatible control plane that installs with pip.

    import setpoint as sp

    class Widget(sp.Resource, group="example.com", version="v1"): ...

    async with sp.ControlPlane() as plane: ...

Importing this package imports nothing else; each name is looked up when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.plane import ControlPlane
    from setpoint.schema.types import Column, Model, Resource, Scale, crd_of, rule

__version__ = "0.1.0"

__all__ = ["Column", "ControlPlane", "Model", "Resource", "Scale", "__version__", "crd_of", "rule"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "setpoint.plane" if name == "ControlPlane" else "setpoint.schema.types"
    found = globals()[name] = getattr(import_module(home), name)
    return found
