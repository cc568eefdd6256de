"""ContainerExec: a command that runs in a Container."""

from typing import Annotated

from setpoint.schema.types import Column, Int32, Int64, MinLength, NoDefault, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.executable import ExecutableState
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Conditions, EnvVar, EnvVars, Flag, Moment, Name, Text, immutable


class ContainerExecSpec(KindModel):
    """The command and its container. The fields are immutable."""

    container_name: Name
    """The name of the Container object."""

    command: Annotated[str, MinLength(1)]
    """The program in the container."""

    args: list[str] = []
    """The arguments. Each may be a template, in which `.` is the Container."""

    working_directory: Text = ""
    """The working directory in the container."""

    env: EnvVars = []
    """Environment variables, in addition to those of the container. Values may be templates."""

    env_files: list[str] = []
    """Files of environment variables (dotenv); later files win, `env` wins over all."""

    stdin: Flag = False
    """Keeps the standard input open for `attach`; otherwise the input is empty."""


class ContainerExecStatus(KindModel):
    """The observed state of a ContainerExec."""

    state: Annotated[ExecutableState, NoDefault()] = ""
    """The lifecycle state; the states are those of an Executable."""

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

    effective_env: list[EnvVar] = []
    """The environment with all templates filled in; values from secrets are masked."""

    effective_args: list[str] = []
    """The arguments with all templates filled in; values from secrets are masked."""

    conditions: Conditions = []
    """The conditions Started and Succeeded."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


class ContainerExec(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["ctrexec"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Container", ".spec.containerName"),
        Column("Exit", ".status.exitCode"),
        Column("Command", ".spec.command", priority=1),
        AGE,
    ],
):
    """A command that runs in a Container."""

    spec: Annotated[
        ContainerExecSpec,
        immutable("containerName"),
        immutable("command"),
        immutable("args", absent="[]"),
        immutable("workingDirectory", absent="''"),
        immutable("env", absent="[]"),
        immutable("envFiles", absent="[]"),
        immutable("stdin", absent="false"),
    ]
    """The command and its container."""

    status: ContainerExecStatus | None = None
    """The observed state."""
