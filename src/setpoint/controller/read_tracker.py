"""Tracked reads: what a reconcile looked up, so that it runs again when that changes.

Each run of a request leaves behind what it looked at, in the place of what the run before looked at: nobody has to
declare it, and what is not looked at any more does not disturb. A run that failed may not have come to all it needs, so
it only adds.
"""

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.cache.entry import Held
from setpoint.cache.informer import Change
from setpoint.controller.request import Request
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.labels import Selector


class Look(NamedTuple):
    """One thing that was looked up: an object by its key, or all of a namespace (or everywhere) with some labels."""

    cluster: str
    kind: GroupVersionKind
    key: str = ""
    namespace: str = ""
    selector: Selector | None = None

    @property
    def bucket(self) -> tuple[object, ...]:
        """Where a change finds it without trying them all: by key, or by the first label that it asks for."""
        if self.key:
            return self.cluster, self.kind, "key", self.key
        required = self.selector.required() if self.selector is not None else {}
        label = next(iter(required.items()), None)
        return self.cluster, self.kind, "list", self.namespace, label

    def sees(self, held: Held[object]) -> bool:
        return self.selector is None or self.selector.matches(held.meta.labels)


class Lookups:
    """Who looked at what."""

    def __init__(self) -> None:
        self._looks: dict[Request, frozenset[Look]] = {}
        self._buckets: dict[tuple[object, ...], dict[Look, dict[Request, None]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._looks.values()))

    def of(self, request: Request) -> frozenset[Look]:
        """What a request depends on."""
        return self._looks.get(request, frozenset())

    def add(self, request: Request, look: Look) -> None:
        """Notes a look while the reconcile still runs: what changes from now on counts."""
        if look in self._looks.get(request, ()):
            return  # the run before looked as well
        self._buckets.setdefault(look.bucket, {}).setdefault(look, {})[request] = None

    def settle(self, request: Request, looks: Iterable[Look], *, complete: bool) -> None:
        """The run is over: these are its looks, and where it was complete, no others."""
        before = self._looks.get(request, frozenset())
        now = frozenset(looks)
        if not complete:
            now |= before
        for look in before - now:
            self._drop(request, look)
        if now:
            self._looks[request] = now
        else:
            self._looks.pop(request, None)

    def forget(self, request: Request) -> None:
        """The object of a request is gone."""
        for look in self._looks.pop(request, ()):
            self._drop(request, look)

    def who(self, cluster: str, kind: GroupVersionKind, change: Change[object]) -> list[Request]:
        """The requests that looked at what has changed."""
        if not self._buckets:
            return []
        found: dict[Request, None] = {}
        for held in (change.old, change.new):
            if held is not None:
                self._gather(cluster, kind, held, found)
        return list(found)

    def _gather(self, cluster: str, kind: GroupVersionKind, held: Held[object], found: dict[Request, None]) -> None:
        meta = held.meta
        for requests in self._buckets.get((cluster, kind, "key", meta.key), {}).values():
            found.update(requests)
        labels = [None, *(meta.labels or {}).items()]
        for namespace in dict.fromkeys((meta.namespace, "")):
            for label in labels:
                for look, requests in self._buckets.get((cluster, kind, "list", namespace, label), {}).items():
                    if look.sees(held):
                        found.update(requests)

    def _drop(self, request: Request, look: Look) -> None:
        bucket = self._buckets.get(look.bucket)
        requests = bucket.get(look) if bucket is not None else None
        if bucket is None or requests is None:
            return
        requests.pop(request, None)
        if not requests:
            del bucket[look]
            if not bucket:
                del self._buckets[look.bucket]
