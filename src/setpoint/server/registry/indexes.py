"""Live views: the objects of one resource as the server's own decisions need them, each read once when it changes.

Roles, policies, webhook configurations, quotas: what is asked for with every request is kept ready, made into whatever
form serves best. A view knows every write of this server the moment it is committed, so a rule holds for the very next
request; where others write to the same store it follows the log as well. It is filled when it is first asked for, and
what nobody asks for costs nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

from setpoint.objects.tree import Object
from setpoint.server.registry.registry import Registry
from setpoint.store.contract import Closed, Item, Store, TooLate

T = TypeVar("T")
# What is made of these does not depend on the revision, or can be told of it later (`Revised`): it can be made before
# the object is written.
_READ_AHEAD = (
    "/core/limitranges/",
    "/core/resourcequotas/",
    "/core/services/",
    "/flowcontrol.apiserver.k8s.io/flowschemas/",
    "/rbac.authorization.k8s.io/",
    "/admissionregistration.k8s.io/mutatingwebhookconfigurations/",
    "/admissionregistration.k8s.io/validatingwebhookconfigurations/",
)
# How many deletions a view remembers, lest a late word of an earlier write brings an object back.
_REMEMBERED = 1000


@runtime_checkable
class Revised(Protocol):
    """Something made of an object that also holds the revision of the object."""

    def at_revision(self, revision: int) -> Self:
        """Returns the same at the revision at which the object was written."""


class Source(Protocol):
    """The server that views are of."""

    @property
    def store(self) -> Store: ...

    @property
    def registry(self) -> Registry: ...

    async def offloaded(self, work: Callable[[], T], size: int) -> T: ...


class View(Generic[T]):
    """The objects of a resource, by the key they are stored under, each as `make` made it."""

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
        # Changes whenever an object does: what is computed from the whole view is right as long as it stays.
        self.generation = 0
        # Whether it is known that there is no object: who goes by the objects then has nothing to do.
        self.is_empty = False
        self._views = views
        self._store = views.source.store
        self._read_item = read or (lambda item: make(decode(item)))
        # Told of each object by its key when it changes, None when it is gone: for what is computed step by step.
        self._changed = changed
        self._values: dict[str, T] = {}
        self._revisions: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        # What was made of a large value that is being written, by its key.
        self._ahead: dict[str, tuple[bytes, T]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._loaded = False

    async def current(self) -> Mapping[str, T]:
        """All objects. The mapping is the view's own: read it, and do not keep it over an `await`."""
        if not self._loaded:
            await self._load()
        return self._values

    def peek(self, key: str) -> T | None:
        """Returns an object that the view has at hand; the view must have been loaded with `current`."""
        return self._values.get(key)

    def wrote(self, key: str, value: bytes | None, revision: int) -> None:
        """Somebody wrote, or deleted, an object."""
        if revision <= self._revisions.get(key, 0) or revision <= self._gone.get(key, 0):
            return
        # What cannot be made is not taken for known: the one before would pass for the one that is there.
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
            self._gone[key] = revision
            if len(self._gone) > _REMEMBERED:
                del self._gone[next(iter(self._gone))]
            if self._changed is not None:
                self._changed(key, None)
            return
        self._revisions[key] = revision
        self._values[key] = made
        if self._changed is not None:
            self._changed(key, made)

    async def read_ahead(self, key: str, value: bytes) -> None:
        """Makes what `wrote` is going to need of a large value, beside the event loop. Forget it afterwards."""
        made = await self._views.source.offloaded(lambda: self._read_item(Item(key, value, 0, 0)), len(value))
        self._ahead[key] = value, made

    def forget_ahead(self, key: str) -> None:
        self._ahead.pop(key, None)

    async def _load(self) -> None:
        # Whoever comes while it is filled waits for the same filling.
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._fill())
        try:
            await asyncio.shield(self._loading)
        finally:
            if self._loading is not None and self._loading.done():
                self._loading = None

    async def _fill(self) -> None:
        revision = await self.read()
        if self._views.shared:
            self._views.follow(self, revision)

    async def read(self) -> int:
        """Takes over what the store has, and returns the revision it was read at. Nobody needs to ask for it but who
        cannot wait for the log to tell what others wrote."""
        page = await self._store.range(self.prefix)
        for item in page.items:
            self.wrote(item.key, item.value, item.revision)
        there = {item.key for item in page.items}
        for key in [key for key, seen in self._revisions.items() if seen < page.revision and key not in there]:
            self.wrote(key, None, page.revision)
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
                        self.wrote(entry.key, entry.value, entry.revision)
            except TooLate:
                after = await self.read()
            except Closed:
                return
            finally:
                watch.close()


class Views:
    """The views of one server."""

    def __init__(self, source: Source, *, shared: bool = False) -> None:
        # Whether others write to the store as well.
        self.shared = shared
        self.source = source
        self._views: dict[str, list[View[Any]]] = {}
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
        """A view of a built-in resource. Ask once and keep it: each call makes another. `changed` is told of every
        object that changes, under its key, and of None when it is gone. `read` takes the place of `make` for those who
        do not need the object decoded."""
        resource = self.source.registry.resource(group, version, plural)
        if resource is None:
            raise LookupError(f"there is no {plural} in {group}/{version}")
        view = View(self, resource.storage.prefix, resource.item, make, changed, read)
        self._views.setdefault(view.prefix, []).append(view)
        return view

    @asynccontextmanager
    async def reading_ahead(self, key: str, value: bytes) -> AsyncIterator[None]:
        """Has what the views need of a large value ready while it is written."""
        views = self._of(key) or () if key.startswith(_READ_AHEAD) else ()
        for view in views:
            await view.read_ahead(key, value)
        try:
            yield
        finally:
            for view in views:
                view.forget_ahead(key)

    def _of(self, key: str) -> list[View[Any]] | None:
        return self._views.get(key[: key.find("/", key.find("/", 1) + 1) + 1])

    def wrote(self, key: str, value: bytes | None, revision: int) -> None:
        """Tells the views of a resource what this server wrote."""
        views = self._of(key)
        if views is not None:
            for view in views:
                view.wrote(key, value, revision)

    def follow(self, view: View[Any], after: int) -> None:
        task = asyncio.ensure_future(view.followed(after))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    def close(self) -> None:
        """Stops following."""
        for task in self._following:
            task.cancel()
