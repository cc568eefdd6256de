"""What admission is asked about, and what a rule of it is.

A rule is a `Plugin`: it says which writes concern it at all, may change the object in `mutate`, and may refuse it in
`validate`. The server's own rules, policies, webhooks and the functions that a program registers are all plugins.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.server.registry.conversion.pending import Held
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context

if TYPE_CHECKING:
    from setpoint.server.registry.indexes import View

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True)
class Operation:
    """One write as admission sees it. `object` may be changed in place, or replaced, while mutating.

    It is in the version of the request. A rule that puts something into it that was not decoded and defaulted (a patch
    of a webhook) gives it to `admission.changed.replace`.
    """

    verb: str  # CREATE, UPDATE, DELETE or CONNECT
    resource: Resource
    namespace: str
    name: str
    subresource: str
    object: Object | None
    old: Object | None
    dry_run: bool = False
    # The options of the request as an object: CreateOptions, UpdateOptions, PatchOptions or DeleteOptions.
    options: Object | None = None
    # Set by a rule that changed the object after others had seen it: those that want to are asked once more.
    reinvoke: bool = False
    # Whether this is that second time.
    is_reinvoked: bool = False
    # What a rule wants to remember from the first time to the second, under its own name.
    remembered: dict[str, Any] = field(default_factory=dict)
    # Keeps at hand what the objects are in the version that somebody is about to be asked in.
    held: Held = ()

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of what is written: the resource's own, or that of a subresource (a Scale, an Eviction)."""
        return self.resource.kind_at(self.subresource)


class Admission(Protocol):
    """A rule, or a chain of them. Both methods raise an APIError to refuse."""

    async def mutate(self, context: Context, operation: Operation) -> None:
        """May change the object."""

    async def validate(self, context: Context, operation: Operation) -> None:
        """May only refuse."""


class Plugin:
    """A rule that is switched on and off by its name. A subclass overrides what it needs."""

    name: str = ""
    # What the rule goes by, if that are objects of one kind: as long as there are none, it is not asked.
    goes_by: "View[Any] | None" = None

    def concerns(self, resource: Resource, verb: str) -> bool:
        """Whether the rule may have something to say of such writes. The answer is remembered for the resource; what
        depends on the request, or on what is stored, is asked later."""
        return True

    async def mutate(self, context: Context, operation: Operation) -> None:
        """May change the object, or refuse it."""

    async def validate(self, context: Context, operation: Operation) -> None:
        """May only refuse."""


def overrides(plugin: Plugin, method: str) -> bool:
    """Whether a plugin does anything in one of the two phases."""
    return getattr(type(plugin), method) is not getattr(Plugin, method)


def shown_name(operation: Operation) -> str:
    """What a refusal calls the object: its name, what its name will begin with, or that nobody knows."""
    metadata = (operation.object or {}).get("metadata") or {}
    return operation.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
