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
from setpoint.workload.controllers.container.engine_failure import told_trouble, words_of
from setpoint.workload.controllers.container.lifecycle import ContainerLife, ended, restarted_by_engine, should_restart
from setpoint.workload.controllers.container.start_sequence import KIND, ContainerStart, StartProblem
from setpoint.workload.controllers.workload_state import SUSPENDED, SUSPENDING, TOO_MANY
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.kinds.container import Container, ContainerSpec, ContainerState
from setpoint.workload.process.monitored_process import end_of
from setpoint.workload.process.ties import Tie
from setpoint.workload.runtime import Machine

# The delay before the next request to an engine that failed.
AGAIN_SECONDS = 2.0
# The time that an engine may take for a restart by its restart policy.
_RESTART_SECONDS = 3.0
_LINES = 5

_log = logging.getLogger(__name__)


class ContainerConduct:
    """Takes the next step for any container. `wake` triggers a reconcile."""

    def __init__(self, world: Machine, wake: Callable[[str], None]) -> None:
        self._world, self._wake = world, wake
        self._health = ContainerHealth(world, wake)

    async def advance(self, ctx: Context, obj: Container, tree: Object, life: ContainerLife) -> float | None:
        """Takes the next step. Returns the delay in seconds before the next one, or None."""
        spec = obj.spec
        if life.work is not None:
            if not life.work.done():
                if life.starting and (spec.stop or spec.suspend):
                    life.work.cancel()
                return None
            if (after := self._take_work(spec, life)) is not None:
                return after
        if not spec.start and not life.id:
            self.tell(life, "Pending", "NotStarted", "start is false: set start to true to start the container")
            return None
        if spec.suspend and not spec.stop and not life.id:
            self._rest(life)
            return None
        engine = self._world.engines.current
        if not isinstance(engine, Engine):
            self.without_engine(life, told_trouble(engine) if engine else None)
            return None
        try:
            if life.id and life.stale and (after := await self._look(engine, obj, life)) is not None:
                return after
        except EngineError as error:
            self.without_engine(life, (type(error).__name__, words_of(error)))
            return AGAIN_SECONDS
        if life.id and life.seen is not None and life.seen.is_running:
            self._tend(engine, obj, life)
            return None
        if spec.suspend and not spec.stop:
            self._ends(life)
            self._rest(life)
            return None
        if life.is_over:
            resumes = life.restarting or life.reason == SUSPENDED
            if not self._asked_to_restart(obj, life) and (spec.stop or not resumes):
                return None
            life.starts_anew(asked=True)
        if spec.stop:
            self.tell(life, "FailedToStart", "Stopped", "stop was set before the container was started")
            return None
        if life.due is not None:
            left = life.due - self._world.clock.monotonic()
            asked = self._asked_to_restart(obj, life) or bool(life.restarting)
            if left > 0 and not asked:
                return left
            life.starts_anew(asked=asked)
        return await self._begin(ctx, engine, obj, tree, life)

    def without_engine(self, life: ContainerLife, trouble: tuple[str, str] | None) -> None:
        """Reports that no engine is available. The engine's return triggers a reconcile."""
        if trouble is None:
            self.tell(life, life.state or "Pending", *told_trouble(None))
        elif not life.is_over:
            self.tell(life, "RuntimeUnhealthy", *trouble)
            life.stale = True

    async def _look(self, engine: Engine, obj: Container, life: ContainerLife) -> float | None:
        """Inspects the container and takes over its state. Returns the delay in seconds before the next inspection, or
        None. Raises EngineError."""
        # Reset before the inspection: later events make the state stale again.
        life.stale = False
        try:
            seen = await engine.containers.find(life.id)
        except EngineError:
            life.stale = True
            raise
        if seen is None:
            await self._removed(life)
            return None
        before = life.seen
        is_other = before is None or before.is_running or before.started_at != seen.started_at
        life.looks_like(seen, self._world.clock.now())
        if life.on_demand:
            self._world.logs.of(life.uid).demand = partial(life.output.fetch, engine, seen)
        elif seen.status != "created" and obj.spec.terminal is None:
            life.output.follow(engine, seen)
        if seen.is_running:
            await self._monitor(engine, obj.spec, life)
            self._health.attend(engine, obj, life)
            life.ended_at = None
            self.tell(life, *_state_of(seen))
        elif seen.status in ("exited", "dead") and (is_other or not life.is_over):
            if self._is_restarted_soon(obj.spec, life, seen):
                return _RESTART_SECONDS
            await self._take_end(obj.spec, life, seen)
        return None

    def _is_restarted_soon(self, spec: ContainerSpec, life: ContainerLife, seen: Seen) -> bool:
        """Returns True if the engine is about to restart an ended container: the restart takes a moment and may not
        happen."""
        now = self._world.clock.monotonic()
        asked = spec.stop or spec.suspend or life.restarting or life.stopped
        if asked or not restarted_by_engine(spec, seen.exit_code):
            return False
        if life.ended_at is None:
            life.ended_at = now
        if now - life.ended_at >= _RESTART_SECONDS:
            return False
        life.stale = True
        life.close_probing()
        self.tell(life, "Starting", "Restarting", f"{ended(seen)[1]}; the engine restarts the container")
        return True

    async def _monitor(self, engine: Engine, spec: ContainerSpec, life: ContainerLife) -> None:
        """Watches the process whose end stops the container."""
        if life.monitored is None:
            monitor = spec.monitor_pid, spec.monitor_timestamp
            wake, socket = partial(self._wake, life.name), engine.endpoint.unix
            tie = Tie((0, 0), 0, life.stop_seconds, socket=socket, container=life.id) if socket else None
            life.monitored = await end_of(self._world.processes, *monitor, wake, tie)

    async def _removed(self, life: ContainerLife) -> None:
        life.close_probing()
        await life.end_terminal()
        await life.output.settle()
        life.id, life.seen = "", None
        life.finished_at = life.finished_at or self._world.clock.now()
        self._ends(life)
        message = "the container was removed by another client: request a restart, or create the object again"
        self.tell(life, "Unknown", "Removed", message)

    def _tend(self, engine: Engine, obj: Container, life: ContainerLife) -> None:
        """Stops or restarts the running container if the spec, a probe or the monitored process requires so."""
        if obj.spec.stop:
            self.stop(engine, life, "Stopping", "stop was set")
        elif obj.spec.suspend:
            self.stop(engine, life, SUSPENDING, "suspend was set")
        elif life.monitored is not None and life.monitored.done():
            self.stop(engine, life, "MonitoredProcessEnded", f"process {obj.spec.monitor_pid} has ended")
        elif self._asked_to_restart(obj, life) or life.restarting:
            self.stop(engine, life, "Restarting", life.restarting)
        elif life.probing is not None and (dead := life.probing.dead) is not None:
            life.restarting = f"the liveness probe {dead.probe.name} failed: {dead.reason}"
            life.restart_waits = True
            self.stop(engine, life, "LivenessProbeFailed", life.restarting)

    def _asked_to_restart(self, obj: Container, life: ContainerLife) -> bool:
        request = restart_request(obj)
        if not request or request == life.obeyed or obj.spec.stop:
            return False
        life.obeyed, life.restarting = request, "a restart was requested"
        return True

    def _take_work(self, spec: ContainerSpec, life: ContainerLife) -> float | None:
        """Takes over the result of a start or a stop. Returns the delay in seconds before another attempt, or None."""
        work, life.work = life.work, None
        assert work is not None
        life.stale = True
        if life.starting:
            life.rebuild = False
        if work.cancelled():
            if spec.stop:
                self.tell(life, "FailedToStart", "Stopped", "stop was set before the container had started")
            else:
                self._rest(life)
            return None
        error = work.exception()
        if error is None:
            return None
        if isinstance(error, StartProblem):
            life.close_probing()
            life.finished_at = None if error.again else self._world.clock.now()
            if error.again is None and should_restart(spec, None):
                life.began = self._world.clock.monotonic()  # the container never ran
                self._later(spec, life, error.message, "FailedToStart")
                return None
            self.tell(life, error.state, error.reason, error.message)
            if error.again is None:
                self._ends(life)
            return error.again
        if isinstance(error, EngineLost):
            self.without_engine(life, ("EngineLost", words_of(error)))
            return AGAIN_SECONDS
        if isinstance(error, EngineError):
            self.tell(life, "Stopping", "StopFailed", words_of(error))
            return AGAIN_SECONDS
        raise error

    async def _take_end(self, spec: ContainerSpec, life: ContainerLife, seen: Seen) -> None:
        """Handles the end of the container: final, or before a restart."""
        life.close_probing()
        await life.end_terminal()
        await life.output.settle()
        reason, said = ended(seen)
        if life.reason == SUSPENDING and not spec.stop:
            self._note(life, said)
            self._ends(life)
            self._rest(life)
            return
        if life.restarting and not life.restart_waits:
            self._note(life, f"{said}; {life.restarting}")
            life.starts_anew(asked=True)
            return
        must_stop = spec.stop or (life.monitored is not None and life.monitored.done())
        if not must_stop and (life.restarting or should_restart(spec, seen.exit_code)):
            why = f"{life.restarting}; {said}" if life.restarting else said
            self._later(spec, life, await self._with_output(life, why), "Exited")
            return
        self._ends(life)
        if must_stop:
            self.tell(
                life,
                "Exited",
                "Stopped" if spec.stop else "MonitoredProcessEnded",
                f"{said} after a stop was requested",
            )
        else:
            self.tell(life, "Exited", reason, await self._with_output(life, said))

    def _later(self, spec: ContainerSpec, life: ContainerLife, why: str, over: ContainerState) -> None:
        """Schedules a restart after the backoff, unless the restarts exceed the limit: then the state becomes
        `over`."""
        if when := life.begins_again_later(self._world.clock, spec.restart_backoff, spec.max_restarts):
            self.tell(life, "Starting", "BackOff", f"{why}; {when}")
        else:
            self._ends(life)
            self.tell(life, over, TOO_MANY, f"{why}; {life.gives_up()}")

    def _rest(self, life: ContainerLife) -> None:
        """Reports the container as suspended."""
        state, reason, message = life.rests("Exited", is_over=life.is_over)
        self.tell(life, state or "Pending", reason, message)

    # Starting and stopping

    async def _begin(
        self, ctx: Context, engine: Engine, obj: Container, tree: Object, life: ContainerLife
    ) -> float | None:
        found = await wanted(ctx, self._world, obj, tree, life)
        if isinstance(found, Blocked):
            self.tell(life, found.state, found.reason, found.message)
            if life.is_over:
                self._ends(life)
            return found.again
        life.began, life.stopped, life.obeyed = self._world.clock.monotonic(), False, restart_request(obj)
        life.due = life.due_at = None
        directory = self._world.logs.of(life.uid).directory
        life.files = str(directory / "startup_stdout.0.log"), str(directory / "startup_stderr.0.log")
        start = ContainerStart(self._world, engine, found, life, partial(self._tell_from_start, life))
        self._works(life, asyncio.ensure_future(start.run()), starting=True)
        return None

    def _works(self, life: ContainerLife, work: "asyncio.Task[None]", *, starting: bool) -> None:
        life.work, life.starting = work, starting
        work.add_done_callback(lambda _: self._wake(life.name))

    def _tell_from_start(self, life: ContainerLife, state: ContainerState, reason: str, message: str) -> None:
        self.tell(life, state, reason, message)
        self._wake(life.name)

    def stop(self, engine: Engine, life: ContainerLife, reason: str, message: str) -> None:
        """Starts to stop the running container; its end triggers a reconcile."""
        self.tell(life, "Stopping", reason, message)
        life.stopped = True
        life.close_probing()
        stopping = asyncio.ensure_future(engine.containers.stop(life.id, seconds=life.stop_seconds))
        self._works(life, stopping, starting=False)

    # Status and logs

    def tell(self, life: ContainerLife, state: ContainerState, reason: str, message: str) -> None:
        if life.becomes(state, reason, message):
            self._world.telling.tell(KIND, life, state, reason, message, again=life.restarts > 0)

    def _ends(self, life: ContainerLife) -> None:
        """Ends the logs of this run."""
        life.output.end()
        self._world.logs.end(life.uid)

    def _note(self, life: ContainerLife, text: str) -> None:
        _log.debug("container %s: %s", life.name, text)
        self._world.logs.note(life.uid, text)

    async def _with_output(self, life: ContainerLife, text: str) -> str:
        """Returns the text with the end of the container's output, if the exit code is not 0."""
        if not life.exit_code:
            return text
        logs, since = self._world.logs, life.started_at
        tail = await logs.tail(life.uid, "stderr", _LINES, since) or await logs.tail(life.uid, "stdout", _LINES, since)
        return f"{text}; last output: {tail}" if tail else text


def _state_of(seen: Seen) -> tuple[ContainerState, str, str]:
    if seen.status == "paused":
        return "Paused", "Paused", "the container is paused: unpause it in the engine"
    if seen.status == "restarting":
        return "Starting", "Restarting", f"the engine restarts the container (restart {seen.restart_count})"
    return "Running", "Running", f"container {seen.id[:12]}"


def restart_request(obj: Container) -> str:
    return meta.annotations(links.tree_with_kind(obj)).get(RESTART_REQUESTED, "")
