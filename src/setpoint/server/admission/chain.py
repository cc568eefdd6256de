"""The admission chain: all plugins of a server, in kube-apiserver's order.

The plugins that apply to a resource and verb are determined once; other plugins cost no time, nor do plugins configured
by objects (policies, webhooks, quotas) as long as there are no such objects.

If a plugin changes the object after others have seen the object, and requests reinvocation, all mutating plugins run a
second time.
"""

from collections.abc import Sequence

from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin, overrides
from setpoint.server.request.context import Context


class Chain:
    """Several plugins as one."""

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
        # Cached on the resource: a changed definition replaces its resources, which discards this cache.
        remembered = operation.resource.admitting
        found: Sequence[Plugin] | None = remembered.get((phase, operation.verb))
        if found is None:
            found = remembered[phase, operation.verb] = tuple(
                plugin
                for plugin in self.plugins
                if overrides(plugin, phase) and plugin.concerns(operation.resource, operation.verb)
            )
        return found
