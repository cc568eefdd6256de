"""How a process is started and stopped: the spec that Executables, their replicas, tasks and probes share."""

from typing import Annotated, Any, Literal, TypeAlias

from setpoint.schema.types import (
    Duration,
    MaxItems,
    MinItems,
    MinLength,
    Model,
    Pattern,
    rule,
)
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


class AmbientEnvironment(Model):
    """What of the environment of the control plane a process gets."""

    behavior: Literal["Inherit", "DoNotInherit"] = "Inherit"
    """Whether it inherits that environment."""


class ExecutablePemCertificates(Model):
    """Certificates that are written to files for the process."""

    certificates: Annotated[list[PemCertificate], MinItems(1)]
    """The certificates."""

    continue_on_error: Flag = False
    """Whether a certificate that cannot be read is left out; otherwise the process does not start."""


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
    message="terminal is for mode session: a process that outlives us cannot keep one",
    reason="FieldValueForbidden",
    field_path=".terminal",
)
@rule(
    "!has(self.terminal) || !self.?stdin.orValue(false)",
    message="stdin cannot be set with terminal, which brings its own",
    reason="FieldValueForbidden",
    field_path=".stdin",
)
class ProcessSpec(Lifetime):
    """A process: what runs, where, with which arguments and environment, and how it ends."""

    executable_path: Annotated[str, MinLength(1)]
    """The program: a path, or a name that is looked up in PATH. No shell is involved."""

    working_directory: Text = ""
    """The directory it starts in; that of the control plane when empty."""

    args: list[str] = []
    """Its arguments. Each may be a template."""

    env: EnvVars = []
    """Environment variables, over those of the files and the inherited ones. Values may be templates."""

    env_files: list[str] = []
    """Files of environment variables (dotenv), read when it starts; later files win."""

    execution_type: ExecutionType = "Process"
    """Who starts it: the control plane, as a process, or an IDE."""

    fallback_execution_types: Annotated[list[ExecutionType], MaxItems(2)] = []
    """What else to try, in this order, when it cannot be started in the first way."""

    ambient_environment: AmbientEnvironment | None = None
    """What it inherits of our environment."""

    mode: ExecutableMode | None = None
    """How long it lives: session (the default), persistent (outlives the control plane, is found again), or cleanup
    (takes over what an earlier session left, and stops it). Ignored when `persistent` is set."""

    pem_certificates: ExecutablePemCertificates | None = None
    """Certificates to write to files for it."""

    terminal: TerminalSpec | None = None
    """A pseudo-terminal to run in."""

    restart_policy: Literal["Never", "OnFailure", "Always"] = "Never"
    """Whether it is started again when it ends: never, when its exit code is not 0, or always."""

    restart_backoff: RestartBackoff | None = None
    """How long to wait before it is started again."""

    stop_signal: Annotated[str, Pattern(r"^SIG[A-Z0-9+]{1,12}$")] = "SIGTERM"
    """The signal that asks it to end."""

    stop_timeout: Span = Duration(seconds=6)
    """How long it has to end before it is killed, with everything it started."""

    stdin: Flag = False
    """Whether its standard input stays open, to be attached to."""

    logs: LogLimits | None = None
    """How much of its output is kept."""

    @property
    def inherits(self) -> bool:
        """Whether the process gets our environment."""
        return self.ambient_environment is None or self.ambient_environment.behavior == "Inherit"


class ProbeProcess(ProcessSpec):
    """A process that a probe runs to its end."""

    health_probes: Annotated[list[Any], MaxItems(0)] = []
    """A probe has no probes of its own."""


class ProbeTemplate(Model):
    """The Executable that a probe runs."""

    labels: dict[str, str] = {}
    """Labels of it."""

    annotations: dict[str, str] = {}
    """Annotations of it."""

    spec: ProbeProcess
    """What runs."""
