"""The state machine of a container: decides the next step for a Container object.

Each reconcile takes one step. Long operations, a start with its pull or a stop, are tasks that trigger a reconcile when
they end.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from setpoint.controller.context import Context
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.controllers.container import links
from setpoint.workload.controllers.container.container_health import ContainerHealth
from setpoint.workload.controllers.container.desired_state import Blocked, wanted
from setpoint.workload.controllers.container.engine_failure import error_text, problem_condition
from setpoint.workload.controllers.container.lifecycle import (
    ContainerWorkload,
    ended,
    restarted_by_engine,
    should_restart,
)
from setpoint.workload.controllers.container.start_sequence import KIND, ContainerStart, StartProblem
from setpoint.workload.controllers.workload_state import SUSPENDED, SUSPENDING, TOO_MANY
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.kinds.container import Container, ContainerSpec, ContainerState
from setpoint.workload.process.monitored_process import end_of
from setpoint.workload.process.ties import Tie
from setpoint.workload.restart_reasons import REQUESTED, probe_failed
from setpoint.workload.runtime import Machine

# The delay before the next request to an engine that failed.
AGAIN_SECONDS = 2.0
# The time that an engine may take for a restart by its restart policy.
_RESTART_SECONDS = 3.0
_LINES = 5

_log = logging.getLogger(__name__)


class ContainerStateMachine:
    """Takes the next step for any container. `wake` triggers a reconcile."""

    def __init__(self, machine: Machine, wake: Callable[[str], None]) -> None:
        self._machine, self._wake = machine, wake
        self._health = ContainerHealth(machine, wake)

    async def advance(self, ctx: Context, obj: Container, tree: Object, workload: ContainerWorkload) -> float | None:
        """Takes the next step. Returns the delay in seconds before the next one, or None."""
        spec = obj.spec
        if workload.work is not None:
            if not workload.work.done():
                if workload.starting and (spec.stop or spec.suspend):
                    workload.work.cancel()
                return None
            if (after := self._handle_finished_work(spec, workload)) is not None:
                return after
        if not spec.start and not workload.id:
            self.set_state(
                workload, "Pending", "NotStarted", "start is false: set start to true to start the container"
            )
            return None
        if spec.suspend and not spec.stop and not workload.id:
            self._suspend(workload)
            return None
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            self.without_engine(workload, problem_condition(engine) if engine else None)
            return None
        try:
            if workload.id and workload.stale and (after := await self._inspect(engine, obj, workload)) is not None:
                return after
        except EngineError as error:
            self.without_engine(workload, (type(error).__name__, error_text(error)))
            return AGAIN_SECONDS
        if workload.id and workload.seen is not None and workload.seen.is_running:
            self._reconcile_running(engine, obj, workload)
            return workload.check_stability(self._machine.clock.now())
        if spec.suspend and not spec.stop:
            self._close_logs(workload)
            self._suspend(workload)
            return None
        if workload.is_over:
            resumes = workload.restarting or workload.reason == SUSPENDED
            if not self._is_restart_requested(obj, workload) and (spec.stop or not resumes):
                return None
            workload.start_run(is_requested=True)
        if spec.stop:
            self.set_state(workload, "FailedToStart", "Stopped", "stop was set before the container was started")
            return None
        if workload.due is not None:
            left = workload.due - self._machine.clock.monotonic()
            is_restart_requested = self._is_restart_requested(obj, workload) or bool(workload.restarting)
            if left > 0 and not is_restart_requested:
                return left
            workload.start_run(is_requested=is_restart_requested)
        return await self._begin(ctx, engine, obj, tree, workload)

    def without_engine(self, workload: ContainerWorkload, problem: tuple[str, str] | None) -> None:
        """Reports that no engine is available. The engine's return triggers a reconcile."""
        if problem is None:
            self.set_state(workload, workload.state or "Pending", *problem_condition(None))
        elif not workload.is_over:
            self.set_state(workload, "RuntimeUnhealthy", *problem)
            workload.stale = True

    async def _inspect(self, engine: Engine, obj: Container, workload: ContainerWorkload) -> float | None:
        """Inspects the container and takes over its state. Returns the delay in seconds before the next inspection, or
        None. Raises EngineError."""
        # Reset before the inspection: later events make the state stale again.
        workload.stale = False
        try:
            seen = await engine.containers.find(workload.id)
        except EngineError:
            workload.stale = True
            raise
        if seen is None:
            await self._removed(workload)
            return None
        before = workload.seen
        is_other = before is None or before.is_running or before.started_at != seen.started_at
        workload.observe(seen, self._machine.clock.now())
        if workload.on_demand:
            self._machine.logs.of(workload.uid).demand = partial(workload.output.fetch, engine, seen)
        elif seen.status != "created" and obj.spec.terminal is None:
            workload.output.follow(engine, seen)
        if seen.is_running:
            await self._monitor(engine, obj.spec, workload)
            self._health.start_probes(engine, obj, workload)
            workload.ended_at = None
            self.set_state(workload, *_state_of(seen))
        elif seen.status in ("exited", "dead") and (is_other or not workload.is_over):
            if self._is_restarted_soon(obj.spec, workload, seen):
                return _RESTART_SECONDS
            await self._handle_exit(obj.spec, workload, seen)
        return None

    def _is_restarted_soon(self, spec: ContainerSpec, workload: ContainerWorkload, seen: Seen) -> bool:
        """Returns True if the engine is about to restart an ended container: the restart takes a moment and may not
        happen."""
        now = self._machine.clock.monotonic()
        is_requested = spec.stop or spec.suspend or workload.restarting or workload.stopped
        if is_requested or not restarted_by_engine(spec, seen.exit_code):
            return False
        if workload.ended_at is None:
            workload.ended_at = now
        if now - workload.ended_at >= _RESTART_SECONDS:
            return False
        workload.stale = True
        workload.close_probing()
        self.set_state(workload, "Starting", "Restarting", f"{ended(seen)[1]}; the engine restarts the container")
        return True

    async def _monitor(self, engine: Engine, spec: ContainerSpec, workload: ContainerWorkload) -> None:
        """Watches the process whose end stops the container."""
        if workload.monitored is None:
            monitor = spec.monitor_pid, spec.monitor_timestamp
            wake, socket = partial(self._wake, workload.name), engine.endpoint.unix
            tie = Tie((0, 0), 0, workload.stop_seconds, socket=socket, container=workload.id) if socket else None
            workload.monitored = await end_of(self._machine.processes, *monitor, wake, tie)

    async def _removed(self, workload: ContainerWorkload) -> None:
        workload.close_probing()
        await workload.end_terminal()
        await workload.output.wait_end()
        workload.id, workload.seen = "", None
        workload.finished_at = workload.finished_at or self._machine.clock.now()
        self._close_logs(workload)
        message = "the container was removed by another client: request a restart, or create the object again"
        self.set_state(workload, "Unknown", "Removed", message)

    def _reconcile_running(self, engine: Engine, obj: Container, workload: ContainerWorkload) -> None:
        """Stops or restarts the running container if the spec, a probe or the monitored process requires so."""
        if obj.spec.stop:
            self.stop(engine, workload, "Stopping", "stop was set")
        elif obj.spec.suspend:
            self.stop(engine, workload, SUSPENDING, "suspend was set")
        elif workload.monitored is not None and workload.monitored.done():
            self.stop(engine, workload, "MonitoredProcessEnded", f"process {obj.spec.monitor_pid} has ended")
        elif self._is_restart_requested(obj, workload) or workload.restarting:
            self.stop(engine, workload, "Restarting", workload.restarting)
        elif workload.probing is not None and (dead := workload.probing.failed_liveness) is not None:
            workload.restarting = probe_failed(dead.probe.name, dead.reason)
            workload.restart_waits = True
            self.stop(engine, workload, "LivenessProbeFailed", workload.restarting)

    def _is_restart_requested(self, obj: Container, workload: ContainerWorkload) -> bool:
        request = restart_request(obj)
        if not request or request == workload.obeyed or obj.spec.stop:
            return False
        workload.obeyed, workload.restarting = request, REQUESTED
        return True

    def _handle_finished_work(self, spec: ContainerSpec, workload: ContainerWorkload) -> float | None:
        """Takes over the result of a start or a stop. Returns the delay in seconds before another attempt, or None."""
        work, workload.work = workload.work, None
        assert work is not None
        workload.stale = True
        if workload.starting:
            workload.rebuild = False
        if work.cancelled():
            if spec.stop:
                self.set_state(workload, "FailedToStart", "Stopped", "stop was set before the container had started")
            else:
                self._suspend(workload)
            return None
        error = work.exception()
        if error is None:
            return None
        if isinstance(error, StartProblem):
            workload.close_probing()
            workload.finished_at = None if error.again else self._machine.clock.now()
            if error.again is None and should_restart(spec, None):
                workload.began = self._machine.clock.monotonic()  # the container never ran
                self._schedule_restart(spec, workload, error.message, "FailedToStart")
                return None
            self.set_state(workload, error.state, error.reason, error.message)
            if error.again is None:
                self._close_logs(workload)
            return error.again
        if isinstance(error, EngineLost):
            self.without_engine(workload, ("EngineLost", error_text(error)))
            return AGAIN_SECONDS
        if isinstance(error, EngineError):
            self.set_state(workload, "Stopping", "StopFailed", error_text(error))
            return AGAIN_SECONDS
        raise error

    async def _handle_exit(self, spec: ContainerSpec, workload: ContainerWorkload, seen: Seen) -> None:
        """Handles the end of the container: final, or before a restart."""
        workload.close_probing()
        await workload.end_terminal()
        await workload.output.wait_end()
        reason, message = ended(seen)
        if workload.reason == SUSPENDING and not spec.stop:
            self._note(workload, message)
            self._close_logs(workload)
            self._suspend(workload)
            return
        if workload.restarting and not workload.restart_waits:
            self._note(workload, f"{message}; {workload.restarting}")
            workload.start_run(is_requested=True)
            return
        must_stop = spec.stop or (workload.monitored is not None and workload.monitored.done())
        if not must_stop and (workload.restarting or should_restart(spec, seen.exit_code)):
            why = f"{workload.restarting}; {message}" if workload.restarting else message
            self._schedule_restart(spec, workload, await self._with_output(workload, why), "Exited")
            return
        self._close_logs(workload)
        if must_stop:
            self.set_state(
                workload,
                "Exited",
                "Stopped" if spec.stop else "MonitoredProcessEnded",
                f"{message} after a stop was requested",
            )
        else:
            self.set_state(workload, "Exited", reason, await self._with_output(workload, message))

    def _schedule_restart(
        self, spec: ContainerSpec, workload: ContainerWorkload, why: str, over: ContainerState
    ) -> None:
        """Schedules a restart after the backoff, unless the restarts exceed the limit: then the state becomes
        `over`."""
        if when := workload.schedule_restart(self._machine.clock, spec.restart_backoff, spec.max_restarts):
            self.set_state(workload, "Starting", "BackOff", f"{why}; {when}")
        else:
            self._close_logs(workload)
            self.set_state(workload, over, TOO_MANY, f"{why}; {workload.give_up_message()}")

    def _suspend(self, workload: ContainerWorkload) -> None:
        """Reports the container as suspended."""
        state, reason, message = workload.suspend("Exited", is_over=workload.is_over)
        self.set_state(workload, state or "Pending", reason, message)

    # Starting and stopping

    async def _begin(
        self, ctx: Context, engine: Engine, obj: Container, tree: Object, workload: ContainerWorkload
    ) -> float | None:
        found = await wanted(ctx, self._machine, obj, tree, workload)
        if isinstance(found, Blocked):
            self.set_state(workload, found.state, found.reason, found.message)
            if workload.is_over:
                self._close_logs(workload)
            return found.again
        workload.began, workload.stopped, workload.obeyed = self._machine.clock.monotonic(), False, restart_request(obj)
        workload.due = workload.due_at = None
        directory = self._machine.logs.of(workload.uid).directory
        workload.files = str(directory / "startup_stdout.0.log"), str(directory / "startup_stderr.0.log")
        start = ContainerStart(self._machine, engine, found, workload, partial(self._set_state_of_start, workload))
        self._set_work(workload, asyncio.ensure_future(start.run()), starting=True)
        return None

    def _set_work(self, workload: ContainerWorkload, work: "asyncio.Task[None]", *, starting: bool) -> None:
        workload.work, workload.starting = work, starting
        work.add_done_callback(lambda _: self._wake(workload.name))

    def _set_state_of_start(
        self, workload: ContainerWorkload, state: ContainerState, reason: str, message: str
    ) -> None:
        self.set_state(workload, state, reason, message)
        self._wake(workload.name)

    def stop(self, engine: Engine, workload: ContainerWorkload, reason: str, message: str) -> None:
        """Starts to stop the running container; its end triggers a reconcile."""
        self.set_state(workload, "Stopping", reason, message)
        workload.stopped = True
        workload.close_probing()
        stopping = asyncio.ensure_future(engine.containers.stop(workload.id, seconds=workload.stop_seconds))
        self._set_work(workload, stopping, starting=False)

    # Status and logs

    def set_state(self, workload: ContainerWorkload, state: ContainerState, reason: str, message: str) -> None:
        if workload.set_state(state, reason, message):
            self._machine.reporter.report(KIND, workload, state, reason, message, is_restart=workload.restarts > 0)

    def _close_logs(self, workload: ContainerWorkload) -> None:
        """Ends the logs of this run."""
        workload.output.end()
        self._machine.logs.end(workload.uid)

    def _note(self, workload: ContainerWorkload, text: str) -> None:
        _log.debug("container %s: %s", workload.name, text)
        self._machine.logs.note(workload.uid, text, KIND)

    async def _with_output(self, workload: ContainerWorkload, text: str) -> str:
        """Returns the text with the end of the container's output, if the exit code is not 0."""
        if not workload.exit_code:
            return text
        logs, since = self._machine.logs, workload.started_at
        tail = await logs.tail(workload.uid, "stderr", _LINES, since) or await logs.tail(
            workload.uid, "stdout", _LINES, since
        )
        return f"{text}; last output: {tail}" if tail else text


def _state_of(seen: Seen) -> tuple[ContainerState, str, str]:
    if seen.status == "paused":
        return "Paused", "Paused", "the container is paused: unpause it in the engine"
    if seen.status == "restarting":
        return "Starting", "Restarting", f"the engine restarts the container (restart {seen.restart_count})"
    return "Running", "Running", f"container {seen.id[:12]}"


def restart_request(obj: Container) -> str:
    return meta.annotations(links.tree_with_kind(obj)).get(RESTART_REQUESTED, "")
