"""The admission chain: all plugins of a server, in kube-apiserver's order.

The plugins that apply to a resource and verb are determined once; other plugins cost no time, nor do plugins configured
by objects (policies, webhooks, quotas) as long as there are no such objects.

If a plugin changes the object after others have seen the object, and requests reinvocation, all mutating plugins run a
second time.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from setpoint.objects.metrics import Histogram, MetricFamily
from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin, overrides
from setpoint.server.request.context import Context

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_STEP = "apiserver_admission_step_admission_duration_seconds"


class Chain:
    """Several plugins as one. Measures the two steps, and exports the measurements on `/metrics`."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        # The duration by step, verb, and True if the step refused the request.
        self._seconds: dict[tuple[str, str, bool], Histogram] = {}

    async def mutate(self, context: Context, operation: Operation) -> None:
        await self._measured("admit", context, operation, self._mutate)

    async def validate(self, context: Context, operation: Operation) -> None:
        await self._measured("validate", context, operation, self._validate)

    def families(self) -> Iterator[MetricFamily]:
        """Yields the metrics of the two steps."""
        found = [
            ({"type": step, "operation": verb, "rejected": str(rejected).lower()}, seconds)
            for (step, verb, rejected), seconds in self._seconds.items()
        ]
        yield MetricFamily(_STEP, "histogram", "Duration of the mutating and the validating plugins.", found)

    async def _measured(
        self, step: str, context: Context, operation: Operation, run: Callable[[Context, Operation], Awaitable[None]]
    ) -> None:
        clock = context.services.clock
        started, rejected = clock.monotonic(), True
        try:
            await run(context, operation)
            rejected = False
        finally:
            key = step, operation.verb, rejected
            found = self._seconds.get(key)
            if found is None:
                found = self._seconds[key] = Histogram(_SECONDS)
            found.observe(clock.monotonic() - started)

    async def _mutate(self, context: Context, operation: Operation) -> None:
        plugins = self._concerned("mutate", operation)
        for plugin in plugins:
            if plugin.config_view is None or not plugin.config_view.is_empty:
                await plugin.mutate(context, operation)
        if operation.reinvoke:
            operation.is_reinvoked = True
            for plugin in plugins:
                await plugin.mutate(context, operation)

    async def _validate(self, context: Context, operation: Operation) -> None:
        for plugin in self._concerned("validate", operation):
            if plugin.config_view is None or not plugin.config_view.is_empty:
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
