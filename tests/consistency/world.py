"""The servers of a round over one store: requests reach them until a restart, which loses the requests under way."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Protocol, Self, TypeAlias
from unittest.mock import patch

from tests.store.etcd_server import shared_etcd

from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.server.server_options import ServerSettings
from setpoint.server.verbs import watch
from setpoint.store.cached.state_cache import LIMIT
from setpoint.store.contract import Closed, Retention, Store
from setpoint.store.etcd import EtcdConfig, EtcdStore
from setpoint.store.etcd.client import WatchStream
from setpoint.store.memory import MemoryStore
from setpoint.store.sqlite import SqliteStore

# Opens the store of a server; called again after each restart, and once for each server.
Open: TypeAlias = Callable[[], Awaitable[Store]]
_roots = count()
# The bytes that a watch sends before it waits for its client, and the bytes of a frame: a round has few bytes.
_BURST, _FRAME = 2000, 500
# The seconds by which events of etcd are late at most.
_LATE = 0.02
# The seconds that a restart waits for a write at most.
_NEXT_WRITE = 60.0


class Interrupted(Exception):
    """The response was lost in a restart."""


def index_few_objects(server: Server) -> None:
    """Has a server build indexes although a round has few objects."""
    if server.services.term_indexes is not None:
        server.services.term_indexes.least = 0


@contextmanager
def waiting_for_clients() -> Iterator[None]:
    """Lets watches wait for their clients after few bytes, so that slow clients fall behind."""
    with patch.multiple(watch, _BURST=_BURST, _FRAME=_FRAME):
        yield


class NextWrite:
    """The next write of any client. A restart waits for it, so that at least one response is lost."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def note(self, request: Request) -> None:
        """Ends the wait if a request is a write."""
        if request.method != "GET":
            self._event.set()

    async def wait(self) -> None:
        """Waits until a client sends a write, or gives up because the clients have ended."""
        self._event.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_NEXT_WRITE):
                await self._event.wait()


class Servers(Protocol):
    """The servers of a round, in this process (`World`) or in others (`processes.ServedWorld`)."""

    restarts: int
    ending: list[Callable[[], Awaitable[None]]]

    async def start(self, number: int) -> None: ...

    async def call(self, place: int, request: Request) -> Response: ...

    async def revision(self) -> int: ...

    async def compact(self, to: int) -> None: ...

    async def send_bookmarks(self) -> None: ...

    async def up(self) -> None: ...

    async def pause(self) -> None: ...

    async def restart(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass
class World:
    """Some servers over one store. A client keeps its server, by number."""

    open: Open
    cache_bytes: int = LIMIT
    servers: list[Server] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    restarts: int = 0
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _under_way: set[asyncio.Task[Response]] = field(default_factory=set)
    _next_write: NextWrite = field(default_factory=NextWrite)
    # Called before each restart, and awaited: ends the watches, whose streams belong to the old servers.
    ending: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    async def start(self, number: int) -> None:
        for _ in range(number):
            store = await self.open()
            settings = ServerSettings(state_cache_bytes=self.cache_bytes)
            server = Server(store, clock=SystemClock(), ids=SystemIds(), settings=settings)
            server.services.views.shared = number > 1
            index_few_objects(server)
            await server.start()
            self.stores.append(store)
            self.servers.append(server)
        self._up.set()

    async def call(self, place: int, request: Request) -> Response:
        """Sends a request to a server. Raises Interrupted if the server ends before its response."""
        await self._up.wait()
        servers = self.servers
        task = asyncio.ensure_future(servers[place % len(servers)](request))
        self._under_way.add(task)
        self._next_write.note(request)
        try:
            response = await asyncio.shield(task)
            if servers is not self.servers:  # the connection broke before the response
                raise Interrupted
            return response
        except asyncio.CancelledError:
            if task.cancelled():
                raise Interrupted from None
            task.cancel()
            raise
        finally:
            self._under_way.discard(task)

    async def revision(self) -> int:
        return await self.stores[0].revision()

    async def compact(self, to: int) -> None:
        with suppress(Closed):  # a restart ends the compaction
            await self.stores[0].compact(to)

    async def pause(self) -> None:
        """Raises NotImplementedError: the clients would be stopped, too."""
        raise NotImplementedError

    async def send_bookmarks(self) -> None:
        for server in self.servers:
            for following in tuple(server.services.watches):
                following.send_bookmarks()

    async def up(self) -> None:
        """Waits until the servers answer."""
        await self._up.wait()

    async def restart(self) -> None:
        """Ends the servers in the middle of their requests, and starts new ones on the same store."""
        number = len(self.servers)
        await self._next_write.wait()
        await self.stop()
        self.restarts += 1
        await self.start(number)

    async def stop(self) -> None:
        self._up.clear()
        servers, self.servers = self.servers, []
        lost = list(self._under_way)
        for task in lost:
            task.cancel()
        await asyncio.gather(*lost, return_exceptions=True)
        for end in self.ending:
            await end()
        for server, store in zip(servers, self.stores, strict=True):
            server.close()
            await store.close()
        self.stores = []


class KeptMemoryStore(MemoryStore):
    """A store in memory that outlives its servers."""

    async def close(self) -> None:
        """Keeps the store open."""


@asynccontextmanager
async def memory(kind: type[KeptMemoryStore] = KeptMemoryStore) -> AsyncIterator[Open]:
    store = kind(retention=Retention())

    async def opened() -> Store:
        return store

    yield opened
    await MemoryStore.close(store)


@asynccontextmanager
async def sqlite() -> AsyncIterator[Open]:
    with TemporaryDirectory() as folder:

        async def opened() -> Store:
            return await SqliteStore.open(Path(folder, "store.db"), retention=Retention(), durability="off")

        yield opened


@asynccontextmanager
async def etcd(kind: type[EtcdStore] = EtcdStore) -> AsyncIterator[Open]:
    config = EtcdConfig((shared_etcd().endpoint,), root=f"/consistency-{next(_roots)}")

    async def opened() -> Store:
        return await kind.open(config, retention=Retention())

    yield opened


class LateEtcdStore(EtcdStore):
    """A store that receives the events of etcd late, each time by another number of milliseconds."""

    @classmethod
    async def open(cls, *arguments: Any, **options: Any) -> Self:
        store = await super().open(*arguments, **options)
        assert isinstance(store, cls)
        client, random = store._session.client, Random(next(_roots))
        open_watch = client.watch

        async def late_watch(*arguments: Any) -> WatchStream:
            stream = await open_watch(*arguments)
            read = stream.read

            async def late_read() -> Any:
                response = await read()
                await asyncio.sleep(random.random() * _LATE)
                return response

            stream.read = late_read  # type: ignore[method-assign]
            return stream

        client.watch = late_watch  # type: ignore[method-assign, assignment]
        return store


def late_etcd() -> AbstractAsyncContextManager[Open]:
    return etcd(LateEtcdStore)
