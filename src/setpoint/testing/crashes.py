"""Crashes at every step: a process ends after its first write, then after its second, and so on until it gets through;
each time with that last write done, and not done.

    async for crash in testing.every_crash(crds=[Widget], objects=[widget]):
        await crash.run(widgets, until=lambda: is_ready(crash.world))
        assert await crash.world.names(ConfigMap) == ["child"]
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

from setpoint.testing.virtual_time import ask
from setpoint.testing.worlds import World, world

# A scenario that takes more writes than this does not come to rest.
MOST_WRITES = 500


class Crash:
    """One world in which a process ends once, after so many writes."""

    def __init__(self, found: World, writes: int, done: bool) -> None:
        self.world = found
        self.writes = writes
        # Whether the last write was done, and only its answer lost.
        self.done = done
        self.happened = False
        self.ran = False
        found.faults.crash_after(writes, done=done)

    async def run(self, *controllers: object, until: Callable[[], Any], within: float = 600.0) -> None:
        """Has controllers work until something holds. Where the process ends before that, a new one goes on: the same
        controllers, which know nothing any more. They work no more when this returns."""
        self.ran = True
        faults = self.world.faults

        async def over() -> bool:
            return faults.crashed or bool((await ask(until))[0])

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
    """A world for each write after which a process can end, and for each of its two ways; `settings` are those of
    `world`. The last one of each way gets through without a crash."""
    for done in (True, False):
        for writes in range(1, MOST_WRITES + 1):
            async with world(**settings) as found:
                crash = Crash(found, writes, done)
                yield crash
                if not crash.ran:
                    raise RuntimeError("nothing was run: a block of every_crash calls `await crash.run(...)`")
            if not crash.happened:
                break
        else:
            raise AssertionError(f"there is no end of writes: more than {MOST_WRITES}")
