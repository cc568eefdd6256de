"""A live view of other objects for admission plugins, by namespace and name, created on first use."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from setpoint.objects.tree import Object
from setpoint.server.registry.indexes import View
from setpoint.server.request.context import Services

T = TypeVar("T")
_NOTHING: Mapping[str, object] = {}


class Lookup(Generic[T]):
    """The objects of a built-in resource, converted by `make`. Belongs to one plugin of one server."""

    def __init__(
        self,
        group: str,
        version: str,
        plural: str,
        make: Callable[[Object], T],
        on_update: Callable[[str, str, T | None], None] | None = None,
    ) -> None:
        """Sets up the lookup. `on_update` is called with the namespace, name and new value of each object that is
        created, changed or deleted."""
        self._of = group, version, plural
        self._make = make
        self._on_update = on_update
        # The view of all objects; None until first used.
        self.view: View[T] | None = None
        # By namespace, then by name. Cluster-scoped objects have an empty namespace.
        self._found: dict[str, dict[str, T]] = {}

    async def all(self, services: Services, namespace: str = "") -> Mapping[str, T]:
        """Returns the objects of a namespace by name. The mapping is live: do not modify or keep across an `await`."""
        view = self.view
        if view is None:
            view = self.view = services.views.of(*self._of, self._make, self._changed)
        await view.current()
        return self._found.get(namespace, _NOTHING)  # type: ignore[arg-type]

    async def get(self, services: Services, name: str, namespace: str = "") -> T | None:
        return (await self.all(services, namespace)).get(name)

    @property
    def places(self) -> list[tuple[str, str]]:
        """The namespaces and names of all known objects."""
        return [(namespace, name) for namespace, found in self._found.items() for name in found]

    def _changed(self, key: str, made: T | None) -> None:
        if self.view is None:
            return
        namespace, _, name = key[len(self.view.prefix) :].rpartition("/")
        if self._on_update is not None:
            self._on_update(namespace, name, made)
        if made is not None:
            self._found.setdefault(namespace, {})[name] = made
            return
        others = self._found.get(namespace, {})
        others.pop(name, None)
        if not others:
            self._found.pop(namespace, None)
