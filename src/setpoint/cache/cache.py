"""The cache: informers that are shared, started when somebody needs them and stopped when nobody does any more.

Reading a kind that nobody declared (`use`) asks the server: a cache never begins to copy a whole kind by accident.
What is read from it is shared and does not change.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, overload

from setpoint.cache.informer import Informer
from setpoint.cache.reflector import Scope
from setpoint.client.client import Client
from setpoint.client.kinds import Kind, KindRef, R, kind_of
from setpoint.client.selecting import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects.clock import Clock
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.tree import Object


class NotCached(LookupError):  # noqa: N818 - says what is
    """Nobody has declared that this kind is to be kept."""


class _Shared:
    """An informer, and how many use it."""

    __slots__ = ("informer", "users")

    def __init__(self, informer: Informer[Any]) -> None:
        self.informer = informer
        self.users = 0


class Cache:
    """The informers of one client."""

    def __init__(self, client: Client, *, clock: Clock | None = None, ids: Ids | None = None) -> None:
        self.client = client
        self._clock = clock or client.clock
        self._ids = ids or SystemIds()
        self._shared: dict[Scope, _Shared] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops every informer."""
        shared, self._shared = list(self._shared.values()), {}
        await asyncio.gather(*(each.informer.stop() for each in shared))

    @property
    def informers(self) -> list[Informer[Any]]:
        """Those that run."""
        return [each.informer for each in self._shared.values()]

    def acquire(
        self, kind: Kind[Any], namespace: str = "", *, labels: LabelsArgument = None, fields: FieldsArgument = None
    ) -> Informer[Any]:
        """An informer, started if it is the first to ask. Whoever acquires it releases it."""
        scope = Scope(kind_of(kind), namespace, labels_text(labels), fields_text(fields))
        shared = self._shared.get(scope)
        if shared is None:
            informer: Informer[Any] = Informer(self.client, scope, clock=self._clock, ids=self._ids)
            shared = self._shared[scope] = _Shared(informer)
            informer.start()
        shared.users += 1
        return shared.informer

    async def release(self, informer: Informer[Any]) -> None:
        """Gives an informer back; the last to do so ends it."""
        shared = self._shared.get(informer.scope)
        if shared is None or shared.informer is not informer:
            return
        shared.users -= 1
        if shared.users <= 0:
            del self._shared[informer.scope]
            await informer.stop()

    @asynccontextmanager
    async def use(
        self, kind: Kind[Any], namespace: str = "", *, labels: LabelsArgument = None, fields: FieldsArgument = None
    ) -> AsyncIterator[Informer[Any]]:
        """An informer that has everything, for as long as the context lasts."""
        informer = self.acquire(kind, namespace, labels=labels, fields=fields)
        try:
            await informer.wait_synced()
            yield informer
        finally:
            await self.release(informer)

    def informer(self, kind: Kind[Any], namespace: str = "") -> Informer[Any]:
        """The informer that has a kind, in a namespace or everywhere. Raises NotCached."""
        ref = kind_of(kind)
        for scope in (Scope(ref, namespace), Scope(ref)):
            shared = self._shared.get(scope)
            if shared is not None:
                return shared.informer
        raise NotCached(f"{ref} is not kept: declare it with `use`, or ask the server with the client")

    @overload
    async def get(self, kind: type[R], name: str, namespace: str = "") -> R | None: ...
    @overload
    async def get(self, kind: GroupVersionKind | str | KindRef, name: str, namespace: str = "") -> Object | None: ...
    async def get(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """An object that is kept; None where there is none."""
        informer = self.informer(kind, namespace)
        if not informer.synced:
            await informer.wait_synced()
        held = informer.store.get(f"{namespace}/{name}" if namespace else name)
        return None if held is None else held.object
