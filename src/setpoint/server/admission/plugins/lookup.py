"""What a rule must know of other objects: a live view, made when it is first asked for, by name and by namespace."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from setpoint.objects.tree import Object
from setpoint.server.registry.indexes import View
from setpoint.server.request.context import Services

T = TypeVar("T")
_NOTHING: Mapping[str, object] = {}


class Lookup(Generic[T]):
    """The objects of a built-in resource, each in the form that `make` gives it. Belongs to one rule of one server."""

    def __init__(
        self,
        group: str,
        version: str,
        plural: str,
        make: Callable[[Object], T],
        learned: Callable[[str, str, T | None], None] | None = None,
    ) -> None:
        """`learned` is told of each object that comes, changes or goes: its namespace, its name, and what it is now."""
        self._of = group, version, plural
        self._make = make
        self._learned = learned
        # All of them; None until they are first asked for.
        self.view: View[T] | None = None
        # By namespace, and then by name; what has no namespace is below the empty one.
        self._found: dict[str, dict[str, T]] = {}

    async def all(self, services: Services, namespace: str = "") -> Mapping[str, T]:
        """Those of a namespace by name. The mapping is the view's own: read it, and do not keep it over an `await`."""
        view = self.view
        if view is None:
            view = self.view = services.views.of(*self._of, self._make, self._changed)
        await view.current()
        return self._found.get(namespace, _NOTHING)  # type: ignore[arg-type]

    async def get(self, services: Services, name: str, namespace: str = "") -> T | None:
        return (await self.all(services, namespace)).get(name)

    @property
    def places(self) -> list[tuple[str, str]]:
        """The namespaces and names of all that are known."""
        return [(namespace, name) for namespace, found in self._found.items() for name in found]

    def _changed(self, key: str, made: T | None) -> None:
        if self.view is None:
            return
        namespace, _, name = key[len(self.view.prefix) :].rpartition("/")
        if self._learned is not None:
            self._learned(namespace, name, made)
        if made is not None:
            self._found.setdefault(namespace, {})[name] = made
            return
        others = self._found.get(namespace, {})
        others.pop(name, None)
        if not others:
            self._found.pop(namespace, None)
