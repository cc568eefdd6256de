"""The chain: all rules of a server as one, in the real server's order.

Which rules concern the writes of a resource is found out once for each resource and verb; the others cost nothing, nor
do those that go by objects (policies, webhooks, quotas) where there are none.
When a rule changed the object after others had seen it, and asks for it, all that mutate are asked once more.
"""

from collections.abc import Sequence

from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin, overrides
from setpoint.server.request.context import Context


class Chain:
    """Several plugins as one rule."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)

    async def mutate(self, context: Context, operation: Operation) -> None:
        plugins = self._concerned("mutate", operation)
        for plugin in plugins:
            if plugin.goes_by is None or not plugin.goes_by.is_empty:
                await plugin.mutate(context, operation)
        if operation.reinvoke:
            operation.is_reinvoked = True
            for plugin in plugins:
                await plugin.mutate(context, operation)

    async def validate(self, context: Context, operation: Operation) -> None:
        for plugin in self._concerned("validate", operation):
            if plugin.goes_by is None or not plugin.goes_by.is_empty:
                await plugin.validate(context, operation)

    def _concerned(self, phase: str, operation: Operation) -> Sequence[Plugin]:
        # Kept on the resource: when a definition changes, its old resources go, and what is remembered of them.
        remembered = operation.resource.admitting
        found: Sequence[Plugin] | None = remembered.get((phase, operation.verb))
        if found is None:
            found = remembered[phase, operation.verb] = tuple(
                plugin
                for plugin in self.plugins
                if overrides(plugin, phase) and plugin.concerns(operation.resource, operation.verb)
            )
        return found
