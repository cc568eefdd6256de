"""Tools to test controllers: isolated worlds with their own server, virtual time, faults, and single reconciles.

    from setpoint import testing

    async with testing.world(crds=[Widget], objects=[widget]) as world:
        ran = await world.run_once(widgets, widget)
        assert ran.conditions["Ready"]["status"] == "True"

Only the time is simulated: the server validates, defaults and keeps history like any other. In pytest, the fixture
`world` provides a world to `async def` tests, and `setpoint_server` a server to any test. Importing this package
imports no submodule.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.node.ports import PortReply, PortRequest
    from setpoint.system.node_scripts import Behaviour, ContainerRun, ExecCall, ExecResult, LogLine, PortCall
    from setpoint.system.node_setting import simulated
    from setpoint.testing.comparison import comparable
    from setpoint.testing.crashes import Crash, every_crash
    from setpoint.testing.faults import Fault, Faults
    from setpoint.testing.local_server import LocalServer
    from setpoint.testing.problems import MissingRight, Problem, ReconcileFailed, ReconcileLoop, UndeclaredWrite
    from setpoint.testing.recorder import Recorder, Told
    from setpoint.testing.seen_request import Seen
    from setpoint.testing.single_reconcile import Ran
    from setpoint.testing.worlds import World, world

__all__ = [
    "Behaviour",
    "ContainerRun",
    "Crash",
    "ExecCall",
    "ExecResult",
    "Fault",
    "Faults",
    "LocalServer",
    "LogLine",
    "MissingRight",
    "PortCall",
    "PortReply",
    "PortRequest",
    "Problem",
    "Ran",
    "ReconcileFailed",
    "ReconcileLoop",
    "Recorder",
    "Seen",
    "Told",
    "UndeclaredWrite",
    "World",
    "comparable",
    "every_crash",
    "simulated",
    "world",
]

_HOMES = {
    "Behaviour": "system.node_scripts",
    "ContainerRun": "system.node_scripts",
    "Crash": "testing.crashes",
    "ExecCall": "system.node_scripts",
    "ExecResult": "system.node_scripts",
    "Fault": "testing.faults",
    "Faults": "testing.faults",
    "LocalServer": "testing.local_server",
    "LogLine": "system.node_scripts",
    "MissingRight": "testing.problems",
    "PortCall": "system.node_scripts",
    "PortReply": "node.ports",
    "PortRequest": "node.ports",
    "Problem": "testing.problems",
    "Ran": "testing.single_reconcile",
    "ReconcileFailed": "testing.problems",
    "ReconcileLoop": "testing.problems",
    "Recorder": "testing.recorder",
    "Seen": "testing.faults",
    "Told": "testing.recorder",
    "UndeclaredWrite": "testing.problems",
    "World": "testing.worlds",
    "comparable": "testing.comparison",
    "every_crash": "testing.crashes",
    "simulated": "system.node_setting",
    "world": "testing.worlds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"setpoint.{_HOMES[name]}"), name)
    return found
