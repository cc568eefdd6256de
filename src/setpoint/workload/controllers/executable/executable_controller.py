"""The controller of Executables: runs the process of each object as its spec says, and reports its status.

Each reconcile observes the current state and takes the next step: wait for dependencies, start, stop, restart. External
events (an exit, a probe, a changed file) trigger a reconcile; the reconcile itself never waits for them.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from setpoint.client.kinds import tree_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.controllers.endpoints import ServiceAddress, serve
from setpoint.workload.controllers.executable.launch import STDERR, STDOUT, Launch
from setpoint.workload.controllers.executable.lifecycle import Execution, should_restart, signal_of
from setpoint.workload.controllers.executable.old_tree import REPORT_SECONDS, has_successor, is_ended
from setpoint.workload.controllers.executable.persistence import Persistence
from setpoint.workload.controllers.executable.process_run import ExecutableRun
from setpoint.workload.controllers.executable.report import report
from setpoint.workload.controllers.lookup import READS, Lookup
from setpoint.workload.controllers.probe_listeners import Listeners
from setpoint.workload.controllers.probe_runner import Probes, run_command
from setpoint.workload.controllers.workload_state import SUSPENDED, SUSPENDING, TOO_MANY
from setpoint.workload.dependencies import WAITING, Waiting, waiting_for, waiting_message
from setpoint.workload.environment import EnvironmentProblem, arguments, environment
from setpoint.workload.exporters import exporter_variables, with_variables
from setpoint.workload.kinds.api_names import FINALIZERS, RESTART_REQUESTED
from setpoint.workload.kinds.executable import Executable, ExecutableSpec, ExecutableState
from setpoint.workload.kinds.parts import ends_with_object
from setpoint.workload.probes.prober import Probing
from setpoint.workload.process.command import StartError
from setpoint.workload.process.monitored_process import end_of
from setpoint.workload.process.ties import Tie
from setpoint.workload.proxy.ports import TCP, PortBusyError
from setpoint.workload.restart_reasons import REQUESTED, probe_failed
from setpoint.workload.runtime import Machine
from setpoint.workload.service_producers import Producer, producers
from setpoint.workload.templates import NotYet

FINALIZER = FINALIZERS["Executable"]
KIND = "Executable"
# The requeue delay while a process stops; its end reconciles earlier.
_STOPPING_SECONDS = 60.0
# The delay before the next attempt to acquire a persistent process that another control plane manages, or that is
# missing.
_HELD_SECONDS = 5.0
_LINES = 5

_log = logging.getLogger(__name__)


class Executables:
    """The controller, and the known state of every Executable."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channel = Channel("processes")
        self._executions: dict[str, Execution] = {}
        self._kept = Persistence(machine)
        self._launch = Launch(machine, self._kept)
        self.controller = Controller(
            "executable",
            self._reconcile,
            kind=Executable,
            clock=machine.clock,
            ids=machine.ids,
            reads=READS,
            watches=(self._channel,),
            concurrency=32,
            condition_events=(),  # events are recorded in `_set_state`, in more detail
        )

    def find(self, uid: str) -> Execution | None:
        """Returns the execution of an object, by uid."""
        return next((each for each in self._executions.values() if each.uid == uid), None)

    def wake(self, name: str) -> None:
        """Enqueues a reconcile of an Executable."""
        self._channel.send(Request(name))

    def restart(self, name: str, why: str, *, rebuild: bool = False) -> None:
        """Restarts an Executable for a reason outside of its object, even if the process has ended. `rebuild` has no
        effect: only containers are built."""
        found = self._executions.get(name)
        has_begun = found is not None and (found.run is not None or found.is_over or found.due is not None)
        if found is not None and has_begun and not found.restarting:
            found.restarting = why
            self.wake(name)

    def close(self) -> None:
        """Stops probes, port reservations and pending stops; `Processes` ends the processes."""
        for each in self._executions.values():
            each.close_probing()
            each.release_ports()
            for task in (each.stopping, each.ending):
                if task is not None:
                    task.cancel()

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: Executable | None = await ctx.object()
        if obj is None:
            self._discard(request.name)
            return None
        execution = self._execution(obj)
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, obj, execution)):
            self._discard(request.name)
            return None
        tree = self._tree(obj)
        after = await self._advance(ctx, obj, tree, execution)
        await self._serve(ctx, tree, execution)
        report(ctx, self._machine, execution)
        return Result(requeue_after=after)

    def _execution(self, obj: Executable) -> Execution:
        uid, name = obj.metadata.uid or "", obj.metadata.name or ""
        found = self._executions.get(name)
        if found is None or found.uid != uid:
            found = self._executions[name] = Execution(uid, name, obeyed=_restart_request(obj))
            found.restore(obj.status)
            if not found.is_over:
                # Processes that an earlier control plane ran in this session ended with that control plane.
                found.state = ""
        return found

    def _discard(self, name: str) -> None:
        found = self._executions.pop(name, None)
        if found is not None:
            found.close_probing()
            found.release_ports()
            self._machine.logs.remove(found.uid)

    # The next step

    async def _advance(self, ctx: Context, obj: Executable, tree: Object, execution: Execution) -> float | None:
        """Takes the next step. Returns the delay in seconds before the next one, or None."""
        spec = obj.spec
        if execution.run is not None:
            if not execution.run.exited.done():
                return self._reconcile_running(obj, execution)
            if execution.stopping is not None and not execution.stopping.done():
                return None  # its child processes are still being stopped
            if execution.stopping is None and not self._is_tree_ended(obj, execution):
                return REPORT_SECONDS
            await self._handle_exit(spec, execution)
        if (spec.stop or spec.suspend) and not self._is_ended(spec, execution):
            return None
        if spec.suspend and not spec.stop:
            self._set_state(execution, *execution.suspend("Finished", is_over=execution.is_over))
            return None
        if execution.is_over:
            resumes = execution.restarting or execution.reason == SUSPENDED
            if not self._is_restart_requested(obj, execution) and (spec.stop or not resumes):
                return None
            execution.start_run(is_requested=True)
        if spec.stop:
            self._set_state(execution, "FailedToStart", "Stopped", "stop was set before the process was started")
            return None
        if execution.due is not None:
            left = execution.due - self._machine.clock.monotonic()
            is_restart_requested = self._is_restart_requested(obj, execution) or bool(execution.restarting)
            if left > 0 and not is_restart_requested:
                return left
            execution.start_run(is_requested=is_restart_requested)
        if not self._is_ended(spec, execution):
            return None
        if execution.not_ended:
            self._set_not_stopped(execution, execution.not_ended)
            return None
        return await self._begin(ctx, obj, tree, execution)

    def _reconcile_running(self, obj: Executable, execution: Execution) -> float | None:
        """Stops or restarts the running process if the spec, a probe or the monitored process requires so."""
        if execution.stopping is not None:
            return None
        if obj.spec.stop:
            self._stop(obj.spec, execution, "Stopping", "stop was set")
        elif obj.spec.suspend:
            self._stop(obj.spec, execution, SUSPENDING, "suspend was set")
        elif execution.monitored is not None and execution.monitored.done():
            self._stop(obj.spec, execution, "MonitoredProcessEnded", f"process {obj.spec.monitor_pid} has ended")
        elif self._is_restart_requested(obj, execution) or execution.restarting:
            self._stop(obj.spec, execution, "Restarting", execution.restarting)
        elif execution.probing is not None and (dead := execution.probing.failed_liveness) is not None:
            execution.restarting = probe_failed(dead.probe.name, dead.reason)
            execution.restart_waits = True
            self._stop(obj.spec, execution, "LivenessProbeFailed", execution.restarting)
        return None

    def _is_restart_requested(self, obj: Executable, execution: Execution) -> bool:
        request = _restart_request(obj)
        if not request or request == execution.obeyed or obj.spec.stop:
            return False
        execution.obeyed, execution.restarting = request, REQUESTED
        return True

    def _is_tree_ended(self, obj: Executable, execution: Execution) -> bool:
        """Ends the children of an ended process that has a successor. Returns True if none of them is left."""
        run = execution.run
        assert run is not None
        message = execution.ended(run.exited.result(), as_dcp=self._machine.as_dcp)
        is_reported = execution.ending is not None
        execution.left_behind = run if run.running is not None else None
        if not has_successor(obj, execution) or self._is_ended(obj.spec, execution):
            return True
        if is_reported:
            self._set_state(execution, "Stopping", "EndingChildren", f"{message}; its child processes are being ended")
        return False

    def _is_ended(self, spec: ExecutableSpec, execution: Execution) -> bool:
        return is_ended(spec, execution, partial(self.wake, execution.name))

    def _set_not_stopped(self, execution: Execution, left: str) -> None:
        message = f"the process could not be stopped; still running: {left}"
        self._set_state(execution, "Unknown", "NotStopped", message)

    async def _handle_exit(self, spec: ExecutableSpec, execution: Execution) -> None:
        """Handles the end of the process: final, or before a restart."""
        run, is_requested = execution.run, execution.stopping is not None
        assert run is not None
        left, execution.not_ended = execution.not_ended, ""
        if execution.stopping is not None:
            error = execution.stopping.exception()
            left = str(error) if error is not None else execution.stopping.result()
            execution.stopping = None
        message = execution.ended(run.exited.result(), as_dcp=self._machine.as_dcp)
        execution.run = None
        self._machine.logs.end(execution.uid)
        if left:
            self._set_not_stopped(execution, left)
            return
        if execution.reason == SUSPENDING and not spec.stop:
            self._note(execution, message)
            self._set_state(execution, *execution.suspend("Finished", is_over=False))
            return
        if execution.restarting and not execution.restart_waits:
            self._note(execution, f"{message}; {execution.restarting}")
            execution.start_run(is_requested=True)
            return
        if spec.stop or (is_requested and not execution.restarting):
            self._set_state(execution, "Finished", "Stopped", f"{message} after a stop was requested")
            return
        if execution.restarting or should_restart(spec, execution.exit_code):
            why = f"{execution.restarting}; {message}" if execution.restarting else message
            self._later(spec, execution, await self._with_output(execution, why), "Finished")
            return
        reason = "Completed" if execution.exit_code == 0 else "Failed"
        self._set_state(execution, "Finished", reason, await self._with_output(execution, message))

    def _later(self, spec: ExecutableSpec, execution: Execution, why: str, over: ExecutableState) -> None:
        """Schedules a restart after the backoff, unless the restarts exceed the limit: then the state becomes
        `over`."""
        if when := execution.schedule_restart(self._machine.clock, spec.restart_backoff, spec.max_restarts):
            self._set_state(execution, "Starting", "BackOff", f"{why}; {when}")
        else:
            self._set_state(execution, over, TOO_MANY, f"{why}; {execution.give_up_message()}")

    # Starting

    async def _begin(self, ctx: Context, obj: Executable, tree: Object, execution: Execution) -> float | None:
        spec = obj.spec
        if not spec.start:
            self._set_state(execution, "", "NotStarted", "start is false: set start to true to start the process")
            return None
        lookup = self._machine.lookup(find=ctx.lookup)
        if waiting := waiting_for(tree, lookup.object):
            reason, message = self._waits(tree, waiting)
            # As in DCP, a workload starts while it waits for values; `dependsOn` is an addition.
            is_starting = execution.restarts or not spec.depends_on
            self._set_state(execution, "Starting" if is_starting else "", reason, message)
            return None
        try:
            serving = producers(tree)
            self._reserve(execution, serving, lookup)
            ports = {service: each.port for service, each in execution.ports.items()}
            lookup = self._machine.lookup(ports, ctx.lookup)
            inherited = self._machine.environ if spec.inherits else {}
            tolerated = self._machine.tolerated(KIND, execution.uid)
            env = environment(tree, ambient=inherited, read=self._machine.read, lookup=lookup, tolerate=tolerated)
            args = arguments(spec.args, tree, lookup, tolerated)
        except NotYet as waiting:
            self._set_state(execution, "Starting", "WaitingForValues", str(waiting))
            return None
        except EnvironmentProblem as problem:
            return self._failed(spec, execution, problem.reason, str(problem))
        except PortBusyError as busy:
            return self._failed(spec, execution, "PortInUse", str(busy.strerror))
        except (ValueError, OSError) as error:
            return self._failed(spec, execution, "InvalidSpec", str(error))
        variables = await exporter_variables(self._machine.exporters, tree, env.values)
        execution.environment, execution.args = with_variables(env, variables), [each.shown for each in args]
        return await self._start(obj, execution, [each.text for each in args])

    def _waits(self, tree: Object, waiting: Sequence[Waiting]) -> tuple[str, str]:
        """Returns the reason and message of the wait; reports a deadlock if the dependencies can never be ready."""
        key = "Executable", meta.name(tree)
        circle = next((each for each in self._machine.deadlocks() if key in each.keys), None)
        if circle is not None:
            return "Deadlock", circle.message
        return WAITING, waiting_message(waiting)

    def _reserve(self, execution: Execution, serving: Sequence[Producer], lookup: Lookup) -> None:
        """Reserves a port for each served Service without a port of its own. Raises PortBusyError."""
        for producer in serving:
            if producer.port or producer.service in execution.ports:
                continue
            service = lookup.object("Service", producer.service)
            if service is None:
                continue  # templates that need the port wait for the Service
            owner = self._machine.port_owner("Executable", execution.name, producer.service)
            protocol = service["spec"].get("protocol", TCP).upper()
            execution.ports[producer.service] = self._machine.ports.reserve(owner, protocol, ["127.0.0.1", "::1"])

    async def _start(self, obj: Executable, execution: Execution, args: list[str]) -> float | None:
        """Starts the Executable with the first execution type that succeeds."""
        spec, clock = obj.spec, self._machine.clock
        execution.started_at, execution.began = clock.now(), clock.monotonic()
        execution.due = execution.due_at = None
        execution.obeyed = _restart_request(obj)
        problems = []
        for kind in (spec.execution_type, *spec.fallback_execution_types):
            try:
                run = await self._launch.run(kind, obj, execution, args)
            except StartError as error:
                problems.append(error)
                continue
            if run is None:
                return _HELD_SECONDS
            execution.run, execution.last_screen = run, run.screen
            run.exited.add_done_callback(lambda _: self.wake(execution.name))
            wake = partial(self.wake, execution.name)
            monitor = spec.monitor_pid, spec.monitor_timestamp
            tie = self._tie(spec, run)
            execution.monitored = await end_of(self._machine.processes, *monitor, wake, tie)
            self._set_state(execution, "Running", "Running", self._runner_text(spec, run))
            self._probe(obj, execution)
            return None
        first = problems[0]
        return self._failed(spec, execution, first.reason, "; ".join(map(str, problems)))

    def _tie(self, spec: ExecutableSpec, run: ExecutableRun) -> Tie | None:
        """Returns a tie for a persistent process, which must stop with its monitored process even after this control
        plane has ended."""
        if run.running is None or not run.running.kept:
            return None
        how = signal_of(spec.stop_signal), spec.stop_timeout.total_seconds()
        return Tie((0, 0), *how, root=run.running.identity, cookie=run.running.cookie)

    def _runner_text(self, spec: ExecutableSpec, run: ExecutableRun) -> str:
        records = self._machine.records
        who = f"process {run.pid}" if run.pid else f"session {run.id}"
        if spec.effective_mode == "session" or records.lasting:
            return who
        return f"{who}; it ends with this control plane: {records.problem or 'no records file is configured'}"

    def _failed(self, spec: ExecutableSpec, execution: Execution, reason: str, message: str) -> float | None:
        """Handles a failed start."""
        execution.finished_at = self._machine.clock.now()
        self._machine.logs.end(execution.uid)
        if spec.restart_policy != "Never":
            execution.began = self._machine.clock.monotonic()  # the process never ran
            self._later(spec, execution, message, "FailedToStart")
            return execution.wait.total_seconds() if execution.due is not None and execution.wait is not None else None
        self._set_state(execution, "FailedToStart", reason, message)
        return None

    # Stopping

    def _stop(self, spec: ExecutableSpec, execution: Execution, reason: str, message: str) -> None:
        """Starts to stop the running process; its end triggers a reconcile."""
        run = execution.run
        assert run is not None
        self._set_state(execution, "Stopping", reason, message)
        execution.close_probing()
        execution.stopping = asyncio.ensure_future(
            run.stop(signal_of(spec.stop_signal), spec.stop_timeout.total_seconds())
        )
        execution.stopping.add_done_callback(lambda _: self.wake(execution.name))

    async def _clean_up(self, ctx: Context, obj: Executable, execution: Execution) -> None:
        """Stops the process before the object is deleted, unless the process is persistent."""
        run, spec = execution.run, obj.spec
        await serve(ctx, self._tree(obj), {}, execution.served)
        has_exited = run is None or run.exited.done()
        if not ends_with_object(spec.effective_mode):
            if not has_exited:
                self._kept.release(execution.name)
            return
        if execution.stopping is None and not has_exited:
            self._stop(spec, execution, "Deleting", "the object is being deleted")
        elif execution.stopping is None and run is not None and run.running is not None:
            execution.left_behind = run
        is_stopping = execution.stopping is not None and not execution.stopping.done()
        if is_stopping or not self._is_ended(spec, execution):
            report(ctx, self._machine, execution)
            raise Requeue(_STOPPING_SECONDS, "the process is being stopped")
        if spec.effective_mode == "cleanup":
            await self._kept.clean_up(execution.name)

    # Status and logs

    async def _serve(self, ctx: Context, tree: Object, execution: Execution) -> None:
        """Creates an Endpoint for each Service that the process serves while the process runs."""
        try:
            serving = producers(tree)
        except ValueError:
            return  # the start fails too, and reports the error
        served: dict[str, ServiceAddress] = {}
        if execution.state == "Running":
            for producer in serving:
                reserved = execution.ports.get(producer.service)
                port = producer.port or (reserved.port if reserved is not None else 0)
                if port:
                    served[producer.service] = ServiceAddress(producer.address, port)
        execution.served |= {producer.service for producer in serving}
        await serve(ctx, tree, served, execution.served)

    def _probe(self, obj: Executable, execution: Execution) -> None:
        execution.probing = None
        if not obj.spec.health_probes:
            return
        tree, spec = self._tree(obj), obj.spec
        ports = {service: each.port for service, each in execution.ports.items()}

        async def execute(command: Sequence[str], directory: str) -> tuple[int | None, str]:
            env = execution.environment.values if execution.environment is not None else {}
            return await run_command(self._machine, command, env, directory or spec.working_directory)

        async def before() -> Mapping[str, int]:
            return execution.before

        lookup = partial(self._machine.lookup, ports)
        running = execution.run.running if execution.run is not None else None
        listeners = Listeners(running, self._machine.clock) if running is not None else None
        probes = Probes(self._machine, execution.uid, tree, lookup, execute, before, listeners)
        wake = partial(self.wake, execution.name)
        execution.probing = Probing(spec.health_probes, probes.run, wake, self._machine.clock)

    def _set_state(self, execution: Execution, state: Any, reason: str, message: str) -> None:
        if execution.set_state(state, reason, message):
            self._machine.reporter.report(KIND, execution, state, reason, message, is_restart=execution.restarts > 0)

    def _note(self, execution: Execution, text: str) -> None:
        _log.debug("executable %s: %s", execution.name, text)
        self._machine.logs.note(execution.uid, text, KIND)

    async def _with_output(self, execution: Execution, text: str) -> str:
        """Returns the text with the end of the process's output, if the exit code is not 0."""
        if not execution.exit_code:
            return text
        logs, since = self._machine.logs, execution.started_at
        tail = await logs.tail(execution.uid, STDERR, _LINES, since)
        tail = tail or await logs.tail(execution.uid, STDOUT, _LINES, since)
        return f"{text}; last output: {tail}" if tail else text

    def _tree(self, obj: Executable) -> Object:
        return {**tree_of(obj), "kind": "Executable"}


def _restart_request(obj: Executable) -> str:
    return obj.metadata.annotations.get(RESTART_REQUESTED, "")
