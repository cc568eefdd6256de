"""The endpoints of `setpoint.dev` that need more than the server: summaries, causes, details, controllers, runs.

Their modules are imported at the first request, so that a control plane starts without them.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from setpoint.server.message import RequestHandler, Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.extension import Endpoint, Endpoints, ObjectEndpoint
from setpoint.workload.usage_settings import UsageSettings

if TYPE_CHECKING:
    from setpoint.controller.controller import Controller
    from setpoint.past.runs.run_history import RunHistory
    from setpoint.past.why.endpoint import WhyEndpoint
    from setpoint.plane.controllers_endpoint import HostedReports
    from setpoint.plane.usage_endpoint import UsageEndpoint
    from setpoint.workload.workloads import Workloads

# The kinds that have the details of workloads, and those whose usage can be measured.
_WORKLOADS = frozenset(("Executable", "Container", "ContainerExec"))
_MEASURED = frozenset(("Executable", "Container"))


class OwnEndpoints:
    """The endpoints of a control plane.

    `handler` answers requests of this process; `controllers` returns the running controllers, `workloads` the
    workloads, and `runs` the earlier runs; None if there are none. `usage` limits the samples of CPU and memory.
    """

    def __init__(
        self,
        handler: RequestHandler | None = None,
        controllers: "Callable[[], Sequence[Controller]]" = tuple,
        workloads: "Callable[[], Workloads | None]" = lambda: None,
        runs: "Callable[[], RunHistory] | None" = None,
        usage: UsageSettings = UsageSettings(),  # noqa: B008 - immutable
    ) -> None:
        self._handler, self._controllers, self._workloads = handler, controllers, workloads
        self._runs, self._usage_settings = runs, usage
        self._why: WhyEndpoint | None = None
        self._usage: UsageEndpoint | None = None
        # The controllers of the app.
        self.hosted: HostedReports | None = None

    @property
    def endpoints(self) -> Endpoints:
        """The endpoints, for `Serving(endpoints=...)`."""
        return (
            ObjectEndpoint("summary", {"get": _summary}, "object"),
            ObjectEndpoint("why", {"get": self._explain}, "history"),
            ObjectEndpoint("environment", {"get": _environment}, "object", _WORKLOADS),
            ObjectEndpoint("probes", {"get": _probes}, "object", _WORKLOADS),
            ObjectEndpoint("attempts", {"get": self._attempts}, "object", _WORKLOADS),
            ObjectEndpoint("samples", {"get": self._samples}, "object", _MEASURED),
            Endpoint("summaries", {"list": _list_summaries, "watch": _watch_summaries}, in_namespaces=True),
            Endpoint("timeline", {"list": _timeline}),
            Endpoint("controllers", {"list": self._list_controllers}),
            Endpoint("controllers", {"get": self._reconciles}, is_named=True, subresource="reconciles", continues=True),
            Endpoint("runs", {"list": self._answer_runs}),
            Endpoint("runs", {"get": self._answer_runs, "patch": self._answer_runs}, is_named=True),
            Endpoint("runs", {"get": self._answer_runs}, is_named=True, subresource="objects"),
            Endpoint("runs", {"get": self._answer_runs}, is_named=True, subresource="difference"),
        )

    async def _explain(self, context: Context, resource: Resource) -> Response:
        if self._why is None:
            from setpoint.past.why.endpoint import WhyEndpoint

            self._why = WhyEndpoint(self._handler)
        return await self._why.get(context, resource)

    async def _attempts(self, context: Context, resource: Resource) -> Response:
        from setpoint.plane.workload_details import attempts

        workloads = self._workloads()
        return await attempts(context, resource, workloads.machine.logs if workloads is not None else None)

    async def _samples(self, context: Context, resource: Resource) -> Response:
        if self._usage is None:
            from setpoint.plane.usage_endpoint import UsageEndpoint

            self._usage = UsageEndpoint(self._workloads, self._usage_settings)
        return await self._usage.get(context, resource)

    async def _list_controllers(self, context: Context) -> Response:
        from setpoint.plane.controllers_endpoint import list_controllers

        return await list_controllers(context, self._controllers, self.hosted)

    async def _reconciles(self, context: Context) -> Response:
        from setpoint.plane.controllers_endpoint import reconciles

        return await reconciles(context, self._controllers, self.hosted)

    async def _answer_runs(self, context: Context) -> Response:
        from setpoint.plane.runs_endpoint import answer

        return await answer(self._runs() if self._runs is not None else None, context)


async def _summary(context: Context, resource: Resource) -> Response:
    from setpoint.workload.summaries.endpoints import summary

    return await summary(context, resource)


async def _list_summaries(context: Context) -> Response:
    from setpoint.workload.summaries.endpoints import list_summaries

    return await list_summaries(context)


async def _watch_summaries(context: Context) -> Response:
    from setpoint.workload.summaries.endpoints import watch_summaries

    return await watch_summaries(context)


async def _timeline(context: Context) -> Response:
    from setpoint.workload.summaries.timeline_endpoint import timeline

    return await timeline(context)


async def _environment(context: Context, resource: Resource) -> Response:
    from setpoint.plane.workload_details import environment

    return await environment(context, resource)


async def _probes(context: Context, resource: Resource) -> Response:
    from setpoint.plane.workload_details import probes

    return await probes(context, resource)
