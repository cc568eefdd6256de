"""The health of running containers: their probes, and the health check of their image.

Probes of type Exec run in the container. Podman relies on systemd timers for health checks; without them, this module
runs the health checks.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from setpoint.workload.controllers.container.lifecycle import ContainerWorkload
from setpoint.workload.controllers.container.links import tree_with_kind
from setpoint.workload.controllers.probe_runner import Probes
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.kinds.container import Container
from setpoint.workload.probes.prober import Probing
from setpoint.workload.runtime import Machine

_OUTPUT_BYTES = 4096
# The engines' default interval of a health check.
_INTERVAL_SECONDS = 30.0
_SHORTEST_SECONDS = 1.0
_NANOSECONDS = 1_000_000_000


class ContainerHealth:
    """Runs the probes and health checks of all containers. `wake` triggers a reconcile."""

    def __init__(self, machine: Machine, wake: Callable[[str], None]) -> None:
        self._machine, self._wake = machine, wake

    def start_probes(self, engine: Engine, obj: Container, workload: ContainerWorkload) -> None:
        """Starts the probes of a container, once per start of the container."""
        assert workload.seen is not None
        now = (workload.id, workload.seen.started_at)
        if workload.probed == now:
            return
        workload.close_probing()
        workload.probed, workload.probing = now, None
        if obj.spec.health_probes:
            execute = partial(execute_in, engine, workload.id)
            before = partial(workload.output.lines_before, engine, workload.seen)
            lookup = partial(self._machine.lookup, {})
            probes = Probes(self._machine, workload.uid, tree_with_kind(obj), lookup, execute, before)
            wake = partial(self._wake, workload.name)
            workload.probing = Probing(obj.spec.health_probes, probes.run, wake, self._machine.clock)
        if engine.version.name == "podman" and workload.seen.health.status:
            workload.checking = asyncio.ensure_future(self._check(engine, workload))

    async def _check(self, engine: Engine, workload: ContainerWorkload) -> None:
        """Runs the health check of a container periodically."""
        assert workload.seen is not None
        check = (workload.seen.raw.get("Config") or {}).get("Healthcheck") or {}
        interval = max((check.get("Interval") or 0) / _NANOSECONDS or _INTERVAL_SECONDS, _SHORTEST_SECONDS)
        container, status = workload.id, workload.seen.health.status
        while True:
            try:
                found = await engine.containers.check_health(container)
            except EngineError:
                found = status  # stopped, or no engine: both are reported elsewhere
            if found != status or status == "starting":
                status = found
                workload.stale = True
                self._wake(workload.name)
            await self._machine.clock.sleep(interval)


async def execute_in(engine: Engine, container: str, command: Sequence[str], directory: str) -> tuple[int | None, str]:
    """Runs a command in a container to its end. Returns its exit code and the end of its output. Raises EngineLost if
    the connection to the engine is lost; the result of the command is then unknown."""
    output = b""
    try:
        async with engine.containers.exec(container, command, directory=directory) as run:
            async for _, data in run:
                output = (output + data)[-_OUTPUT_BYTES:]
            code = await run.exit_code()
    except EngineLost:
        raise
    except EngineError as error:
        return None, error.message
    return code, output.decode("utf-8", "replace").strip()
