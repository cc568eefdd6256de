"""Executable: one process, or one run in an IDE."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from setpoint.schema.types import Column, Int32, Int64, Model, NoDefault, Resource, Rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.health import HealthProbeResults, HealthProbes
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
    """What an Executable should be."""

    health_probes: HealthProbes = []
    """How to find out whether it is well."""

    depends_on: Dependencies = []
    """What must have started, be ready or have ended before it starts."""

    watch: FileWatch | None = None
    """Files whose change restarts it."""

    serves: Serves = []
    """The Services that it serves."""


class ExecutableStatus(Model):
    """What an Executable is."""

    execution_id: Annotated[str, NoDefault()] = msgspec.field(name="executionID", default="")
    """The pid as a text, or the id of the session in the IDE."""

    pid: Int64 | None = None
    """The process."""

    state: Annotated[ExecutableState, NoDefault()] = ""
    """Where it is in its life."""

    startup_timestamp: Moment = None
    """When it was started, or that was tried."""

    finish_timestamp: Moment = None
    """When it ended."""

    exit_code: Int32 | None = None
    """Its exit code; absent when it is not known."""

    std_out_file: Text = ""
    """The file with its output, which is made with the first of it."""

    std_err_file: Text = ""
    """The file with its error output, which is made with the first of it."""

    terminal_socket_path: Text = ""
    """The socket of its terminal."""

    effective_env: list[EnvVar] = []
    """Its environment, with all templates filled in; what came from secrets is masked."""

    effective_args: list[str] = []
    """Its arguments, with all templates filled in; what came from secrets is masked."""

    health_status: HealthStatus | None = None
    """Whether it is well."""

    health_probe_results: HealthProbeResults = []
    """What came of each probe the last time."""

    conditions: Conditions = []
    """Started and Ready, with reasons and remedies."""

    restart_count: Count = 0
    """How often it was started again."""

    last_exit_code: Int32 | None = None
    """The exit code of the life before this one."""

    restart_reason: Text = ""
    """Why it was last started again, where that was not for its end: a file changed, somebody asked for it."""

    next_restart_time: Moment = None
    """When it will be started again."""

    observed_restart: Text = ""
    """The last request for a restart, by its annotation, that was obeyed."""

    identity_time: Text = ""
    """When the process started, in ticks since the machine did, with the id of that boot: with the pid it names one
    process for ever."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


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
    """A process of this machine, or one that an IDE runs."""

    spec: Annotated[
        ExecutableSpec,
        *LIFETIME_RULES,
        Rule(
            rule=f"{_behavior('self')} == {_behavior('oldSelf')}",
            message="what is inherited cannot be changed once the object is made; delete the object and create it anew",
            reason="FieldValueForbidden",
            field_path=".ambientEnvironment",
        ),
        immutable("healthProbes", absent="[]"),
        immutable("pemCertificates"),
        immutable("terminal"),
    ]
    """What it should be."""

    status: ExecutableStatus | None = None
    """What it is."""
