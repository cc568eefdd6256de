"""Executable: one process, or one run in an IDE."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from setpoint.schema.types import Column, Int32, Int64, NoDefault, Resource, Rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.health_probes import HealthProbeResults, HealthProbes
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import (
    AGE,
    LIFETIME_RULES,
    Conditions,
    Count,
    Dependencies,
    EnvVar,
    FileWatch,
    HealthStatus,
    Moment,
    Serves,
    Text,
    immutable,
)
from setpoint.workload.kinds.process import ProcessSpec

ExecutableState: TypeAlias = Literal[
    "", "Starting", "Running", "NotFound", "Stopping", "Terminated", "FailedToStart", "Finished", "Unknown"
]

FINAL: frozenset[ExecutableState] = frozenset({"Terminated", "FailedToStart", "Finished", "Unknown"})


class ExecutableSpec(ProcessSpec):
    """The desired state of an Executable."""

    health_probes: HealthProbes = []
    """The health probes."""

    depends_on: Dependencies = []
    """The objects that must be started, ready or finished before the start."""

    watch: FileWatch | None = None
    """Files whose changes restart the process."""

    serves: Serves = []
    """The Services that the process serves."""


class ExecutableStatus(KindModel):
    """The observed state of an Executable."""

    execution_id: Annotated[str, NoDefault()] = msgspec.field(name="executionID", default="")
    """The pid as a string, or the id of the session in the IDE."""

    pid: Int64 | None = None
    """The pid of the process."""

    state: Annotated[ExecutableState, NoDefault()] = ""
    """The lifecycle state."""

    startup_timestamp: Moment = None
    """The time of the last start or attempted start."""

    finish_timestamp: Moment = None
    """The time of the end."""

    exit_code: Int32 | None = None
    """The exit code; absent if unknown."""

    std_out_file: Text = ""
    """The file with the output, created with the first output."""

    std_err_file: Text = ""
    """The file with the error output, created with the first output."""

    terminal_socket_path: Text = ""
    """The socket of its terminal."""

    effective_env: list[EnvVar] = []
    """The environment with all templates filled in; values from secrets are masked."""

    effective_args: list[str] = []
    """The arguments with all templates filled in; values from secrets are masked."""

    health_status: HealthStatus | None = None
    """The health of the workload."""

    health_probe_results: HealthProbeResults = []
    """The last result of each probe."""

    conditions: Conditions = []
    """The conditions Started and Ready."""

    restart_count: Count = 0
    """The number of restarts."""

    last_exit_code: Int32 | None = None
    """The exit code of the previous run."""

    restart_reason: Text = ""
    """The reason of the last restart, if the workload did not end by itself: a changed file, or a request."""

    next_restart_time: Moment = None
    """The time of the next restart."""

    observed_restart: Text = ""
    """The last completed restart request, by the value of its annotation."""

    identity_time: Text = ""
    """The start time of the process in ticks since boot, with the boot id: together with the pid, a unique identity of
    the process."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


def _behavior(of: str) -> str:
    return f"(has({of}.ambientEnvironment) ? {of}.ambientEnvironment.behavior : 'Inherit')"


class Executable(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["exe"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Health", ".status.healthStatus"),
        Column("PID", ".status.pid"),
        Column("Restarts", ".status.restartCount"),
        Column("Exit", ".status.exitCode", priority=1),
        Column("Command", ".spec.executablePath", priority=1),
        Column("Reason", '.status.conditions[?(@.type=="Ready")].reason', priority=1),
        AGE,
    ],
):
    """A process of this machine, or a session of an IDE."""

    spec: Annotated[
        ExecutableSpec,
        *LIFETIME_RULES,
        Rule(
            rule=f"{_behavior('self')} == {_behavior('oldSelf')}",
            message="ambientEnvironment is immutable; delete the object and create it again",
            reason="FieldValueForbidden",
            field_path=".ambientEnvironment",
        ),
        immutable("healthProbes", absent="[]"),
        immutable("pemCertificates"),
        immutable("terminal"),
    ]
    """The desired state."""

    status: ExecutableStatus | None = None
    """The observed state."""
