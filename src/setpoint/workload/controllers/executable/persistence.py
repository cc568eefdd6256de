"""Processes that outlive the control plane: found again by what is recorded of them, if they are the ones wanted now.

One control plane at a time takes care of each. A process is the recorded one when its pid and start are, and the wanted
one when its lifecycle key is; another is stopped first. What cannot be recorded is not left running.
"""

from pathlib import Path

from setpoint.client.kinds import tree_of
from setpoint.objects.tree import Object
from setpoint.store.files import make_directory
from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.controllers.executable.process_run import ProcessRun
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.kinds.parts import creates_if_missing
from setpoint.workload.lifecycle_key import LifecycleKey, difference, executable_key
from setpoint.workload.process.command import Command, StartError
from setpoint.workload.process.identity import is_alive, parse
from setpoint.workload.process.processes import Running
from setpoint.workload.runtime import World

KIND = "Executable"
# Beside the records, so that a later control plane finds it.
_OUTPUT = "output"


class Persistence:
    """Runs what is persistent."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def run(self, obj: Executable, execution: Execution, command: Command) -> ProcessRun | None:
        """The process of an Executable in the modes persistent and cleanup. None: it has to wait. Raises StartError."""
        records, name = self._world.records, execution.name
        if holder := records.take(KIND, name):
            execution.becomes("Starting", "HeldElsewhere", f"{holder} takes care of it: stop that one, or wait")
            return None
        assert execution.environment is not None
        named = {key: command.env[key] for key in execution.environment.explicit if key in command.env}
        key = executable_key(tree_of(obj)["spec"], command.args, named)
        found = records.kept(KIND, name)
        running = await self._adopted(execution, found, key) if found is not None else None
        if running is None and not creates_if_missing(obj.spec.effective_mode):
            execution.becomes("NotFound", "NotFound", "no process of an earlier session is left to take over")
            return None
        if running is None:
            running = await self._started(execution, command, key)
        return ProcessRun(self._world.processes, running)

    async def clean_up(self, name: str) -> None:
        """Stops what an earlier session left under this name."""
        found = self._world.records.kept(KIND, name)
        if found is not None:
            await self._end(name, found)
        self._world.records.give_back(KIND, name)

    def let_go(self, name: str) -> None:
        """The process goes on without an object; whoever makes one of that name has it again."""
        self._world.records.give_back(KIND, name)

    async def _adopted(self, execution: Execution, found: Object, key: LifecycleKey) -> Running | None:
        """The recorded process, if it runs and is the wanted one."""
        identity = parse(found.get("identity", ""))
        if identity is None or not is_alive(identity):
            await self._end(execution.name, found)
            return None
        if found.get("key") != key.key:
            changed = difference(found.get("parts") or {}, key.parts)
            what = ", ".join(changed) or "its key"
            self._world.logs.note(execution.uid, f"the process that was left is not the wanted one: {what} changed")
            await self._end(execution.name, found)
            return None
        running = await self._world.processes.adopt(identity)
        if running is not None:
            running.cookie = found.get("cookie", "")
            self._follow(execution, Path(found["stdout"]), Path(found["stderr"]))
            self._world.logs.note(execution.uid, f"process {identity.pid} of an earlier session was taken over")
        return running

    async def _started(self, execution: Execution, command: Command, key: LifecycleKey) -> Running:
        # What nobody will find again has its output where ours goes with us.
        place = self._world.kept_directory if self._world.records.lasting else self._world.directory
        directory = place / _OUTPUT
        make_directory(directory)
        stdout, stderr = (directory / f"{execution.uid}.{end}" for end in ("out", "err"))
        record: Object = {
            "key": key.key,
            "parts": dict(key.parts),
            "cookie": command.cookie,
            "stdout": str(stdout),
            "stderr": str(stderr),
            "stopSignal": command.stop_signal,
            "stopTimeout": command.grace,
        }
        # Before it starts: should we be killed in between, its cookie is known.
        self._record(execution.name, record)
        running = await self._world.processes.start(command, stdout, stderr)
        try:
            self._record(execution.name, {**record, "identity": running.identity.text()})
        except StartError:
            await self._world.processes.stop(running)
            raise
        self._follow(execution, stdout, stderr)
        return running

    def _record(self, name: str, record: Object) -> None:
        if not self._world.records.keep(KIND, name, record, self._world.workload_id):
            remedy = "see that the file can be written, and start it again"
            raise StartError("NotRecorded", self._world.records.problem, remedy)

    def _follow(self, execution: Execution, stdout: Path, stderr: Path) -> None:
        execution.files = str(stdout), str(stderr)
        for source, path in (("stdout", stdout), ("stderr", stderr)):
            self._world.logs.follow(execution.uid, source, path)

    async def _end(self, name: str, found: Object) -> None:
        identity = parse(found.get("identity", ""))
        how = {"signal": found.get("stopSignal"), "grace": found.get("stopTimeout")}
        if identity is not None and is_alive(identity):
            await self._world.processes.stop(identity, cookie=found.get("cookie", ""), **how)
        elif cookie := found.get("cookie"):
            # It may have started without our hearing of it, or have left children behind.
            await self._world.processes.stop_marked(cookie, **how)
        for key in ("stdout", "stderr"):
            if path := found.get(key):
                Path(path).unlink(missing_ok=True)
        self._world.records.drop(KIND, name)
