"""The state of one Executable as its controller knows it, and the object's status derived from that state."""

import asyncio
import signal
from dataclasses import dataclass, field

from setpoint.workload.controllers.executable.process_run import ExecutableRun
from setpoint.workload.controllers.workload_state import SUSPENDED, WorkloadState, moment
from setpoint.workload.kinds.executable import FINAL, ExecutableSpec, ExecutableState, ExecutableStatus
from setpoint.workload.kinds.parts import HealthStatus
from setpoint.workload.process.command import Exit
from setpoint.workload.proxy.ports import Reservation
from setpoint.workload.terminal.screen import Screen

# The offset of exit codes for processes ended by a signal, as in shells; and the exit code of all of them in DCP.
_SIGNALLED, _SIGNALLED_IN_DCP = 128, -1


@dataclass
class Execution(WorkloadState):
    """One Executable object and its process."""

    state: ExecutableState = ""
    run: ExecutableRun | None = None
    # The screen of the last terminal, which stays after the end for viewers that come late.
    last_screen: Screen | None = None
    stopping: "asyncio.Task[str] | None" = None
    # The ended run whose child processes may still run, the task that ends them, and those that could not be ended.
    left_behind: ExecutableRun | None = None
    ending: "asyncio.Task[str] | None" = None
    not_ended: str = ""
    ports: dict[str, Reservation] = field(default_factory=dict)
    # The number of lines in its log, by source, of earlier runs.
    before: dict[str, int] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.state in FINAL

    def start_run(self, *, is_requested: bool = False) -> None:
        super().start_run(is_requested=is_requested)
        self.run = None
        # Another process may have taken a port since; the same port is tried first.
        self.release_ports()
        self.ports = {}

    def ended(self, exit: Exit, *, as_dcp: bool = False) -> str:  # noqa: A002 - the name of the concept
        """Takes over the exit of a process. Returns the exit as a message. With `as_dcp`, the exit code is DCP's."""
        self.finished_at = exit.at
        self.close_probing()
        if exit.signal is not None:
            self.exit_code = _SIGNALLED_IN_DCP if as_dcp else _SIGNALLED + exit.signal
            return f"the process was ended by {_signal_name(exit.signal)}"
        self.exit_code = exit.code
        return (
            "the process ended; its exit code is unknown"
            if exit.code is None
            else f"the process ended with exit code {exit.code}"
        )

    def release_ports(self) -> None:
        """Releases the reserved ports, for the process to use."""
        for each in self.ports.values():
            each.release()

    @property
    def health(self) -> HealthStatus:
        """The health by DCP's rules."""
        if self.state == "Running":
            return self.probing.health if self.probing is not None else "Healthy"
        failed = self.state == "FailedToStart" or (self.state == "Finished" and self.exit_code)
        if failed and self.reason != SUSPENDED:
            return "Unhealthy"
        return "Caution"

    def status(self) -> ExecutableStatus:
        """Returns the status of the object, without its conditions.

        The exit is reported together with the state that follows: a process with children may have ended some time
        before.
        """
        run, has_exit = self.run, self.state != "Running"
        return ExecutableStatus(
            execution_id=run.id if run is not None else "",
            pid=run.pid if run is not None else None,
            state=self.state,
            startup_timestamp=moment(self.started_at),
            finish_timestamp=moment(self.finished_at) if has_exit else None,
            exit_code=self.exit_code if has_exit else None,
            std_out_file=self.files[0],
            std_err_file=self.files[1],
            terminal_socket_path=self.terminal,
            effective_env=self.effective_env(),
            effective_args=self.args,
            health_status=self.health,
            health_probe_results=self.probing.results if self.probing is not None else [],
            restart_count=self.restarts,
            last_exit_code=self.last_exit_code,
            restart_reason=self.restart_reason,
            next_restart_time=moment(self.due_at),
            observed_restart=self.obeyed,
            identity_time=run.identity if run is not None else "",
        )

    def restore(self, status: ExecutableStatus | None) -> None:
        """Takes over the status that an earlier control plane reported."""
        if status is not None:
            self.restore_status(status)
            self.files = status.std_out_file, status.std_err_file


def should_restart(spec: ExecutableSpec, exit_code: int | None) -> bool:
    """Returns True if the restart policy restarts a process with this exit code."""
    return spec.restart_policy == "Always" or (spec.restart_policy == "OnFailure" and exit_code != 0)


def signal_of(name: str) -> int:
    """Returns the number of a signal. Raises ValueError, with the remedy."""
    try:
        return int(signal.Signals[name])
    except KeyError:
        raise ValueError(
            f"stopSignal {name} is not supported on this machine: use SIGTERM, SIGINT or SIGQUIT"
        ) from None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
