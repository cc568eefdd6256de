"""Setpoint: a Kubernetes-compatible control plane that installs with pip.

    import setpoint as sp

    class Widget(sp.Resource, group="example.com", version="v1"): ...

    async with sp.ControlPlane() as plane: ...

Importing this package is cheap: each name is imported on first use.
"""

# Type checkers take the name as true; the module `typing` takes longer to import than the rest of a short command.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from setpoint.app.builder import App
    from setpoint.client.client import Client
    from setpoint.client.manifests import dump_yaml, load_yaml, parse_yaml
    from setpoint.client.sync import SyncClient
    from setpoint.controller.context import Context
    from setpoint.controller.controller import Controller
    from setpoint.controller.daemon import DaemonContext, SyncDaemonContext, daemon, timer
    from setpoint.controller.declare import controller
    from setpoint.controller.handler import mapped
    from setpoint.controller.leader import LeaderElection
    from setpoint.controller.manager import Manager
    from setpoint.controller.program import run
    from setpoint.controller.related_sources import Everyone, UsedBy
    from setpoint.controller.request import Request, Requeue, Result, TerminalError
    from setpoint.controller.sync_context import SyncContext
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
    from setpoint.flow.apply_set import ApplySet
    from setpoint.flow.chain import Chain, EachKind, Gone, HandlerContext, Skip, SyncHandlerContext
    from setpoint.flow.claims import ClaimedRef, ClaimRef, Claims
    from setpoint.flow.fsm import FSM, Done, Fail, Next, Note, Outputs, Wait, is_ready
    from setpoint.flow.generate import child, generates, status_of
    from setpoint.flow.policy import Adopt, How, Prune
    from setpoint.flow.summary.summary import summarize
    from setpoint.plane import ControlPlane
    from setpoint.schema.types import Column, Model, ObjectMeta, Resource, Scale, crd_of, rule

    __version__: str

__all__ = [
    "FSM",
    "Adopt",
    "App",
    "ApplySet",
    "Chain",
    "Channel",
    "ClaimRef",
    "ClaimedRef",
    "Claims",
    "Client",
    "Column",
    "Context",
    "ControlPlane",
    "Controller",
    "DaemonContext",
    "Denied",
    "Done",
    "EachKind",
    "Every",
    "Everyone",
    "Fail",
    "Gone",
    "HandlerContext",
    "How",
    "LeaderElection",
    "Manager",
    "Model",
    "Next",
    "Note",
    "ObjectMeta",
    "Outputs",
    "Owned",
    "Prune",
    "Request",
    "Requeue",
    "Resource",
    "Result",
    "Scale",
    "Skip",
    "Stream",
    "SyncClient",
    "SyncContext",
    "SyncDaemonContext",
    "SyncHandlerContext",
    "TerminalError",
    "UsedBy",
    "Wait",
    "Watch",
    "WebhookServer",
    "__version__",
    "child",
    "controller",
    "convert",
    "crd_of",
    "daemon",
    "default",
    "dump_yaml",
    "generates",
    "hub_and_spokes",
    "in_process",
    "is_ready",
    "load_yaml",
    "mapped",
    "parse_yaml",
    "rule",
    "run",
    "status_of",
    "summarize",
    "timer",
    "validate",
]

# The modules of the names that are not in `setpoint.schema.types`.
_HOMES = {
    "FSM": "setpoint.flow.fsm",
    "Adopt": "setpoint.flow.policy",
    "App": "setpoint.app.builder",
    "ApplySet": "setpoint.flow.apply_set",
    "Chain": "setpoint.flow.chain",
    "Channel": "setpoint.controller.timers",
    "ClaimRef": "setpoint.flow.claims",
    "ClaimedRef": "setpoint.flow.claims",
    "Claims": "setpoint.flow.claims",
    "Client": "setpoint.client.client",
    "Context": "setpoint.controller.context",
    "ControlPlane": "setpoint.plane",
    "Controller": "setpoint.controller.controller",
    "DaemonContext": "setpoint.controller.daemon",
    "Denied": "setpoint.controller.webhook",
    "Done": "setpoint.flow.fsm",
    "EachKind": "setpoint.flow.chain",
    "Every": "setpoint.controller.timers",
    "Everyone": "setpoint.controller.related_sources",
    "Fail": "setpoint.flow.fsm",
    "Gone": "setpoint.flow.chain",
    "HandlerContext": "setpoint.flow.chain",
    "How": "setpoint.flow.policy",
    "LeaderElection": "setpoint.controller.leader",
    "Manager": "setpoint.controller.manager",
    "Next": "setpoint.flow.fsm",
    "Note": "setpoint.flow.fsm",
    "Outputs": "setpoint.flow.fsm",
    "Owned": "setpoint.controller.watch",
    "Prune": "setpoint.flow.policy",
    "Request": "setpoint.controller.request",
    "Requeue": "setpoint.controller.request",
    "Result": "setpoint.controller.request",
    "Skip": "setpoint.flow.chain",
    "Stream": "setpoint.controller.timers",
    "SyncClient": "setpoint.client.sync",
    "SyncContext": "setpoint.controller.sync_context",
    "SyncDaemonContext": "setpoint.controller.daemon",
    "SyncHandlerContext": "setpoint.flow.chain",
    "TerminalError": "setpoint.controller.request",
    "UsedBy": "setpoint.controller.related_sources",
    "Wait": "setpoint.flow.fsm",
    "Watch": "setpoint.controller.watch",
    "WebhookServer": "setpoint.controller.webhook",
    "child": "setpoint.flow.generate",
    "convert": "setpoint.controller.webhook",
    "daemon": "setpoint.controller.daemon",
    "default": "setpoint.controller.webhook",
    "dump_yaml": "setpoint.client.manifests",
    "generates": "setpoint.flow.generate",
    "hub_and_spokes": "setpoint.controller.webhook",
    "in_process": "setpoint.controller.webhook",
    "is_ready": "setpoint.flow.fsm",
    "load_yaml": "setpoint.client.manifests",
    "mapped": "setpoint.controller.handler",
    "parse_yaml": "setpoint.client.manifests",
    "run": "setpoint.controller.program",
    "status_of": "setpoint.flow.generate",
    "summarize": "setpoint.flow.summary.summary",
    "timer": "setpoint.controller.daemon",
    "validate": "setpoint.controller.webhook",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "controller":
        return import_module("setpoint.controller")  # the module is callable: it is also the decorator
    if name == "__version__":
        found = globals()[name] = import_module("setpoint.version").VERSION
        return found
    home = import_module(_HOMES.get(name, "setpoint.schema.types"))
    found = globals()[name] = getattr(home, name)
    return found
