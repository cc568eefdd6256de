"""All subresources of workloads: for `Serving(subresources=...)`, before the workloads exist."""

from collections.abc import Sequence

from setpoint.server.request.extension import Extension
from setpoint.workload.kinds.api_names import GROUP, LOGGED
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.subresources import attach, container_exec, log
from setpoint.workload.workloads import Workloads

_PLURALS = {kind: plural for plural, kind in LOGGED.items()}


class WorkloadEndpoints:
    """Serves the subresources of workload objects, once `workloads` is set."""

    def __init__(self) -> None:
        self.workloads: Workloads | None = None

    @property
    def extensions(self) -> Sequence[Extension]:
        """The extensions of the server."""
        logs = log.LogEndpoint(self._logs)
        attached = attach.AttachEndpoint(lambda: self.workloads)
        executed = container_exec.ExecEndpoint(lambda: self.workloads)
        return (
            *(Extension(GROUP, _PLURALS[kind], log.NAME, {"get": logs.get}) for kind in log.ABSENT),
            *(
                Extension(GROUP, _PLURALS[kind], attach.NAME, {"get": attached.connect, "create": attached.connect})
                for kind in ("Executable", "Container", "ContainerExec")
            ),
            Extension(GROUP, "containers", container_exec.NAME, {"get": executed.connect, "create": executed.connect}),
        )

    def _logs(self) -> LogStore | None:
        return self.workloads.machine.logs if self.workloads is not None else None
