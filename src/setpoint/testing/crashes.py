"""Crashes at every step: the process ends after its first write, then after its second, and so on until success.

    async for crash in testing.every_crash(crds=[Widget], objects=[widget]):
        await crash.run(widgets, until=lambda: is_ready(crash.world))
        assert await crash.world.names(ConfigMap) == ["child"]

Each crash happens once with the last write performed, and once without.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

from setpoint.testing.virtual_time import evaluate
from setpoint.testing.worlds import World, world

# A scenario with more writes than this does not terminate.
MOST_WRITES = 500


class Crash:
    """One world in which the process ends once, after a number of writes.

    async for crash in testing.every_crash(crds=[Widget], objects=[widget]):
        await crash.run(widgets, until=lambda: is_ready(crash.world))
        print(crash, crash.happened)
    """

    def __init__(self, found: World, writes: int, done: bool) -> None:
        self.world = found
        self.writes = writes
        # True if the last write was performed and only its response is lost.
        self.done = done
        self.happened = False
        self.ran = False
        found.faults.crash_after(writes, done=done)

    async def run(self, *controllers: object, until: Callable[[], Any], within: float = 600.0) -> None:
        """Runs controllers until a condition holds, and then stops them.

        If the process crashes before, the same controllers start again without any state, like a new process.
        """
        self.ran = True
        faults = self.world.faults

        async def over() -> bool:
            return faults.crashed or bool((await evaluate(until))[0])

        await self._work(controllers, over, within)
        if faults.crashed:
            self.happened = True
            faults.revive()
            await self._work(controllers, until, within)

    async def _work(self, controllers: tuple[object, ...], until: Callable[[], Any], within: float) -> None:
        manager = await self.world.run(*controllers)
        try:
            await self.world.eventually(until, within=within)
            await self.world.settle()
        finally:
            await self.world.stop(manager)

    def __str__(self) -> str:
        return f"a crash after {self.writes} writes, the last of them {'done' if self.done else 'not done'}"


async def every_crash(**settings: Any) -> AsyncIterator[Crash]:
    """Yields a world for each write after which the process can end, with the last write performed and without.

    `settings` are those of `world`. The last world of each variant runs without a crash.

        async for crash in testing.every_crash(crds=[Widget], objects=[widget]):
            await crash.run(widgets, until=lambda: is_ready(crash.world))
    """
    for done in (True, False):
        for writes in range(1, MOST_WRITES + 1):
            async with world(**settings) as found:
                crash = Crash(found, writes, done)
                yield crash
                if not crash.ran:
                    raise RuntimeError("no controllers were run: call `await crash.run(...)` in the loop")
            if not crash.happened:
                break
        else:
            raise AssertionError(f"the scenario does not end: more than {MOST_WRITES} writes")
