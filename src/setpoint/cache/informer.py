"""The informer: the objects of one scope, kept up to date, and whoever wants to know told of every change.

What is told follows what is kept: when a handler hears of a change, the store has it. Each handler hears of each object
in the order of its history, though maybe not of every step in it; one that comes late hears of what is there first. An
object that was deleted and made anew may look like an update: its uid tells.

Handlers are plain functions, called in turn: they note what they hear and return. What one of them raises is logged and
harms nobody else.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.cache.held import Held
from setpoint.cache.making import maker
from setpoint.cache.reflector import Reflector, Scope
from setpoint.cache.store import ObjectStore
from setpoint.client.client import Client
from setpoint.client.watch import DELETED
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Change(NamedTuple, Generic[T]):
    """What happened to an object: it came (`old` is None), changed, or went (`new` is None)."""

    old: Held[T] | None
    new: Held[T] | None
    # It was there when the informer, or the handler, began.
    initial: bool = False
    # It went while nobody looked: how it was last is not known for sure.
    unseen: bool = False
    # Nothing changed: everything is told once more.
    resync: bool = False

    @property
    def held(self) -> Held[T]:
        """The object, as it is or was last."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a change of nothing")
        return found


Handler = Callable[[Change[Any]], None]


class Registration:
    """A handler's place; `remove` gives it up."""

    def __init__(self, informer: "Informer[Any]", handler: Handler) -> None:
        self._informer = informer
        self.handler = handler

    def remove(self) -> None:
        self._informer.handlers.pop(self, None)


class Informer(Generic[T]):
    """Follows one scope. `start` begins, `stop` ends; whoever shares it counts on the cache to do both."""

    def __init__(self, client: Client, scope: Scope, *, clock: Clock, ids: Ids) -> None:
        self.scope = scope
        self.store: ObjectStore[T] = ObjectStore()
        self.handlers: dict[Registration, None] = {}
        self._make = maker(scope.kind)
        self._reflector = Reflector(client, scope, self, clock=clock, ids=ids)
        self._task: asyncio.Task[None] | None = None
        self._synced = asyncio.Event()
        # The newest revision that everything before is known of, where revisions are numbers.
        self._version = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()

    # Running

    def start(self) -> None:
        """Begins to follow. Again is the same."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._reflector.run())

    async def stop(self) -> None:
        """Ends. What was kept can still be read."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for _, _, waiting in self._waiting:
            waiting.cancel()
        self._waiting.clear()

    @property
    def synced(self) -> bool:
        """Whether the store has had everything once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    @property
    def state(self) -> str:
        return self._reflector.state

    @property
    def last_error(self) -> Exception | None:
        """Why it does not get on; None when all is well."""
        return self._reflector.last_error

    @property
    def resource_version(self) -> str:
        return self._reflector.resource_version

    # Listening

    def add_handler(self, handler: Handler, *, replay: bool = True) -> Registration:
        """Tells a handler of everything from now on, and first, unless it does not want that, of what is there."""
        registration = Registration(self, handler)
        self.handlers[registration] = None
        if replay:
            for held in list(self.store.all()):
                _tell(handler, Change(None, held, initial=True))
        return registration

    def resync(self) -> None:
        """Tells every handler of everything once more."""
        for held in list(self.store.all()):
            self._tell(Change(held, held, resync=True))

    async def wait_for(self, resource_version: str) -> None:
        """Returns once everything up to a revision is known. At once where revisions cannot be compared."""
        if not resource_version.isdecimal() or int(resource_version) <= self._version:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (int(resource_version), next(self._arrivals), waiting))
        await waiting

    # What the reflector calls.

    def replace(self, items: list[bytes], resource_version: str) -> None:
        initial = not self.synced
        gone = dict.fromkeys(self.store)
        for item in items:
            held = Held(item, self._make)
            gone.pop(held.meta.key, None)
            self._put(held, initial=initial)
        for key in gone:
            old = self.store.remove(key)
            if old is not None:
                self._tell(Change(old, None, unseen=True))
        self._synced.set()
        self._advance(resource_version)

    def change(self, event_type: str, item: bytes) -> str:
        held: Held[T] = Held(item, self._make)
        version = held.meta.resource_version
        if event_type == DELETED:
            if self.store.remove(held.meta.key) is not None:
                self._tell(Change(held, None))
        else:
            self._put(held, initial=False)
        self._advance(version)
        return version

    def reached(self, resource_version: str) -> None:
        self._advance(resource_version)

    # Inside

    def _put(self, held: Held[T], *, initial: bool) -> None:
        old = self.store.put(held.meta.key, held)
        if old is None:
            self._tell(Change(None, held, initial=initial))
        elif old.meta.resource_version != held.meta.resource_version:
            self._tell(Change(old, held))

    def _tell(self, change: Change[T]) -> None:
        for registration in list(self.handlers):
            _tell(registration.handler, change)

    def _advance(self, resource_version: str) -> None:
        if not resource_version.isdecimal():
            return
        self._version = max(self._version, int(resource_version))
        while self._waiting and self._waiting[0][0] <= self._version:
            waiting = heapq.heappop(self._waiting)[2]
            if not waiting.done():
                waiting.set_result(None)


def _tell(handler: Handler, change: Change[Any]) -> None:
    try:
        handler(change)
    except Exception:
        _log.exception("a handler failed at %s", change.held.meta.key)
