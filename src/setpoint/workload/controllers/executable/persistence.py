"""Processes that outlive the control plane: found again by their records, and reused if they still match the spec.

One control plane at a time manages each process. A process is the recorded one if its pid and start time match, and is
reused if its lifecycle key matches; a process with another key is stopped first. A process that cannot be recorded is
not left running.
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
from setpoint.workload.runtime import Machine

KIND = "Executable"
# Next to the records, so that a later control plane finds the directory.
_OUTPUT = "output"


class Persistence:
    """Runs persistent processes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    async def run(self, obj: Executable, execution: Execution, command: Command) -> ProcessRun | None:
        """Returns the process of an Executable in the modes persistent and cleanup, or None if the start must wait.
        Raises StartError."""
        records, name = self._machine.records, execution.name
        if holder := records.acquire(KIND, name):
            execution.set_state("Starting", "HeldElsewhere", f"{holder} manages this process: stop it, or wait")
            return None
        assert execution.environment is not None
        named = {key: command.env[key] for key in execution.environment.explicit if key in command.env}
        key = executable_key(tree_of(obj)["spec"], command.args, named)
        found = records.kept(KIND, name)
        running = await self._adopted(execution, found, key) if found is not None else None
        if running is None and not creates_if_missing(obj.spec.effective_mode):
            execution.set_state("NotFound", "NotFound", "no process of an earlier session is running")
            return None
        if running is None:
            running = await self._started(execution, command, key)
        return ProcessRun(self._machine.processes, running)

    async def clean_up(self, name: str) -> None:
        """Stops the process that an earlier session left under this name."""
        found = self._machine.records.kept(KIND, name)
        if found is not None:
            await self._end(name, found)
        self._machine.records.release(KIND, name)

    def release(self, name: str) -> None:
        """Leaves the process running without an object; a later object with this name takes over the process."""
        self._machine.records.release(KIND, name)

    async def _adopted(self, execution: Execution, found: Object, key: LifecycleKey) -> Running | None:
        """Returns the recorded process if the process runs and matches the spec."""
        identity = parse(found.get("identity", ""))
        if identity is None or not is_alive(identity):
            await self._end(execution.name, found)
            return None
        if found.get("key") != key.key:
            changed = difference(found.get("parts") or {}, key.parts)
            what = ", ".join(changed) or "its key"
            message = f"the process of an earlier session differs from the spec and is stopped: {what} changed"
            self._machine.logs.note(execution.uid, message, "Executable")
            await self._end(execution.name, found)
            return None
        running = await self._machine.processes.adopt(identity)
        if running is not None:
            running.cookie = found.get("cookie", "")
            self._follow(execution, Path(found["stdout"]), Path(found["stderr"]))
            self._machine.logs.note(
                execution.uid, f"process {identity.pid} of an earlier session was taken over", "Executable"
            )
        return running

    async def _started(self, execution: Execution, command: Command, key: LifecycleKey) -> Running:
        # The output of a process without a record is in the temporary directory.
        place = self._machine.kept_directory if self._machine.records.lasting else self._machine.directory
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
        # Recorded before the start, so that the cookie is known if this process is killed in between.
        self._record(execution.name, record)
        self._machine.logs.begin_attempt(execution.uid)
        running = await self._machine.processes.start(command, stdout, stderr)
        try:
            self._record(execution.name, {**record, "identity": running.identity.text()})
        except StartError:
            await self._machine.processes.stop(running)
            raise
        self._follow(execution, stdout, stderr)
        return running

    def _record(self, name: str, record: Object) -> None:
        if not self._machine.records.keep(KIND, name, record, self._machine.workload_id):
            remedy = "check that the file is writable, and start the Executable again"
            raise StartError("NotRecorded", self._machine.records.problem, remedy)

    def _follow(self, execution: Execution, stdout: Path, stderr: Path) -> None:
        execution.files = str(stdout), str(stderr)
        for source, path in (("stdout", stdout), ("stderr", stderr)):
            self._machine.logs.follow(execution.uid, source, path)

    async def _end(self, name: str, found: Object) -> None:
        identity = parse(found.get("identity", ""))
        how = {"signal": found.get("stopSignal"), "grace": found.get("stopTimeout")}
        if identity is not None:
            # The process may have ended and left children behind.
            await self._machine.processes.stop(identity, cookie=found.get("cookie", ""), **how)
        elif cookie := found.get("cookie"):
            # The process may have started without a record of its pid.
            await self._machine.processes.stop_marked(cookie, **how)
        for key in ("stdout", "stderr"):
            if path := found.get(key):
                Path(path).unlink(missing_ok=True)
        self._machine.records.drop(KIND, name)
