"""One round: concurrent clients with random operations, and disturbances, on a store of a backend."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.consistency.client import Client, OpenWatch
from tests.consistency.history import ANY_AGE, CONSISTENT, EXACT, NOT_OLDER, Compaction, History, Scope
from tests.consistency.log import read_log
from tests.consistency.processes import Served, ServedWorld, Starter
from tests.consistency.watching import check_watches
from tests.consistency.world import Open, Servers, World, waiting_for_clients

from setpoint.store.cached.state_cache import LIMIT

COLORS = ("red", "blue", "")
NAMESPACES = ("default", "kube-public")
REGISTERS = [f"default/register-{number}" for number in range(3)]
MEMBERS = [f"{namespace}/member-{number}" for namespace in NAMESPACES for number in range(12)]
COUNTERS = [f"default/counter-{number}" for number in range(2)]
# The bytes of a cache that exceeds its limit now and then.
SMALL_CACHE = 60_000
_PAUSES = 4
# The number of checks without a new event after which the round ends: five seconds. A server may wait three seconds for
# the events of etcd before the server starts a watch.
_QUIET = 1000
# The number of writes that all clients together make while each makes one step.
_WRITES_PER_STEP = 4


@dataclass(frozen=True)
class Plan:
    """The size of a round, and its disturbances."""

    steps: int = 25  # of each client
    servers: int = 1
    compactions: int = 3
    restarts: int = 0
    # The number of moments in which a process stands still.
    pauses: int = 0
    # A small cache of the state holds some of the objects some of the time.
    cache_bytes: int = LIMIT


class Round:
    """The clients of one round and their records."""

    def __init__(self, seed: int, plan: Plan, world: Servers) -> None:
        self.history = History()
        self._random = Random(seed)
        self._plan = plan
        self._world = world
        self._clients: list[Client] = []
        self._observer = self._client("observer")
        self._client("steady")
        self._observing: OpenWatch | None = None
        world.ending.append(self._end_watches)

    def _client(self, name: str) -> Client:
        client = Client(name, self._world, self.history, len(self._clients))
        self._clients.append(client)
        return client

    async def run(self) -> History:
        await self._world.start(self._plan.servers)
        self.history.began = await self._world.revision()
        await self._observe()
        behaviours: list[Callable[[Client, Random], Coroutine[Any, Any, None]]] = [
            *([self._register] * 3),
            *([self._members] * 2),
            *([self._counter] * 3),
            *([self._reader] * 3),
            *([self._watcher] * 4),
        ]
        tasks = [
            asyncio.create_task(self._repeat(behaviour, self._client(f"{behaviour.__name__.strip('_')}-{number}")))
            for number, behaviour in enumerate(behaviours)
        ]
        disturbances = (self._compact(), self._restart(), self._pause(), self._send_bookmarks())
        tasks += [asyncio.create_task(disturbance) for disturbance in disturbances]
        try:
            await asyncio.gather(*tasks)
            await self._finish()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._world.stop()
        return self.history

    async def _repeat(self, behaviour: Callable[[Client, Random], Coroutine[Any, Any, None]], client: Client) -> None:
        random = Random(self._random.random())
        for _ in range(self._plan.steps):
            await behaviour(client, random)
            for _ in range(random.randrange(_PAUSES)):
                await asyncio.sleep(0)

    # Clients

    async def _register(self, client: Client, random: Random) -> None:
        """Writes and reads registers: each write replaces the value unconditionally."""
        key = random.choice(REGISTERS)
        if random.random() < 0.5:
            written = await client.write(key, color=random.choice(COLORS), padding=random.choice((0, 4000)))
            if written is None:
                await client.write(key, creates=True)
        else:
            await client.get(key, *_age(random, self.history))

    async def _members(self, client: Client, random: Random) -> None:
        """Adds members to a set, and removes them."""
        key = random.choice(MEMBERS)
        if random.random() < 0.6:
            await client.write(key, creates=True, color=random.choice(COLORS), padding=random.choice((0, 2000)))
        else:
            await client.delete(key)

    async def _counter(self, client: Client, random: Random) -> None:
        """Adds one to a counter, if the counter has not changed since the client read the counter."""
        key = random.choice(COUNTERS)
        found = await client.get(key)
        if found is None:
            await client.write(key, creates=True, color="red")
        else:
            await client.write(key, expect=found, color=random.choice(COLORS))

    async def _reader(self, client: Client, random: Random) -> None:
        """Lists some scope at some revision, whole or in pages."""
        mode, revision = _age(random, self.history)
        limit = random.choice((0, 0, 2, 5))
        if mode == NOT_OLDER:
            limit = 0  # a page of a list that is not older than a revision
        await client.list(_scope(random), mode, revision, limit)

    async def _watcher(self, client: Client, random: Random) -> None:
        """Opens a watch: with initial events, from a list on, or where an earlier watch ended."""
        while len(client.opened) > 3:
            await client.opened.pop(random.randrange(len(client.opened))).close()
        scope, choice = _scope(random), random.random()
        delay = self._delay(random) if random.random() < 0.3 else None
        if choice < 0.4:
            mode, revision = _age(random, self.history)
            if mode == EXACT:  # no watch begins with the state of a past revision
                mode, revision = CONSISTENT, 0
            bookmarks = mode != CONSISTENT or random.random() < 0.7
            await client.watch(scope, bookmarks=bookmarks, mode=mode, wanted=revision, delay=delay)
        elif choice < 0.7:
            listing = await client.list(scope)
            if listing is not None and listing.revision:
                await client.watch(scope, listing.revision, bookmarks=random.random() < 0.5, delay=delay)
        elif client.opened:
            resumed = client.opened.pop(random.randrange(len(client.opened)))
            await resumed.close()
            record = resumed.record
            if record.reached:
                await client.watch(record.scope, record.reached, delay=delay)

    def _delay(self, random: Random) -> Callable[[], Coroutine[Any, Any, None]]:
        async def wait() -> None:
            for _ in range(random.randrange(200)):
                await asyncio.sleep(0)

        return wait

    # Disturbances

    async def _compact(self) -> None:
        for _ in range(self._plan.compactions):
            await self._pass_steps(self._plan.steps // (self._plan.compactions + 1))
            await self._world.up()
            assert self._observing is not None
            # Never beyond the observer, which has to see the whole log.
            newest = self._observing.record.reached
            to = newest - self._random.randrange(15)
            if to > self.history.began:
                self.history.compactions.append(Compaction(self.history.moment(), to))
                await self._world.compact(to)

    async def _restart(self) -> None:
        for _ in range(self._plan.restarts):
            await self._pass_steps(self._plan.steps // (self._plan.restarts + 1))
            await self._world.restart()
            await self._observe()

    async def _pause(self) -> None:
        for _ in range(self._plan.pauses):
            await self._pass_steps(self._plan.steps // (self._plan.pauses + 1))
            await self._world.pause()

    async def _send_bookmarks(self) -> None:
        """Sends the periodic bookmarks of the servers much more often than every minute."""
        for _ in range(self._plan.steps // 5):
            await self._pass_steps(4)
            await self._world.send_bookmarks()

    async def _pass_steps(self, steps: int) -> None:
        """Waits until the clients have made about this many further steps each."""
        made = len(self.history.writes)
        for _ in range(2000):
            if len(self.history.writes) - made >= steps * _WRITES_PER_STEP:
                return
            await asyncio.sleep(0.001)

    async def _end_watches(self) -> None:
        for client in self._clients:
            # Clients close watches of their own meanwhile.
            ending, client.opened = client.opened, []
            for opened in ending:
                # A watch that is open at the end of the round has to have all events.
                await opened.close(complete=self.history.ended > 0)

    async def _observe(self) -> None:
        after = self.history.began
        if self._observing is not None:
            after = self._observing.record.reached
        self._observing = await self._observer.watch(Scope(), after, observes=True)
        assert self._observing is not None
        # Some watches that last until the next restart.
        steady = self._clients[1]
        await steady.watch(Scope(), after)
        await steady.watch(Scope(color="red"), after)
        await steady.watch(Scope("default"))
        await steady.watch(Scope("default", "blue"), bookmarks=False)

    async def _finish(self) -> None:
        """Writes a last object, and waits until every open watch has all events before."""
        await self._world.send_bookmarks()
        last = None
        while last is None:
            last = await self._clients[1].write("default/last", creates=True) or await self._clients[1].write(
                "default/last"
            )
        self.history.ended = last.revision
        total, quiet = -1, 0
        while quiet < _QUIET:
            received = sum(len(watch.events) for watch in (*self.history.watches, *self.history.observers))
            if received != total:
                total, quiet = received, 0
                observed = self._observing is not None and self._observing.record.reached >= last.revision
                # A watch is late as long as events are missing; a violation remains one.
                if observed and not any(check_watches(self.history, read_log(self.history)[0])):
                    return
            quiet += 1
            await asyncio.sleep(0.005)


def _scope(random: Random) -> Scope:
    name = random.choice(("", "", "", "register-1", "member-2"))
    return Scope(random.choice(("", *NAMESPACES[:1])), random.choice(("", "red", "blue")), name)


def _age(random: Random, history: History) -> tuple[str, int]:
    """Returns the mode of a read, and the revision of the mode."""
    revisions = [write.version.revision for write in history.writes[-40:] if write.version]
    mode = random.choice((CONSISTENT, CONSISTENT, CONSISTENT, ANY_AGE, NOT_OLDER, EXACT))
    if mode in (CONSISTENT, ANY_AGE):
        return mode, 0
    return (mode, random.choice(revisions)) if revisions else (CONSISTENT, 0)


async def run_round(
    seed: int, plan: Plan, opening: Callable[[], AbstractAsyncContextManager[Open]]
) -> tuple[History, World]:
    """Runs a round on a new store."""
    async with opening() as opened:
        world = World(opened, plan.cache_bytes)
        with waiting_for_clients():
            return await Round(seed, plan, world).run(), world


async def run_served_round(seed: int, plan: Plan, opening: Served, starter: Starter) -> tuple[History, ServedWorld]:
    """Runs a round on a new store, with servers in other processes: restarts kill them."""
    async with opening(starter, plan.cache_bytes) as world:
        return await Round(seed, plan, world).run(), world
