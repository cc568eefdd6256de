"""Runs a scenario of system controllers with each disturbance, and compares the final states."""

from collections.abc import Awaitable, Callable, Collection

from tests.system.faulty_system import faulty_system

from setpoint import testing
from setpoint.objects.errors import Conflict

Scenario = Callable[[testing.World], Awaitable[None]]
State = Callable[[testing.World], Awaitable[object]]
# A scenario with more writes than this does not end.
MOST_WRITES = 60
# Long enough for reads that wait for a stale cache, and for the backoff after failures.
PATIENCE = 60


async def undisturbed(names: Collection[str], scenario: Scenario, state: State) -> object:
    """The final state without disturbance."""
    async with testing.world() as world, faulty_system(world, names):
        await scenario(world)
        await world.advance(PATIENCE)
        return await state(world)


async def check_crashes(names: Collection[str], scenario: Scenario, state: State) -> int:
    """Ends the controllers after each write, with the last write done and not done. Returns the number of crashes."""
    expected = await undisturbed(names, scenario, state)
    crashes = 0
    for done in (True, False):
        for writes in range(1, MOST_WRITES):
            async with testing.world() as world:
                world.faults.crash_after(writes, done=done)
                async with faulty_system(world, names):
                    await scenario(world)
                    await world.advance(PATIENCE)
                has_crashed = world.faults.crashed
                world.faults.revive()
                async with faulty_system(world, names):
                    await world.advance(PATIENCE)
                    assert await state(world) == expected, (writes, done)
            if not has_crashed:
                break
            crashes += 1
        else:
            raise AssertionError("the scenario does not end")
    return crashes


async def check_stale(names: Collection[str], scenario: Scenario, state: State, *kinds: str) -> None:
    """Holds back the events of each kind during the scenario."""
    expected = await undisturbed(names, scenario, state)
    for kind in kinds:
        async with testing.world() as world, faulty_system(world, names):
            with world.faults.stale(kind):
                await scenario(world)
                await world.advance(PATIENCE)
            await world.advance(PATIENCE)
            assert await state(world) == expected, kind


async def check_conflicts(names: Collection[str], scenario: Scenario, state: State, *kinds: str) -> None:
    """Refuses the first two updates of each kind."""
    expected = await undisturbed(names, scenario, state)
    for kind in kinds:
        async with testing.world() as world, faulty_system(world, names):
            refused = world.faults.fail("update", kind, error=Conflict("the object has been modified"), times=2)
            await scenario(world)
            await world.advance(PATIENCE)
            assert refused.hits, kind
            assert await state(world) == expected, kind
