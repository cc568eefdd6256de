"""The controller of ContainerExecs: runs the command of each object in its container, once, and reports the result.

If the object is deleted, its command is terminated. The engine's API cannot terminate a command: signals are sent to
the process on this machine, or by a `kill` in the container.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from setpoint.client.kinds import tree_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.machine.chosen import system
from setpoint.objects.clock import timeout
from setpoint.objects.tree import Object
from setpoint.workload.controllers.container.container_health import execute_in
from setpoint.workload.controllers.container.engine_failure import error_text, problem_condition
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.controllers.workload_state import WorkloadState, moment
from setpoint.workload.engine.attachment import Exec
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.environment import EnvironmentProblem, arguments, environment
from setpoint.workload.kinds.api_names import FINALIZERS
from setpoint.workload.kinds.container import DONE, ContainerState
from setpoint.workload.kinds.container_exec import ContainerExec, ContainerExecSpec, ContainerExecStatus
from setpoint.workload.kinds.executable import FINAL, ExecutableState
from setpoint.workload.process.identity import Identity, identity_of, is_alive
from setpoint.workload.runtime import Machine
from setpoint.workload.templates import NotYet

FINALIZER = FINALIZERS["ContainerExec"]
_LINES = 5
# The time between the two signals, and the requeue delay while a command terminates.
_GRACE_SECONDS = 2.0
_ENDING_SECONDS = 30.0
# The variable that marks the processes of a command in its container, and the program that sends a signal to them.
_COOKIE = "SETPOINT_EXEC"
_SIGNAL_BY_COOKIE = """
code=1
for each in /proc/[0-9]*; do
  if grep -q "$1" "$each/environ" 2>/dev/null; then kill "-$2" "${each#/proc/}" && code=0; fi
done
exit $code
"""


@dataclass
class _Run(WorkloadState):
    """The state of one command."""

    state: ExecutableState = ""
    container: str = ""
    # The task that runs the command, the connection to the command, and its process on this machine.
    work: "asyncio.Task[int | None] | None" = None
    started: "asyncio.Future[Exec]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    identity: Identity | None = None
    ending: "asyncio.Task[None] | None" = None

    def status(self) -> ContainerExecStatus:
        return ContainerExecStatus(
            state=self.state,
            startup_timestamp=moment(self.started_at),
            finish_timestamp=moment(self.finished_at),
            exit_code=self.exit_code,
            std_out_file=self.files[0],
            std_err_file=self.files[1],
            effective_env=self.effective_env(),
            effective_args=self.args,
        )


class Command(NamedTuple):
    """A running command: its input, and the task that returns its exit code."""

    started: Exec
    work: "asyncio.Task[int | None]"


class ContainerExecs:
    """The controller, and the running commands."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channel = Channel("commands")
        self._runs: dict[str, _Run] = {}
        self.controller = Controller(
            "containerexec",
            self._reconcile,
            kind=ContainerExec,
            clock=machine.clock,
            ids=machine.ids,
            reads=READS,
            watches=(self._channel,),
            concurrency=16,
            condition_events=(),  # events are recorded in `_set_state`, in more detail
        )
        machine.engines.subscribe(self._on_engine_event)

    async def find(self, uid: str) -> Command | None:
        """Returns the command of an object if it runs, and waits for a command that is starting."""
        run = next((each for each in self._runs.values() if each.uid == uid), None)
        if run is None or run.work is None:
            return None
        await asyncio.wait((run.started, run.work), return_when=asyncio.FIRST_COMPLETED)
        return None if run.work.done() else Command(run.started.result(), run.work)

    async def close(self) -> None:
        """Terminates all running commands."""
        ending = [self._end(each) for each in self._runs.values() if each.work is not None and not each.work.done()]
        await asyncio.gather(*ending, return_exceptions=True)

    def _on_engine_event(self, event: Told | None) -> None:
        if not isinstance(event, Event):
            for name, run in self._runs.items():
                if run.work is None:
                    self._channel.send(Request(name))

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: ContainerExec | None = await ctx.object()
        if obj is None:
            self._discard(request.name)
            return None
        run = self._of(obj)
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, run)):
            self._discard(request.name)
            return None
        if run.state not in FINAL:
            await self._advance(ctx, obj, run)
        self._report(ctx, run)
        return None

    def _of(self, obj: ContainerExec) -> _Run:
        name, uid = obj.metadata.name or "", obj.metadata.uid or ""
        found = self._runs.get(name)
        if found is None or found.uid != uid:
            found = self._runs[name] = _Run(uid, name)
            if (status := obj.status) is not None and status.state:
                found.exit_code = status.exit_code
                found.started_at, found.finished_at = status.startup_timestamp, status.finish_timestamp
                found.state = status.state
                if status.state == "Running":
                    # The command of an earlier control plane: its output and exit code are lost.
                    found.set_state(
                        "Unknown", "Lost", "the control plane that ran the command ended before the command did"
                    )
                elif status.state not in FINAL:
                    found.state = ""
                else:
                    started = next((each for each in status.conditions if each.type == "Started"), None)
                    if started is not None:
                        found.reason, found.message = started.reason, started.message
        return found

    def _discard(self, name: str) -> None:
        found = self._runs.pop(name, None)
        if found is not None:
            self._machine.logs.remove(found.uid)

    async def _advance(self, ctx: Context, obj: ContainerExec, run: _Run) -> None:
        """Takes the next step; changes of the awaited objects trigger another reconcile."""
        if run.work is not None:
            if run.work.done():
                await self._handle_exit(run)
            return
        lookup = self._machine.lookup(find=ctx.lookup)
        container = lookup.object("Container", obj.spec.container_name)
        status = (container or {}).get("status") or {}
        state: ContainerState = status.get("state", "")
        if container is None or (state != "Running" and state not in DONE):
            why = f"it is {state}" if state else "it has not started" if container is not None else "it does not exist"
            self._set_state(
                run, "", "WaitingForContainer", f"waits for Container {obj.spec.container_name} to run: {why}"
            )
            return
        if state in DONE:
            message = f"Container {obj.spec.container_name} is no longer running: its state is {state}"
            self._fails(run, "ContainerNotRunning", message)
            return
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            self._set_state(run, "", *problem_condition(engine))
            return
        tree: Object = {**tree_of(obj), "kind": "ContainerExec"}
        try:
            tolerated = self._machine.tolerated("ContainerExec", obj.metadata.uid or "")
            read = self._machine.read
            env = environment(tree, ambient={}, read=read, lookup=lookup, context=container, tolerate=tolerated)
            args = arguments(obj.spec.args, container, lookup, tolerated)
        except NotYet as needs:
            self._set_state(run, "", "WaitingForValues", str(needs))
            return
        except EnvironmentProblem as problem:
            self._fails(run, problem.reason, str(problem))
            return
        run.environment, run.args, run.container = env, [each.shown for each in args], status["containerId"]
        self._begin(engine, obj.spec, run, [each.text for each in args])

    def _begin(self, engine: Engine, spec: ContainerExecSpec, run: _Run, args: list[str]) -> None:
        directory = self._machine.logs.of(run.uid).directory
        run.files = str(directory / "stdout.0.log"), str(directory / "stderr.0.log")
        run.started_at = self._machine.clock.now()
        run.work = asyncio.ensure_future(self._run(engine, spec, run, args))
        run.work.add_done_callback(lambda _: self._channel.send(Request(run.name)))
        self._set_state(run, "Running", "Running", f"the command runs in container {run.container[:12]}")

    async def _run(self, engine: Engine, spec: ContainerExecSpec, run: _Run, args: list[str]) -> int | None:
        """Runs the command to its end and captures its output. Raises EngineError."""
        sinks = {source: self._machine.logs.capture(run.uid, source) for source in ("stdout", "stderr")}
        if self._machine.as_dcp:
            for sink in sinks.values():
                sink.create()
        values = run.environment.values if run.environment is not None else {}
        env = [f"{name}={value}" for name, value in values.items()]
        if not _sees_processes(engine):
            env.append(f"{_COOKIE}={run.uid}")
        command, where = [spec.command, *args], spec.working_directory
        runs = engine.containers.exec(run.container, command, env=env, directory=where, stdin=spec.stdin)
        async with runs as started:
            run.started.set_result(started)
            await self._identify(engine, run, started)
            async for source, data in started:
                sinks[source].write(data)
            for sink in sinks.values():
                sink.close()
            return await started.exit_code()

    async def _identify(self, engine: Engine, run: _Run, started: Exec) -> None:
        """Finds the process of the command on this machine, if the engine is local and reports the pid."""
        if _sees_processes(engine):
            with suppress(EngineError):
                pid = await started.pid()
                run.identity = identity_of(pid) if pid else None

    async def _handle_exit(self, run: _Run) -> None:
        work = run.work
        assert work is not None
        run.finished_at = self._machine.clock.now()
        self._machine.logs.end(run.uid)
        if work.cancelled():
            self._set_state(run, "Finished", "Ended", "the command was terminated")
            return
        error = work.exception()
        if isinstance(error, EngineLost):
            message = f"the exit code is unknown, because the connection to the engine was lost: {error_text(error)}"
            self._set_state(run, "Unknown", "EngineLost", message)
        elif isinstance(error, EngineError):
            self._fails(run, type(error).__name__, error_text(error))
        elif error is not None:
            raise error
        else:
            run.exit_code = work.result()
            reason = "Completed" if run.exit_code == 0 else "Failed"
            said = f"the command ended with exit code {run.exit_code}"
            if run.exit_code:
                logs = self._machine.logs
                tail = await logs.tail(run.uid, "stderr", _LINES) or await logs.tail(run.uid, "stdout", _LINES)
                said += f"; last output: {tail}" if tail else ""
            self._set_state(run, "Finished", reason, said)

    def _fails(self, run: _Run, reason: str, message: str) -> None:
        run.finished_at = self._machine.clock.now()
        self._set_state(run, "FailedToStart", reason, message)
        self._machine.logs.end(run.uid)

    # Termination

    async def _clean_up(self, ctx: Context, run: _Run) -> None:
        """Terminates the command before the object is deleted."""
        if run.work is None or run.work.done():
            return
        if run.ending is None:
            run.ending = asyncio.ensure_future(self._end(run))
        self._set_state(run, "Stopping", "Deleting", "the object is being deleted")
        self._report(ctx, run)
        raise Requeue(_ENDING_SECONDS, "the command is being terminated")

    async def _end(self, run: _Run) -> None:
        """Terminates a command with SIGTERM, then SIGKILL, then by cancelling the task that runs the command."""
        work = run.work
        assert work is not None
        for number in (signal.SIGTERM, signal.SIGKILL):
            identity = run.identity
            if not await (self._signal(run, identity, number) if identity else self._signal_inside(run, number)):
                break
            with suppress(TimeoutError):
                async with timeout(self._machine.clock, _GRACE_SECONDS):
                    await asyncio.wait((work,))
            if work.done():
                return
        work.cancel()
        await asyncio.wait((work,))

    async def _signal(self, run: _Run, identity: Identity, number: signal.Signals) -> bool:
        """Sends a signal to the process and its group. Returns True if the signal was sent."""
        if not is_alive(identity):
            return False
        try:
            if os.getpgid(identity.pid) == identity.pid:
                os.killpg(identity.pid, number)
            else:
                os.kill(identity.pid, number)
            return True
        except ProcessLookupError:
            return False
        except PermissionError:
            inside = system.pid_inside(identity.pid)
            return inside is not None and await self._run_in(run, ["kill", f"-{int(number)}", str(inside)])

    async def _signal_inside(self, run: _Run, number: signal.Signals) -> bool:
        """Sends a signal to the processes of the command from inside of the container, where the pids of the container
        are not those of this machine. Returns True if a process got the signal."""
        return await self._run_in(run, ["sh", "-c", _SIGNAL_BY_COOKIE, "sh", f"{_COOKIE}={run.uid}", str(int(number))])

    async def _run_in(self, run: _Run, command: list[str]) -> bool:
        """Runs a command in the container of a run. Returns True if the command succeeded."""
        engine = self._machine.engines.engine
        if engine is None:
            return False
        try:
            code, _ = await execute_in(engine, run.container, command, "")
        except EngineLost:
            return False
        return code == 0

    # Status

    def _report(self, ctx: Context, run: _Run) -> None:
        ctx.status.put(run.status())
        started = run.state in ("Running", "Stopping", "Finished")
        ctx.status.condition("Started", started, run.reason, run.message)
        succeeded = run.exit_code == 0 if run.state in FINAL else None
        ctx.status.condition("Succeeded", succeeded, run.reason, run.message)

    def _set_state(self, run: _Run, state: ExecutableState, reason: str, message: str) -> None:
        if run.set_state(state, reason, message):
            self._machine.reporter.report("ContainerExec", run, state, reason, message)


def _sees_processes(engine: Engine) -> bool:
    """Returns True if the processes of the engine's containers are processes of this machine."""
    return bool(engine.endpoint.unix) and system.SEES_CONTAINERS
