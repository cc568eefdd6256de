"""Sources for what is related to the objects of a controller: what they name, and what concerns all of them.

UsedBy("v1/ConfigMap", names=lambda app: [app.spec.settings])   a change means the apps that name it
Everyone(Watch("v1/ConfigMap", labels="defaults"))              a change means every app, once
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import Held
from setpoint.cache.informer import Change, Informer
from setpoint.client.kinds import KindRef, kind_of
from setpoint.controller.recording_client import placed
from setpoint.controller.request import Request, Trigger
from setpoint.controller.source import Attached, Host, Source
from setpoint.controller.watch import Watch
from setpoint.objects.clock import Clock


def _no_names(obj: Any) -> Iterable[str]:
    return ()


@dataclass(frozen=True, eq=False)
class UsedBy(Watch):
    """The objects of a kind that others name; what changes means those of the controller, in the same cluster, that
    name it.

    `names` gives what an object of the controller names: `name`, in its own namespace or in none, or
    `namespace/name`. It is kept as an index, so that a change finds who it means at once, however many there are.
    """

    names: Callable[[Any], Iterable[str]] = _no_names

    async def attach(self, host: Host) -> Attached:
        primary = host.primary
        if primary is None:
            raise ValueError(f"{self.name} is used by what? Only a controller for one kind can say")
        index = f"{kind_of(self.kind)} of {id(self.names):x}"
        keys = self._keys
        cache = host.cache(self.cluster)
        for informer in _informers(cache, primary):
            informer.store.keep_index(index, self.names, lambda held: keys(held.object))

        def who(held: Held[Any]) -> list[Request]:
            stores = [informer.store for informer in _informers(cache, primary)]
            found = [each.meta for store in stores for each in store.by_index(index, held.meta.key)]
            return [Request(meta.name, meta.namespace) for meta in found]

        return await self.with_handler(who).attach(host)

    def _keys(self, obj: Any) -> Iterable[str]:
        """The keys of what an object names; of a bare name it is not known whether that is in a namespace."""
        namespace = placed(obj).namespace
        for name in self.names(obj):
            if name:
                yield name
                if namespace and "/" not in name:
                    yield f"{namespace}/{name}"


class Everyone:
    """Whatever another source tells, it means every object of the controller, in its own cluster or in one of a name.
    However much it tells at once, that is gathered: each object waits once."""

    def __init__(self, source: Source, *, cluster: str = "") -> None:
        self._source = source
        self._cluster = cluster

    @property
    def name(self) -> str:
        return f"everyone by {self._source.name}"

    async def attach(self, host: Host) -> Attached:
        if host.primary is None:
            raise ValueError(f"{self.name}: only a controller for one kind has objects to mean")
        return await self._source.attach(_Sweep(host, host.primary, self._cluster))


class _Sweep:
    """Stands before a controller, and makes of any request all of them."""

    def __init__(self, host: Host, primary: KindRef, cluster: str) -> None:
        self._host = host
        self._cluster = cluster
        self.clock: Clock = host.clock
        self.primary: KindRef | None = primary
        self.initial_priority = host.initial_priority
        self._kind = primary
        self._told: tuple[Trigger, int] | None = None

    def cache(self, cluster: str) -> Cache:
        return self._host.cache(cluster)

    def looked_up(self, kind: KindRef, change: Change[Any], trigger: Trigger, cluster: str = "") -> None:
        self._host.looked_up(kind, change, trigger, cluster)

    def enqueue(self, request: Request, trigger: Trigger, priority: int = 0) -> None:
        if self._told is None:
            asyncio.get_running_loop().call_soon(self._sweep)
        self._told = trigger, priority if self._told is None else max(priority, self._told[1])

    def _sweep(self) -> None:
        told, self._told = self._told, None
        if told is None:
            return
        trigger, priority = told
        for informer in _informers(self._host.cache(self._cluster), self._kind):
            for held in list(informer.store.all()):
                self._host.enqueue(Request(held.meta.name, held.meta.namespace, self._cluster), trigger, priority)


def _informers(cache: Cache, kind: KindRef) -> list[Informer[Any]]:
    return [informer for informer in cache.informers if informer.kind == kind]
