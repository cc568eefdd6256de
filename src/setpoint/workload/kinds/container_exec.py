"""ContainerExec: a command that runs in a Container."""

from typing import Annotated

from setpoint.schema.types import Column, Int32, Int64, MinLength, Model, NoDefault, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.executable import ExecutableState
from setpoint.workload.kinds.parts import AGE, Conditions, EnvVar, EnvVars, Flag, Moment, Name, Text, immutable


class ContainerExecSpec(Model):
    """What runs, and where. Nothing of it can be changed."""

    container_name: Name
    """The name of the Container object."""

    command: Annotated[str, MinLength(1)]
    """The program in the container."""

    args: list[str] = []
    """Its arguments. Each may be a template, in which `.` is the Container."""

    working_directory: Text = ""
    """The directory in the container where it starts."""

    env: EnvVars = []
    """Environment variables, beside those of the container. Values may be templates."""

    env_files: list[str] = []
    """Files of environment variables (dotenv); later files win, `env` wins over all."""

    stdin: Flag = False
    """Whether it has a standard input, for `attach`; without, it reads to the end at once."""


class ContainerExecStatus(Model):
    """What became of it."""

    state: Annotated[ExecutableState, NoDefault()] = ""
    """Where it is in its life; the states are those of an Executable."""

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

    effective_env: list[EnvVar] = []
    """Its environment, with all templates filled in; what came from secrets is masked."""

    effective_args: list[str] = []
    """Its arguments, with all templates filled in; what came from secrets is masked."""

    conditions: Conditions = []
    """Started and Succeeded, with reasons and remedies."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


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
    """What runs, and where."""

    status: ContainerExecStatus | None = None
    """What became of it."""
