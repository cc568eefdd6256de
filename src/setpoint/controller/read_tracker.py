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


class Lookup(NamedTuple):
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

    def matches(self, entry: CachedObject[object]) -> bool:
        return self.selector is None or self.selector.matches(entry.meta.labels)


class Lookups:
    """The lookups of all requests."""

    def __init__(self) -> None:
        self._by_request: dict[Request, frozenset[Lookup]] = {}
        # The lookups by their index key; empty if there are none. Only this class changes them.
        self.buckets: dict[tuple[object, ...], dict[Lookup, dict[Request, None]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_request.values()))

    def of(self, request: Request) -> frozenset[Lookup]:
        """Returns the lookups of a request."""
        return self._by_request.get(request, frozenset())

    def add(self, request: Request, lookup: Lookup) -> None:
        """Records a lookup during the reconcile, so that changes from now on trigger the request."""
        if lookup in self._by_request.get(request, ()):
            return  # already recorded by the previous run
        self.buckets.setdefault(lookup.bucket, {}).setdefault(lookup, {})[request] = None

    def finish_run(self, request: Request, lookups: Iterable[Lookup], *, complete: bool) -> None:
        """Records the lookups of a finished run. A complete run replaces the previous lookups, others add to them."""
        before = self._by_request.get(request, frozenset())
        now = frozenset(lookups)
        if not complete:
            now |= before
        for lookup in before - now:
            self._drop(request, lookup)
        if now:
            self._by_request[request] = now
        else:
            self._by_request.pop(request, None)

    def discard(self, request: Request) -> None:
        """Drops the lookups of a request after its object is deleted."""
        for lookup in self._by_request.pop(request, ()):
            self._drop(request, lookup)

    def requests_for(self, cluster: str, kind: GroupVersionKind, change: Change[object]) -> list[Request]:
        """Returns the requests that looked up the changed object."""
        if not self.buckets:
            return []
        found: dict[Request, None] = {}
        for entry in (change.old, change.new):
            if entry is not None:
                self._collect(cluster, kind, entry, found)
        return list(found)

    def _collect(
        self, cluster: str, kind: GroupVersionKind, entry: CachedObject[object], found: dict[Request, None]
    ) -> None:
        meta = entry.meta
        for requests in self.buckets.get((cluster, kind, "key", meta.key), {}).values():
            found.update(requests)
        labels = [None, *(meta.labels or {}).items()]
        for namespace in dict.fromkeys((meta.namespace, "")):
            for label in labels:
                for lookup, requests in self.buckets.get((cluster, kind, "list", namespace, label), {}).items():
                    if lookup.matches(entry):
                        found.update(requests)

    def _drop(self, request: Request, lookup: Lookup) -> None:
        bucket = self.buckets.get(lookup.bucket)
        requests = bucket.get(lookup) if bucket is not None else None
        if bucket is None or requests is None:
            return
        requests.pop(request, None)
        if not requests:
            del bucket[lookup]
            if not bucket:
                del self.buckets[lookup.bucket]
