"""The backends that the contract suite runs on. Adding one is adding a line to `BACKENDS`."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from unittest.mock import patch

import pytest

from setpoint.objects.clock import Clock
from setpoint.store.cached import Publishing, StateCache, past
from setpoint.store.contract import Retention, Store
from setpoint.store.etcd import EtcdConfig, EtcdStore
from setpoint.store.memory import MemoryStore
from setpoint.store.memory import store as memory_store
from setpoint.store.sqlite import SqliteStore

from .etcd_server import require_etcd, shared_etcd
from .late_store import LateStore


class Opener(Protocol):
    """Opens a fresh, empty store, and closes it and all it needed."""

    def __call__(self, clock: Clock, retention: Retention) -> AbstractAsyncContextManager[Store]: ...


@dataclass(frozen=True)
class Backend:
    """A backend, and where it differs in what a test may ask of it."""

    name: str
    open: Opener
    takes_clock: bool = True  # expiry follows the clock it is given, not the backend's own
    restores_past: bool = True  # `restore` brings back the past with its revisions, not the state alone
    examples: int = 60  # of the state machine, in a default run
    # Closes a store and opens it again, where it outlives being closed.
    reopen: Callable[[Store, Clock], Coroutine[Any, Any, Store]] | None = None
    # Skips the test when what the backend needs is not on this machine.
    require: Callable[[], None] = lambda: None
    # A backend with a server of its own is left to `make test-long`.
    marks: tuple[pytest.MarkDecorator, ...] = ()


@asynccontextmanager
async def _memory(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
    store = MemoryStore(clock=clock, retention=retention)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _sqlite(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
    with TemporaryDirectory() as folder:
        store = await SqliteStore.open(Path(folder, "store.db"), clock=clock, retention=retention, durability="off")
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def _memory_of_versions(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
    """Opens a store in memory that reads most revisions from the versions of its keys, one key after the other."""
    with patch.object(past, "_UNDONE", 2), patch.object(memory_store, "_VISITED_AT_ONCE", 1):
        async with _memory(clock, retention) as store:
            yield store


@asynccontextmanager
async def _late(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
    """Opens a store whose reports are late, as those of etcd."""
    async with _memory(clock, retention) as store:
        assert isinstance(store, MemoryStore)
        yield LateStore(store)


_roots = count()


@asynccontextmanager
async def _etcd(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
    config = EtcdConfig((shared_etcd().endpoint,), root=f"/test-{next(_roots)}")
    store = await EtcdStore.open(config, clock=clock, retention=retention)
    try:
        yield store
    finally:
        await store.close()


def _folder(key: str) -> str:
    """Returns the collection of a key, which is shorter here than in the server."""
    return key[: key.find("/") + 1]


def _cached(opened: Opener) -> Opener:
    """Opens a cache above a store."""

    @asynccontextmanager
    async def open_cache(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
        async with opened(clock, retention) as store:
            assert isinstance(store, Publishing)
            cache = StateCache(store, group=_folder)
            cache.start()
            try:
                yield cache
            finally:
                cache.detach()

    return open_cache


def _small_cache(opened: Opener) -> Opener:
    """Opens a cache that holds only a few objects, so that most reads are those of the store."""

    @asynccontextmanager
    async def open_cache(clock: Clock, retention: Retention) -> AsyncIterator[Store]:
        async with opened(clock, retention) as store:
            assert isinstance(store, Publishing)
            cache = StateCache(store, 2000, _folder)
            try:
                yield cache
            finally:
                cache.detach()

    return open_cache


async def _reopen_sqlite(store: Store, clock: Clock) -> Store:
    assert isinstance(store, SqliteStore)
    await store.close()
    return await SqliteStore.open(store.path, clock=clock, retention=Retention(), durability="off")


ETCD = Backend("etcd", _etcd, restores_past=False, examples=8, require=require_etcd, marks=(pytest.mark.slow,))
BACKENDS: list[Backend] = [
    Backend("memory", _memory, examples=100),
    Backend("memory that undoes two events", _memory_of_versions, examples=50),
    Backend("sqlite", _sqlite, reopen=_reopen_sqlite),
    Backend("cached sqlite", _cached(_sqlite), examples=30),
    Backend("sqlite with a small cache", _small_cache(_sqlite), examples=30),
    Backend("cached store with late reports", _cached(_late), examples=30),
    ETCD,
    replace(ETCD, name="cached etcd", open=_cached(_etcd)),
    replace(ETCD, name="etcd with a small cache", open=_small_cache(_etcd)),
]
