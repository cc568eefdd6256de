"""The state of one Container as its controller knows it, and the object's status derived from that state.

`seen` is the last observed state of the container in the engine; `stale` is set when an event has come since. One
operation runs at a time (`work`: a start or a stop); the next reconcile takes over its result.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from setpoint.controller.context import Context
from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.container.output import ContainerOutput
from setpoint.workload.controllers.workload_state import SUSPENDED, WorkloadState, moment
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.kinds.container import DONE, ContainerSpec, ContainerState, ContainerStatus
from setpoint.workload.kinds.file_action import SyncStatus
from setpoint.workload.kinds.health_probes import HealthProbeResult, Outcome
from setpoint.workload.kinds.parts import HealthStatus
from setpoint.workload.probes.verdict import health_of

if TYPE_CHECKING:
    from setpoint.workload.terminal.container_terminal import ContainerTerminal
    from setpoint.workload.terminal.screen import Screen

# The name of the engine's health check among the probe results.
RUNTIME = "__runtime"
_OUTCOMES: dict[str, Outcome] = {"healthy": "Success", "unhealthy": "Failure"}
# A container that the engine has restarted is ready after this time without another exit. After the same time, Docker
# resets the backoff of its restarts.
_STABLE_SECONDS = 10.0


@dataclass
class ContainerWorkload(WorkloadState):
    """One Container object and its container."""

    output: ContainerOutput = field(kw_only=True)
    state: ContainerState = ""
    # The container in the engine, and the lifecycle key that it was created with.
    id: str = ""
    container_name: str = ""
    key: str = ""
    # The name of a container whose creation was requested and may have succeeded without a response.
    attempted: str = ""
    # True: output is fetched only when a client reads the log, because the container ran before this control plane.
    on_demand: bool = False
    # The mode and stop timeout of the spec, and the name of a container that others may create.
    is_session: bool = True
    stop_seconds: int = 10
    awaits: str = ""
    seen: Seen | None = None
    stale: bool = True
    # The running operation; `starting` is True for a start.
    work: "asyncio.Task[None] | None" = None
    starting: bool = False
    # True after we stopped the container; and when the container was first observed as ended although the engine should
    # restart the container.
    stopped: bool = False
    ended_at: float | None = None
    # True after a restart by the engine, until the container has run for a while.
    is_unstable: bool = False
    # True: the next start builds and creates everything anew.
    rebuild: bool = False
    # The container and start time that the probes belong to.
    probed: tuple[str, datetime | None] = ("", None)
    checking: "asyncio.Task[None] | None" = None
    # The status of the engine's health check, and since when.
    checked: str = ""
    checked_at: datetime | None = None
    progress: str = ""
    # The terminal of the container.
    screen: "ContainerTerminal | None" = None
    # The screen of the last terminal, which stays after the end for viewers that come late.
    last_screen: "Screen | None" = None
    networks: list[str] = field(default_factory=list)
    # The counts of the files that were copied into the container.
    sync: SyncStatus | None = None

    @property
    def is_over(self) -> bool:
        return self.state in DONE

    @property
    def ends_with_us(self) -> bool:
        return self.is_session and bool(self.id)

    def observe(self, seen: Seen, now: datetime) -> None:
        """Takes over the observed state of the container."""
        self.seen, self.stale = seen, False
        self.container_name = seen.name
        self.started_at = seen.started_at or self.started_at
        if seen.is_running:
            self.exit_code = self.finished_at = None
        elif seen.status in ("exited", "dead"):
            self.exit_code = seen.exit_code
            ended = seen.finished_at or now
            # Podman reports for short runs that they ended before they started.
            self.finished_at = max(ended, self.started_at) if self.started_at is not None else ended
        if seen.health.status != self.checked:
            self.checked, self.checked_at = seen.health.status, now

    def check_stability(self, now: datetime) -> float | None:
        """Updates `is_unstable` for a running container. Returns the seconds until the container counts as stable, or
        None if it does. Probes decide about readiness by themselves."""
        seen = self.seen
        left = None
        if seen is not None and seen.restart_count and seen.started_at is not None and not self.results:
            left = _STABLE_SECONDS - (now - seen.started_at).total_seconds()
        self.is_unstable = left is not None and left > 0
        return left if self.is_unstable else None

    async def end_terminal(self) -> None:
        """Shows the exit code in the container's terminal, if there is one, and closes the terminal."""
        screen, self.screen = self.screen, None
        if screen is not None:
            self.terminal = ""
            await screen.end(self.exit_code)

    def close_probing(self) -> None:
        super().close_probing()
        if self.checking is not None:
            self.checking.cancel()
            self.checking = None

    @property
    def results(self) -> list[HealthProbeResult]:
        """The results of the probes and of the engine's health check."""
        found = self.probing.results if self.probing is not None else []
        runtime = self._runtime()
        return found if runtime is None else [*found, runtime]

    def _runtime(self) -> HealthProbeResult | None:
        seen, at = self.seen, self.checked_at
        if seen is None or not seen.health.status or at is None:
            return None
        return HealthProbeResult(
            outcome=_OUTCOMES.get(seen.health.status, "Unknown"),
            timestamp=MicroTime.of(at),
            probe_name=RUNTIME,
            reason="" if seen.health.status == "healthy" else seen.health.output or seen.health.status,
            failures=seen.health.failing_streak,
        )

    @property
    def health(self) -> HealthStatus:
        """The health by DCP's rules."""
        if self.state == "Running":
            outcomes = [tally.outcome for tally in self.probing.tallies] if self.probing is not None else []
            runtime = self._runtime()
            return health_of(outcomes if runtime is None else [*outcomes, runtime.outcome])
        failed = self.state == "FailedToStart" or (self.state == "Exited" and self.exit_code)
        if self.state == "RuntimeUnhealthy" or (failed and self.reason != SUSPENDED):
            return "Unhealthy"
        return "Caution"

    def effective_args(self) -> list[str]:
        """Returns the command of the container, with the entry point: that of the image, unless the spec has another.
        Secrets in the arguments of the spec are not shown."""
        config = (self.seen.raw.get("Config") or {}) if self.seen is not None else {}
        entry = config.get("Entrypoint") or ()
        command = [*([entry] if isinstance(entry, str) else entry), *(config.get("Cmd") or ())]
        return [*command[: max(0, len(command) - len(self.args))], *self.args]

    def status(self) -> ContainerStatus:
        """Returns the status of the object, without its conditions."""
        by_engine = self.seen.restart_count if self.seen is not None else 0
        is_reported = self.state in ("Running", "Paused", "Starting", "Building", "Stopping", "")
        return ContainerStatus(
            state=self.state,
            container_id=self.id,
            container_name=self.container_name,
            startup_timestamp=moment(self.started_at),
            finish_timestamp=moment(self.finished_at),
            startup_std_out_file=self.files[0],
            startup_std_err_file=self.files[1],
            terminal_socket_path=self.terminal,
            exit_code=self.exit_code,
            message="" if is_reported else self.message,
            effective_env=self.effective_env(),
            effective_args=self.effective_args(),
            networks=self.networks,
            health_status=self.health,
            health_probe_results=self.results,
            lifecycle_key=self.key,
            restart_count=self.restarts + by_engine,
            last_exit_code=self.last_exit_code,
            restart_reason=self.restart_reason,
            next_restart_time=moment(self.due_at),
            observed_restart=self.obeyed,
            sync=self.sync,
            pull_progress=self.progress,
        )

    def restore(self, status: ContainerStatus | None) -> None:
        """Takes over the status that an earlier control plane reported."""
        if status is not None:
            self.restore_status(status)
            self.container_name = status.container_name


def should_restart(spec: ContainerSpec, exit_code: int | None) -> bool:
    """Returns True if the controller restarts the ended container: the spec has a backoff or a limit. Otherwise the
    engine does."""
    return _is_ours(spec) and _should_restart(spec, exit_code)


def restarted_by_engine(spec: ContainerSpec, exit_code: int | None) -> bool:
    """Returns True if the engine restarts the ended container."""
    return not _is_ours(spec) and _should_restart(spec, exit_code)


def _is_ours(spec: ContainerSpec) -> bool:
    """Returns True if restarts are handled by the controller and not by the engine."""
    return spec.restart_backoff is not None or spec.max_restarts is not None


def _should_restart(spec: ContainerSpec, exit_code: int | None) -> bool:
    policy = spec.restart_policy
    return policy in ("always", "unless-stopped") or (policy == "on-failure" and exit_code != 0)


def ended(seen: Seen) -> tuple[str, str]:
    """Returns the reason and message for the end of a container."""
    if seen.oom_killed:
        return "OOMKilled", "the container exceeded its memory limit and was killed: raise spec.resources.memory"
    message = f"the container ended with exit code {seen.exit_code}" + (f": {seen.error}" if seen.error else "")
    return ("Completed" if seen.exit_code == 0 else "Failed"), message


def report(ctx: Context, workload: ContainerWorkload) -> None:
    """Writes the state to the status of the object."""
    health = workload.health
    ctx.status.put(workload.status())
    running = workload.state == "Running"
    ctx.status.condition("Started", running or workload.state == "Paused", workload.reason, workload.message)
    if not running:
        ctx.status.condition("Ready", False, workload.reason, workload.message)
    elif workload.is_unstable and workload.seen is not None:
        count = workload.seen.restart_count
        times = "once" if count == 1 else f"{count} times"
        message = f"the engine has restarted the container {times}: see its logs"
        ctx.status.condition("Ready", False, "Restarting", message)
    elif health == "Healthy":
        ctx.status.condition("Ready", True, "Healthy", "the container is running and all probes succeed")
    else:
        unwell = [each for each in workload.results if each.outcome != "Success"]
        message = "; ".join(f"{each.probe_name}: {each.reason or each.outcome}" for each in unwell)
        reason = "ProbeFailed" if health == "Unhealthy" else "Probing"
        ctx.status.condition("Ready", False, reason, message or "the probes have no results yet")
