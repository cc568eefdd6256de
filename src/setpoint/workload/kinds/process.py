"""The start and stop of a process: the spec that Executables, replicas, tasks and probes share."""

from typing import Annotated, Any, Literal, TypeAlias

from setpoint.schema.types import (
    Duration,
    MaxItems,
    MinItems,
    MinLength,
    Pattern,
    rule,
)
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import (
    EFFECTIVE_MODE,
    EnvVars,
    ExecutableMode,
    Flag,
    Lifetime,
    LogLimits,
    PemCertificate,
    RestartBackoff,
    Span,
    TerminalSpec,
    Text,
)

ExecutionType: TypeAlias = Literal["Process", "IDE"]


class AmbientEnvironment(KindModel):
    """The environment variables that a process inherits from the control plane."""

    behavior: Literal["Inherit", "DoNotInherit"] = "Inherit"
    """Inherits the environment or not."""


class ExecutablePemCertificates(KindModel):
    """Certificates that are written to files for the process."""

    certificates: Annotated[list[PemCertificate], MinItems(1)]
    """The certificates."""

    continue_on_error: Flag = False
    """Skips invalid certificates; otherwise the process does not start."""


@rule(
    "!has(self.fallbackExecutionTypes) || "
    "self.fallbackExecutionTypes.all(each, self.fallbackExecutionTypes.exists_one(other, other == each))",
    message="fallbackExecutionTypes must be unique; name each type once",
    field_path=".fallbackExecutionTypes",
)
@rule(
    "!has(self.fallbackExecutionTypes) || !(self.executionType in self.fallbackExecutionTypes)",
    message="fallbackExecutionTypes cannot contain executionType itself; leave it out of the list",
    field_path=".fallbackExecutionTypes",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || self.executionType == 'Process'",
    message="executionType must be Process in the modes persistent and cleanup: only processes can be taken over",
    field_path=".executionType",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || self.?fallbackExecutionTypes.orValue([]).size() == 0",
    message="fallbackExecutionTypes must be empty in the modes persistent and cleanup",
    field_path=".fallbackExecutionTypes",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || !has(self.terminal)",
    message="terminal is only allowed in mode session: a process that outlives the control plane would lose it",
    reason="FieldValueForbidden",
    field_path=".terminal",
)
@rule(
    "!has(self.terminal) || !self.?stdin.orValue(false)",
    message="stdin cannot be set with terminal, which has its own input",
    reason="FieldValueForbidden",
    field_path=".stdin",
)
class ProcessSpec(Lifetime):
    """A process: its program, directory, arguments and environment, and its restarts and termination."""

    executable_path: Annotated[str, MinLength(1)]
    """The program: a path, or a name that is searched in PATH. No shell is used."""

    working_directory: Text = ""
    """The working directory; that of the control plane if empty."""

    args: list[str] = []
    """The arguments. Each may be a template."""

    env: EnvVars = []
    """Environment variables, which override those of files and inherited ones. Values may be templates."""

    env_files: list[str] = []
    """Files of environment variables (dotenv), read at the start; later files win."""

    execution_type: ExecutionType = "Process"
    """The runner: Process (the control plane) or IDE."""

    fallback_execution_types: Annotated[list[ExecutionType], MaxItems(2)] = []
    """The execution types to try, in order, if the first one fails to start."""

    ambient_environment: AmbientEnvironment | None = None
    """The inherited environment."""

    mode: ExecutableMode | None = None
    """The lifetime: session (the default), persistent (outlives the control plane and is found again), or cleanup (a
    process of an earlier session, stopped with the object). Ignored if `persistent` is set."""

    pem_certificates: ExecutablePemCertificates | None = None
    """Certificates to write to files for the process."""

    terminal: TerminalSpec | None = None
    """A pseudo-terminal to run in."""

    restart_policy: Literal["Never", "OnFailure", "Always"] = "Never"
    """The restart policy: never, on an exit code other than 0, or always."""

    restart_backoff: RestartBackoff | None = None
    """The delay before a restart."""

    stop_signal: Annotated[str, Pattern(r"^SIG[A-Z0-9+]{1,12}$")] = "SIGTERM"
    """The stop signal."""

    stop_timeout: Span = Duration(seconds=6)
    """The time between the stop signal and the kill of the process and its children."""

    stdin: Flag = False
    """Keeps the standard input open for `attach`."""

    logs: LogLimits | None = None
    """The limits of the stored output."""

    @property
    def inherits(self) -> bool:
        """True if the process inherits the environment of the control plane."""
        return self.ambient_environment is None or self.ambient_environment.behavior == "Inherit"


class ProbeProcess(ProcessSpec):
    """A process that a probe runs to its end."""

    health_probes: Annotated[list[Any], MaxItems(0)] = []
    """Must be empty: a probe has no probes."""


class ProbeTemplate(KindModel):
    """The Executable that a probe runs."""

    labels: dict[str, str] = {}
    """The labels."""

    annotations: dict[str, str] = {}
    """The annotations."""

    spec: ProbeProcess
    """The spec of the process."""
