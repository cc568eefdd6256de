"""The base class of admission plugins.

A `Plugin` declares which writes concern the plugin, may change the object in `mutate`, and may reject the object in
`validate`. The built-in rules, policies, webhooks and the functions that a program registers are all plugins.
"""

from typing import Any

from setpoint.server.ports import Operation
from setpoint.server.registry.indexes import View
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context


class Plugin:
    """A rule of admission that is enabled and disabled by name. A subclass overrides the methods that it needs."""

    name: str = ""
    # The objects that configure the rule, if they are of one kind: while there are none, the rule is skipped.
    config_view: View[Any] | None = None

    def concerns(self, resource: Resource, verb: str) -> bool:
        """Returns True if the rule may apply to such writes. The result is cached per resource, so conditions that
        depend on the request or on stored objects belong into `mutate` and `validate`."""
        return True

    async def mutate(self, context: Context, operation: Operation) -> None:
        """Changes or rejects the object."""

    async def validate(self, context: Context, operation: Operation) -> None:
        """Rejects an invalid object. Must not change the object."""


def overrides(plugin: Plugin, method: str) -> bool:
    """Returns True if a plugin overrides a method, `mutate` or `validate`."""
    return getattr(type(plugin), method) is not getattr(Plugin, method)


def shown_name(operation: Operation) -> str:
    """Returns the name of the object for an error message: its name, its generateName, or "Unknown"."""
    metadata = (operation.object or {}).get("metadata") or {}
    return operation.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
