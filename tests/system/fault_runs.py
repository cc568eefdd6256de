"""One scenario of a controller under all injected faults: the final state is always the same, and invariants hold.

    await check_faults(FaultCase(controllers=[REPLICA_SET], objects=[replica_set()], change=scale, is_done=has_pods))

The controllers under test reach the server through the faults; the others of a scheduler, simulated nodes and the
garbage collector run beside them without faults. The faults are: a crash after each write, performed or not; a cache
that lags behind; conflicts, failures and lost responses of writes.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.system.faulty_system import faulty_system
from tests.system.scenarios.normal_form import normal
from tests.system.scenarios.scenario import KINDS, VOLUME

from setpoint import testing
from setpoint.cache.cache import Cache
from setpoint.objects.errors import Conflict
from setpoint.objects.tree import Object
from setpoint.system.controller_names import (
    CORE_NAMES,
    SCHEDULER,
    SIMULATED_NODES,
    VOLUME_BINDER,
)
from setpoint.system.node_setting import NodeSetting, parse_nodes
from setpoint.system.persistentvolume.storage_state import SELECTED_NODE
from setpoint.testing.faults import Faults

# A scenario with more writes does not end.
_MOST_WRITES = 200
_PATIENCE = 900.0

# All current objects by kind and key, after each change.
Objects = dict[str, dict[str, Object]]


class FaultCase(NamedTuple):
    """A scenario."""

    # The names of the controllers under test.
    controllers: Sequence[str]
    # The objects at the beginning, the first of them the owner of everything else.
    objects: Sequence[Object]
    # Changes the objects when the beginning is done.
    change: Callable[[testing.World], Awaitable[Any]]
    # Returns True in the final state, and in the state before the change.
    is_done: Callable[[testing.World], Awaitable[bool]]
    # Returns the violation of an invariant; empty if there is none. Called after every change of an object.
    violation: Callable[[Objects], str] = lambda objects: ""
    # Names of further controllers, which run without faults.
    beside: Sequence[str] = ()
    # The nodes; scripts of theirs decide when containers end.
    nodes: str | NodeSetting = "simulated:2"
    # The number of objects at the beginning that are deleted in the end; the others must be gone with them.
    owners: int = 1


Inject = Callable[[Faults], None]


def _disturbances() -> dict[str, Inject]:
    """The faults that last for the whole scenario."""
    return {
        "conflicts": lambda faults: _fail(faults, "update", Conflict),
        "conflicts of patches": lambda faults: _fail(faults, "patch", Conflict),
        "failed creations": lambda faults: _fail(faults, "create", 500),
        "failed updates": lambda faults: _fail(faults, "update", 500),
        "failed deletions": lambda faults: _fail(faults, "delete", 500),
        "lost responses": lambda faults: _lose(faults),
    }


def _fail(faults: Faults, verb: str, error: Any) -> None:
    faults.fail(verb, error=error, times=6, chance=0.5)


def _lose(faults: Faults) -> None:
    for verb in ("create", "update", "delete", "patch"):
        faults.lose(verb, times=4, chance=0.5)


async def check_faults(case: FaultCase) -> int:
    """Runs the scenario without faults, and then with each fault. Raises AssertionError. Returns the number of runs
    with a fault."""
    expected = await _run(case, "no fault")
    runs = 0
    for name, inject in _disturbances().items():
        assert await _run(case, name, inject=inject) == expected, name
        runs += 1
    for kind in (*KINDS, VOLUME):
        assert await _run(case, f"a stale view of {kind}", stale=kind) == expected, f"a stale view of {kind}"
        runs += 1
    for done in (True, False):
        for writes in range(1, _MOST_WRITES):
            name = f"a crash after {writes} writes, the last one {'done' if done else 'not done'}"
            crashed: list[bool] = []
            state = await _run(case, name, crash=(writes, done), crashed=crashed)
            assert state == expected, name
            if not crashed:
                break
            runs += 1
        else:
            raise AssertionError(f"the scenario does not end after {_MOST_WRITES} writes")
    return runs


async def _run(
    case: FaultCase,
    name: str,
    *,
    inject: Inject | None = None,
    stale: str = "",
    crash: tuple[int, bool] | None = None,
    crashed: list[bool] | None = None,
) -> Object:
    """Runs the scenario once, checks the invariants, deletes the owner, and returns the state before."""
    nodes = parse_nodes(case.nodes)
    beside = [name for name in (*CORE_NAMES, SCHEDULER, SIMULATED_NODES, *case.beside) if name not in case.controllers]
    async with testing.world(nodes=case.nodes, system=beside) as world, _watched(world, case, name):
        await world.create(*case.objects)
        async with _controllers(world, case, crash, crashed) as until:
            if inject is not None:
                inject(world.faults)
            await until(case.is_done)
            await case.change(world)
            if stale:
                with world.faults.stale(stale):
                    await world.advance(45)
            await until(case.is_done)
        world.faults.clear()
        found = [item for kind in KINDS for item in (await world.client.list(kind, "default")).items]
        state = normal([*found, *(await world.client.list(VOLUME)).items], [])
        for each in state["objects"]:
            if each["kind"] == "HorizontalPodAutoscaler":
                # The time and the condition of a scaling whose status was not written are lost, as on a cluster.
                each.pop("present", None)
                each["conditions"] = [known for known in each["conditions"] if known[0] != "ScaledToZero"]
            # Several nodes may suit a pod.
            each.get("annotations", {}).pop(SELECTED_NODE, None)
        # Only nodes end pods: they run again if they were under test.
        async with faulty_system(world, [SIMULATED_NODES] if SIMULATED_NODES in case.controllers else [], nodes):
            await _end(world, case, name)
        return state


async def _end(world: testing.World, case: FaultCase, name: str) -> None:
    """Deletes the owner, and checks that no objects remain."""
    for owner in case.objects[: case.owners]:
        kind = f"{owner['apiVersion']}/{owner['kind']}"
        await world.client.delete(kind, owner["metadata"]["name"], "default", propagation="Background")

    async def is_empty() -> bool:
        policies = [each["spec"]["persistentVolumeReclaimPolicy"] for each in (await world.client.list(VOLUME)).items]
        is_left = [item for each in KINDS for item in (await world.client.list(each, "default")).items]
        return not is_left and (VOLUME_BINDER in case.controllers or "Delete" not in policies)

    await world.eventually(is_empty, within=_PATIENCE)


Until = Callable[[Callable[[testing.World], Awaitable[bool]]], Awaitable[None]]


@asynccontextmanager
async def _controllers(
    world: testing.World, case: FaultCase, crash: tuple[int, bool] | None, crashed: list[bool] | None
) -> AsyncIterator[Until]:
    """Runs the controllers under test. The yielded function waits for a state, and starts the controllers again, as a
    new process, after a crash."""
    faults = world.faults
    if crash is not None:
        faults.crash_after(crash[0], done=crash[1])
    nodes = parse_nodes(case.nodes)
    running: list[Any] = [faulty_system(world, case.controllers, nodes)]
    await running[0].__aenter__()

    async def until(is_done: Callable[[testing.World], Awaitable[bool]]) -> None:
        async def over() -> bool:
            return faults.crashed or await is_done(world)

        await world.eventually(over, within=_PATIENCE)
        if faults.crashed:
            assert crashed is not None
            crashed.append(True)
            await running.pop().__aexit__(None, None, None)
            faults.revive()
            running.append(faulty_system(world, case.controllers, nodes))
            await running[0].__aenter__()
            await world.eventually(lambda: is_done(world), within=_PATIENCE)
        await world.settle()

    try:
        yield until
    finally:
        await running.pop().__aexit__(None, None, None)


@asynccontextmanager
async def _watched(world: testing.World, case: FaultCase, name: str) -> AsyncIterator[None]:
    """Checks the invariants after every change of an object."""
    objects: Objects = {}
    violations: list[str] = []
    async with Cache(world.client) as cache:
        for kind in KINDS:
            known = objects.setdefault(kind, {})

            def follow(change: Any, known: dict[str, Object] = known) -> None:
                if change.new is None:
                    known.pop(change.held.meta.key, None)
                else:
                    known[change.held.meta.key] = change.new.object
                if found := case.violation(objects):
                    violations.append(found)

            informer = cache.acquire(kind)
            await world.drive(informer.wait_synced())
            informer.add_handler(follow)
        yield
    assert not violations, f"{name}: {violations[0]}"
