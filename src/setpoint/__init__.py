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
    from setpoint.controller.context import Context
    from setpoint.controller.controller import Controller
    from setpoint.controller.declare import controller
    from setpoint.controller.handler import mapped
    from setpoint.controller.leader import LeaderElection
    from setpoint.controller.manager import Manager, run
    from setpoint.controller.request import Request, Requeue, Result, TerminalError
    from setpoint.controller.timers import Channel, Every, Stream
    from setpoint.controller.watch import Owned, Watch
    from setpoint.controller.webhook import (
        Denied,
        WebhookServer,
        convert,
        default,
        hub_and_spokes,
        in_process,
        validate,
    )
    from setpoint.plane import ControlPlane
    from setpoint.schema.types import Column, Model, ObjectMeta, Resource, Scale, crd_of, rule

__version__ = "0.1.0"

__all__ = [
    "Channel",
    "Client",
    "Column",
    "Context",
    "ControlPlane",
    "Controller",
    "Denied",
    "Every",
    "LeaderElection",
    "Manager",
    "Model",
    "ObjectMeta",
    "Owned",
    "Request",
    "Requeue",
    "Resource",
    "Result",
    "Scale",
    "Stream",
    "SyncClient",
    "TerminalError",
    "Watch",
    "WebhookServer",
    "__version__",
    "controller",
    "convert",
    "crd_of",
    "default",
    "hub_and_spokes",
    "in_process",
    "mapped",
    "rule",
    "run",
    "validate",
]

# Where a name is found, if not among the types.
_HOMES = {
    "Channel": "setpoint.controller.timers",
    "Client": "setpoint.client.client",
    "Context": "setpoint.controller.context",
    "ControlPlane": "setpoint.plane",
    "Controller": "setpoint.controller.controller",
    "Denied": "setpoint.controller.webhook",
    "Every": "setpoint.controller.timers",
    "LeaderElection": "setpoint.controller.leader",
    "Manager": "setpoint.controller.manager",
    "Owned": "setpoint.controller.watch",
    "Request": "setpoint.controller.request",
    "Requeue": "setpoint.controller.request",
    "Result": "setpoint.controller.request",
    "Stream": "setpoint.controller.timers",
    "SyncClient": "setpoint.client.sync",
    "TerminalError": "setpoint.controller.request",
    "Watch": "setpoint.controller.watch",
    "WebhookServer": "setpoint.controller.webhook",
    "convert": "setpoint.controller.webhook",
    "default": "setpoint.controller.webhook",
    "hub_and_spokes": "setpoint.controller.webhook",
    "in_process": "setpoint.controller.webhook",
    "mapped": "setpoint.controller.handler",
    "run": "setpoint.controller.manager",
    "validate": "setpoint.controller.webhook",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "controller":
        return import_module("setpoint.controller")  # which can be called: it is the decorator, too
    home = import_module(_HOMES.get(name, "setpoint.schema.types"))
    found = globals()[name] = getattr(home, name)
    return found
