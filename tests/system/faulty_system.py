"""System controllers that reach their server through the injected faults of a test world."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from copy import copy

from setpoint import testing
from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.system.node_setting import NO_NODES, NodeSetting
from setpoint.system.system import System
from setpoint.system.system_environment import ServerInterface


class FaultyInterface(ServerInterface):
    """A server for controllers with the administrator's rights; `world.faults` meets all their requests."""

    def __init__(self, world: testing.World) -> None:
        super().__init__(world.plane._started)
        self._app = world.app

    def client_of(self, user: str, groups: Sequence[str] = ()) -> Client:
        return copy(self._app)


@asynccontextmanager
async def faulty_system(
    world: testing.World, names: Collection[str], nodes: NodeSetting = NO_NODES
) -> AsyncIterator[System]:
    """Runs system controllers, as a process of their own. A crash may end the process while it starts."""
    system = System(FaultyInterface(world), names, nodes)
    try:
        await world.drive(system.start())
    except TransportError:
        if not world.faults.crashed:
            raise
    try:
        yield system
    finally:
        await world.drive(system.stop())
