"""Tracked reads: a request runs again when an object that its reconcile looked up changes.

Each run of a request replaces the recorded lookups of the previous run, so that no declaration is needed and outdated
lookups have no effect. A failed run may not have reached all lookups, and therefore only adds its own.
"""

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.controller.request import Request
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.labels import Selector


class Look(NamedTuple):
    """One lookup: an object by key, or a list in a namespace (or all) with a label selector."""

    cluster: str
    kind: GroupVersionKind
    key: str = ""
    namespace: str = ""
    selector: Selector | None = None

    @property
    def bucket(self) -> tuple[object, ...]:
        """The index key of the lookup: the object key, or the first label that the selector requires."""
        if self.key:
            return self.cluster, self.kind, "key", self.key
        required = self.selector.required() if self.selector is not None else {}
        label = next(iter(required.items()), None)
        return self.cluster, self.kind, "list", self.namespace, label

    def sees(self, held: CachedObject[object]) -> bool:
        return self.selector is None or self.selector.matches(held.meta.labels)


class Lookups:
    """The lookups of all requests."""

    def __init__(self) -> None:
        self._looks: dict[Request, frozenset[Look]] = {}
        # The lookups by their index key; empty if there are none. Only this class changes them.
        self.buckets: dict[tuple[object, ...], dict[Look, dict[Request, None]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._looks.values()))

    def of(self, request: Request) -> frozenset[Look]:
        """Returns the lookups of a request."""
        return self._looks.get(request, frozenset())

    def add(self, request: Request, look: Look) -> None:
        """Records a lookup during the reconcile, so that changes from now on trigger the request."""
        if look in self._looks.get(request, ()):
            return  # already recorded by the previous run
        self.buckets.setdefault(look.bucket, {}).setdefault(look, {})[request] = None

    def settle(self, request: Request, looks: Iterable[Look], *, complete: bool) -> None:
        """Records the lookups of a finished run. A complete run replaces the previous lookups, others add to them."""
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
        """Drops the lookups of a request after its object is deleted."""
        for look in self._looks.pop(request, ()):
            self._drop(request, look)

    def who(self, cluster: str, kind: GroupVersionKind, change: Change[object]) -> list[Request]:
        """Returns the requests that looked up the changed object."""
        if not self.buckets:
            return []
        found: dict[Request, None] = {}
        for held in (change.old, change.new):
            if held is not None:
                self._gather(cluster, kind, held, found)
        return list(found)

    def _gather(
        self, cluster: str, kind: GroupVersionKind, held: CachedObject[object], found: dict[Request, None]
    ) -> None:
        meta = held.meta
        for requests in self.buckets.get((cluster, kind, "key", meta.key), {}).values():
            found.update(requests)
        labels = [None, *(meta.labels or {}).items()]
        for namespace in dict.fromkeys((meta.namespace, "")):
            for label in labels:
                for look, requests in self.buckets.get((cluster, kind, "list", namespace, label), {}).items():
                    if look.sees(held):
                        found.update(requests)

    def _drop(self, request: Request, look: Look) -> None:
        bucket = self.buckets.get(look.bucket)
        requests = bucket.get(look) if bucket is not None else None
        if bucket is None or requests is None:
            return
        requests.pop(request, None)
        if not requests:
            del bucket[look]
            if not bucket:
                del self.buckets[look.bucket]
