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
    "Crash",
    "Fault",
    "Faults",
    "LocalServer",
    "MissingRight",
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
    "world",
]

_HOMES = {
    "Crash": "crashes",
    "Fault": "faults",
    "Faults": "faults",
    "LocalServer": "local_server",
    "MissingRight": "problems",
    "Problem": "problems",
    "Ran": "single_reconcile",
    "ReconcileFailed": "problems",
    "ReconcileLoop": "problems",
    "Recorder": "recorder",
    "Seen": "faults",
    "Told": "recorder",
    "UndeclaredWrite": "problems",
    "World": "worlds",
    "comparable": "comparison",
    "every_crash": "crashes",
    "world": "worlds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"setpoint.testing.{_HOMES[name]}"), name)
    return found
