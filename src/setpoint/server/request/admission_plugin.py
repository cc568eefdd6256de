"""What admission is asked about, and what a rule of it is.

A rule is a `Plugin`: it says which writes concern it at all, may change the object in `mutate`, and may refuse it in
`validate`. The server's own rules, policies, webhooks and the functions that a program registers are all plugins.
"""

from typing import Any

from setpoint.server.ports import Operation
from setpoint.server.registry.indexes import View
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context


class Plugin:
    """A rule that is switched on and off by its name. A subclass overrides what it needs."""

    name: str = ""
    # What the rule goes by, if that are objects of one kind: as long as there are none, it is not asked.
    goes_by: View[Any] | None = None

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
