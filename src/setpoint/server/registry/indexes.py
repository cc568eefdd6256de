"""Live views: the objects of one resource in the form that the server's own decisions need, decoded once per change.

Roles, policies, webhook configurations, quotas: data that every request needs is kept in memory in a suitable form. A
view includes every write of this server as soon as the write is committed, so a rule applies to the very next request;
if other servers write to the same store, the view follows the log as well. A view is filled on first use, so unused
views have no cost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

from setpoint.objects.tree import Object
from setpoint.server.registry.registry import Registry
from setpoint.store.cached.collection import collection_of
from setpoint.store.contract import Closed, Item, Store, TooLate

T = TypeVar("T")
# The values made from these objects do not depend on the revision, or can be given the revision later (`Revised`), so
# they can be made before the object is written.
_READ_AHEAD = (
    "/core/limitranges/",
    "/core/resourcequotas/",
    "/core/services/",
    "/flowcontrol.apiserver.k8s.io/flowschemas/",
    "/rbac.authorization.k8s.io/",
    "/admissionregistration.k8s.io/mutatingwebhookconfigurations/",
    "/admissionregistration.k8s.io/validatingwebhookconfigurations/",
)
# The number of deletions that a view remembers, so that a late notification of an earlier write does not restore a
# deleted object.
_REMEMBERED = 1000


@runtime_checkable
class Revised(Protocol):
    """A value made from an object that also holds the revision of the object."""

    def at_revision(self, revision: int) -> Self:
        """Returns the value with the revision at which the object was written."""


class ViewSource(Protocol):
    """The server whose objects a view shows."""

    @property
    def store(self) -> Store: ...

    @property
    def registry(self) -> Registry: ...

    async def offloaded(self, work: Callable[[], T], size: int) -> T: ...


class View(Generic[T]):
    """The objects of a resource by storage key, each in the form that `make` returns."""

    def __init__(
        self,
        views: "Views",
        prefix: str,
        decode: Callable[[Item], Object],
        make: Callable[[Object], T],
        changed: Callable[[str, T | None], None] | None = None,
        read: Callable[[Item], T] | None = None,
    ):
        self.prefix = prefix
        # Changes with every object: values computed from the whole view are valid while this number stays the same.
        self.generation = 0
        # True if the view is loaded and has no objects, so that rules based on the objects can be skipped.
        self.is_empty = False
        self._views = views
        self._store = views.source.store
        self._read_item = read or (lambda item: make(decode(item)))
        # Called with the key and the value of each changed object, with None on deletion, for incremental computations.
        self._changed = changed
        self._values: dict[str, T] = {}
        self._revisions: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        # The values made from large objects that are being written, by key.
        self._ahead: dict[str, tuple[bytes, T]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._loaded = False

    async def current(self) -> Mapping[str, T]:
        """Returns all objects. The mapping belongs to the view: do not change the mapping, and do not keep a reference
        over an `await`."""
        if not self._loaded:
            await self._load()
        return self._values

    def peek(self, key: str) -> T | None:
        """Returns an object from memory; the view must have been loaded with `current`."""
        return self._values.get(key)

    def apply_write(self, key: str, value: bytes | None, revision: int) -> None:
        """Updates the view with a write, or with a deletion if `value` is None."""
        if revision <= self._revisions.get(key, 0) or revision <= self._deleted.get(key, 0):
            return
        # If `make` fails, the revision is not recorded; otherwise the previous object would count as current.
        if value is not None:
            ahead = self._ahead.get(key)
            if ahead is None or ahead[0] is not value:
                made = self._read_item(Item(key, value, revision, 0))
            elif isinstance(ahead[1], Revised):
                made = ahead[1].at_revision(revision)
            else:
                made = ahead[1]
        self.generation += 1
        self.is_empty = False
        if value is None:
            self._revisions.pop(key, None)
            self._values.pop(key, None)
            self.is_empty = self._loaded and not self._values
            self._deleted[key] = revision
            if len(self._deleted) > _REMEMBERED:
                del self._deleted[next(iter(self._deleted))]
            if self._changed is not None:
                self._changed(key, None)
            return
        self._revisions[key] = revision
        self._values[key] = made
        if self._changed is not None:
            self._changed(key, made)

    async def read_ahead(self, key: str, value: bytes) -> None:
        """Prepares, in a thread, the value that `apply_write` will need for a large object. Call `discard_ahead`
        afterwards."""
        made = await self._views.source.offloaded(lambda: self._read_item(Item(key, value, 0, 0)), len(value))
        self._ahead[key] = value, made

    def discard_ahead(self, key: str) -> None:
        self._ahead.pop(key, None)

    async def _load(self) -> None:
        # Concurrent callers wait for the same load.
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._fill())
            self._loading.add_done_callback(self._loaded_or_failed)
        await asyncio.shield(self._loading)

    def _loaded_or_failed(self, loading: asyncio.Task[None]) -> None:
        """Forgets a load, so that the call after a failed one tries again although all callers were cancelled."""
        self._loading = None
        if not loading.cancelled():
            loading.exception()  # the waiting callers raise the error

    async def _fill(self) -> None:
        revision = await self.read()
        if self._views.shared:
            self._views.follow(self, revision)

    async def read(self) -> int:
        """Reads all objects from the store, and returns the revision of the read. Only needed by callers that cannot
        wait until the log reports the writes of other servers."""
        page = await self._store.range(self.prefix)
        for item in page.items:
            self.apply_write(item.key, item.value, item.revision)
        there = {item.key for item in page.items}
        for key in [key for key, seen in self._revisions.items() if seen < page.revision and key not in there]:
            self.apply_write(key, None, page.revision)
        self._loaded = True
        self.is_empty = not self._values
        return page.revision

    async def followed(self, after: int) -> None:
        """Follows the log until the store is closed."""
        while True:
            watch = self._store.watch(self.prefix, after)
            try:
                while True:
                    for event in await watch.next():
                        entry = event.entry
                        self.apply_write(entry.key, entry.value, entry.revision)
            except TooLate:
                after = await self.read()
            except Closed:
                return
            finally:
                watch.close()


class Views:
    """The views of one server."""

    def __init__(self, source: ViewSource, *, shared: bool = False) -> None:
        # True if other servers write to the same store.
        self.shared = shared
        self.source = source
        # The views by the prefix of their resource.
        self.by_prefix: dict[str, list[View[Any]]] = {}
        self._following: set[asyncio.Task[None]] = set()

    def of(
        self,
        group: str,
        version: str,
        plural: str,
        make: Callable[[Object], T],
        changed: Callable[[str, T | None], None] | None = None,
        read: Callable[[Item], T] | None = None,
    ) -> View[T]:
        """Creates a view of a built-in resource. Each call creates another view: keep the result. `changed` is called
        with the key and value of every changed object, with None on deletion. `read` replaces `make` for values that do
        not need the decoded object."""
        resource = self.source.registry.resource(group, version, plural)
        if resource is None:
            raise LookupError(f"there is no {plural} in {group}/{version}")
        view = View(self, resource.storage.prefix, resource.item, make, changed, read)
        self.by_prefix.setdefault(view.prefix, []).append(view)
        return view

    @asynccontextmanager
    async def reading_ahead(self, key: str, value: bytes) -> AsyncIterator[None]:
        """Prepares the values of the views for a large object while the object is written."""
        views = self._of(key) or () if key.startswith(_READ_AHEAD) else ()
        for view in views:
            await view.read_ahead(key, value)
        try:
            yield
        finally:
            for view in views:
                view.discard_ahead(key)

    def _of(self, key: str) -> list[View[Any]] | None:
        return self.by_prefix.get(collection_of(key))

    def apply_write(self, key: str, value: bytes | None, revision: int) -> None:
        """Updates the views of a resource with a write of this server."""
        views = self._of(key)
        if views is not None:
            for view in views:
                view.apply_write(key, value, revision)

    def follow(self, view: View[Any], after: int) -> None:
        task = asyncio.ensure_future(view.followed(after))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    def close(self) -> None:
        """Stops following the log."""
        for task in self._following:
            task.cancel()
