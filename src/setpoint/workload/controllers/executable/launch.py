"""Starts the process of an Executable: for this session or persistent, in a terminal, or by the IDE; with the output,
certificates and command of the spec."""

import os

from setpoint.workload.controllers.certificate_files import write_certificates
from setpoint.workload.controllers.executable.lifecycle import Execution, signal_of
from setpoint.workload.controllers.executable.persistence import Persistence
from setpoint.workload.controllers.executable.process_run import ExecutableRun, ProcessRun
from setpoint.workload.controllers.log_limits import limits_of
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.logs.note_line import ERROR
from setpoint.workload.process.command import Command, StartError
from setpoint.workload.process.pipes import Sink
from setpoint.workload.runtime import Machine

STDOUT, STDERR = "stdout", "stderr"


class Launch:
    """Starts Executables with resolved arguments and environment."""

    def __init__(self, machine: Machine, kept: Persistence) -> None:
        self._machine, self._kept = machine, kept

    async def run(self, kind: str, obj: Executable, execution: Execution, args: list[str]) -> ExecutableRun | None:
        """Starts an Executable with one execution type. Returns None if the start must wait; the reason is then set.
        Raises StartError."""
        if kind == "IDE":
            if self._machine.ide is None:
                remedy = "start the control plane from the IDE, or use executionType Process"
                raise StartError("IDENotAvailable", "no IDE connection is configured", remedy)
            return await self._machine.ide.start(obj, execution, args, *self._output(obj, execution))
        self._write_certificates(obj, execution)
        command = self._command(obj, execution, args)
        execution.release_ports()
        if obj.spec.effective_mode != "session":
            return await self._kept.run(obj, execution, command)
        if obj.spec.terminal is not None and self._machine.terminals is not None:
            return await self._machine.terminals.start(obj, execution, command)
        sinks = self._output(obj, execution)
        return ProcessRun(self._machine.processes, await self._machine.processes.start(command, *sinks))

    def _output(self, obj: Executable, execution: Execution) -> tuple[Sink, Sink]:
        """Returns the sinks for stdout and stderr."""
        limits, logs = limits_of(obj.spec.logs), self._machine.logs
        directory = logs.of(execution.uid).directory
        execution.files = str(directory / "stdout.0.log"), str(directory / "stderr.0.log")
        stdout, stderr = logs.capture(execution.uid, STDOUT, limits), logs.capture(execution.uid, STDERR, limits)
        if self._machine.as_dcp:
            stdout.create()
            stderr.create()
        logs.begin_attempt(execution.uid)
        execution.before = {STDOUT: stdout.complete(), STDERR: stderr.complete()}
        return stdout, stderr

    def _write_certificates(self, obj: Executable, execution: Execution) -> None:
        if obj.spec.pem_certificates is not None:
            directory = self._machine.directory / execution.name / "certs"
            for skipped in write_certificates(directory, obj.spec.pem_certificates.to_json()):
                self._machine.logs.note(execution.uid, f"skipped: {skipped}", "Executable", ERROR)

    def _command(self, obj: Executable, execution: Execution, args: list[str]) -> Command:
        spec, machine = obj.spec, self._machine
        try:
            number = signal_of(spec.stop_signal)
        except ValueError as error:
            raise StartError("InvalidSpec", str(error), "change spec.stopSignal") from None
        assert execution.environment is not None
        directory = machine.path(spec.working_directory) if spec.working_directory else machine.working_directory
        # Without a record a process could not be found again: such a process ends with the control plane.
        keep = spec.effective_mode == "persistent" and machine.records.lasting
        return Command(
            os.path.expanduser(spec.executable_path),
            args,
            execution.environment.values,
            str(directory),
            machine.processes.cookie(execution.uid, keep=keep),
            stdin=spec.stdin,
            keep=keep,
            stop_signal=number,
            grace=spec.stop_timeout.total_seconds(),
            exact_env=not spec.inherits,
        )
