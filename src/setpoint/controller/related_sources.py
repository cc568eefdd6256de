"""Sources for objects related to those of a controller: objects that they name, and objects that affect all of them.

UsedBy("v1/ConfigMap", names=lambda app: [app.spec.settings])   # a change triggers the apps that name the ConfigMap
Everyone(Watch("v1/ConfigMap", labels="defaults"))              # a change triggers every app, once
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change, Informer
from setpoint.client.kinds import KindRef, kind_of
from setpoint.controller.recording_client import metadata_of
from setpoint.controller.request import Request, Trigger
from setpoint.controller.source import Attached, Source, SourceHost
from setpoint.controller.watch import Watch
from setpoint.objects.clock import Clock


def _no_names(obj: Any) -> Iterable[str]:
    return ()


@dataclass(frozen=True, eq=False)
class UsedBy(Watch):
    """A watch of objects that the controller's objects name; a change triggers those that name the changed object.

    `names` returns the names that an object of the controller uses: `name`, in its own namespace or cluster-scoped, or
    `namespace/name`. The names are indexed, so that lookups stay fast for any number of objects.

        UsedBy("v1/ConfigMap", names=lambda app: [app.spec.settings])
    """

    names: Callable[[Any], Iterable[str]] = _no_names

    async def attach(self, host: SourceHost) -> Attached:
        primary = host.primary
        if primary is None:
            raise ValueError(f"{self.name}: UsedBy needs a controller with exactly one primary kind")
        index = f"{kind_of(self.kind)} of {id(self.names):x}"
        keys = self._keys
        cache = host.cache(self.cluster)
        for informer in _informers(cache, primary):
            informer.store.ensure_index(index, self.names, lambda entry: keys(entry.object))

        def requests_for(entry: CachedObject[Any]) -> list[Request]:
            stores = [informer.store for informer in _informers(cache, primary)]
            found = [each.meta for store in stores for each in store.by_index(index, entry.meta.key)]
            return [Request(meta.name, meta.namespace) for meta in found]

        return await self.with_handler(requests_for).attach(host)

    def _keys(self, obj: Any) -> Iterable[str]:
        """Yields the keys of the named objects; a bare name may be namespaced or cluster-scoped."""
        namespace = metadata_of(obj).namespace
        for name in self.names(obj):
            if name:
                yield name
                if namespace and "/" not in name:
                    yield f"{namespace}/{name}"


class Everyone:
    """Wraps another source, so that each of its changes triggers every object of the controller.

    `cluster` selects the objects of another cluster. Changes at the same time are combined: each object is queued once.

        Everyone(Watch("v1/ConfigMap", labels="defaults"))
    """

    def __init__(self, source: Source, *, cluster: str = "") -> None:
        self._source = source
        self._cluster = cluster

    @property
    def name(self) -> str:
        return f"everyone by {self._source.name}"

    async def attach(self, host: SourceHost) -> Attached:
        if host.primary is None:
            raise ValueError(f"{self.name}: Everyone needs a controller with exactly one primary kind")
        return await self._source.attach(_Sweep(host, host.primary, self._cluster))


class _Sweep:
    """A host for the wrapped source, which turns any request into requests for all objects."""

    def __init__(self, host: SourceHost, primary: KindRef, cluster: str) -> None:
        self._host = host
        self._cluster = cluster
        self.clock: Clock = host.clock
        self.primary: KindRef | None = primary
        self.initial_priority = host.initial_priority
        self._kind = primary
        self._pending: tuple[Trigger, int] | None = None

    def cache(self, cluster: str) -> Cache:
        return self._host.cache(cluster)

    def has_readers(self, kind: KindRef) -> bool:
        return self._host.has_readers(kind)

    def enqueue_readers(self, kind: KindRef, change: Change[Any], trigger: Trigger, cluster: str = "") -> None:
        self._host.enqueue_readers(kind, change, trigger, cluster)

    def report_failure(self, source: str, error: Exception) -> None:
        self._host.report_failure(source, error)

    def enqueue(self, request: Request, trigger: Trigger, priority: int = 0) -> None:
        if self._pending is None:
            asyncio.get_running_loop().call_soon(self._sweep)
        self._pending = trigger, priority if self._pending is None else max(priority, self._pending[1])

    def _sweep(self) -> None:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        trigger, priority = pending
        for informer in _informers(self._host.cache(self._cluster), self._kind):
            for entry in list(informer.store.all()):
                self._host.enqueue(Request(entry.meta.name, entry.meta.namespace, self._cluster), trigger, priority)


def _informers(cache: Cache, kind: KindRef) -> list[Informer[Any]]:
    return [informer for informer in cache.informers if informer.kind == kind]
