"""Probes: how to find out whether a workload is well, how often, and what came of it."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import (
    Duration,
    Int32,
    ListMap,
    MaxItems,
    MaxLength,
    MicroTime,
    Minimum,
    MinItems,
    MinLength,
    Model,
    Pattern,
    rule,
)
from setpoint.workload.kinds.parts import Count, Span, Text
from setpoint.workload.kinds.process import ProbeTemplate

ProbeType: TypeAlias = Literal["HTTP", "Executable", "TCP", "Exec", "GRPC", "Log"]
Outcome: TypeAlias = Literal["Success", "Failure", "Unknown"]


@rule(
    "self.interval > duration('0s')",
    message="interval must be positive, such as 5s",
    field_path=".interval",
)
@rule(
    "self.timeout > duration('0s')",
    message="timeout must be positive, such as 10s",
    field_path=".timeout",
)
class HealthProbeSchedule(Model):
    """When a probe runs."""

    kind: Literal["Continuous", "UntilSuccess"] = "Continuous"
    """Whether it goes on for ever, or ends with the first success."""

    interval: Span
    """The time from one run to the next."""

    timeout: Span = Duration(seconds=10)
    """How long one run may take before it counts as failed."""

    initial_delay: Span | None = None
    """How long to wait after the start before the first run."""


class HttpHeader(Model):
    """A header that an HTTP probe sends."""

    name: Annotated[str, MinLength(1)]
    """The name of the header."""

    value: Text = ""
    """Its value, which may be a template."""


class HttpProbe(Model):
    """A GET request. An answer 2xx is a success."""

    url: Annotated[str, MinLength(1)]
    """The URL, which may be a template."""

    headers: list[HttpHeader] = []
    """Headers to send."""


@rule(
    "!self.executableTemplate.spec.?stop.orValue(false)",
    message="a probe with stop set would never run; leave stop out",
    field_path=".executableTemplate.spec.stop",
)
class ExecutableProbe(Model):
    """A process. Exit code 0 is a success."""

    executable_template: ProbeTemplate
    """What runs."""


class TcpProbe(Model):
    """A connection. That it can be made is a success."""

    address: Text = ""
    """The address, which may be a template; localhost when empty."""

    port: Annotated[str, MinLength(1)]
    """The port as a text, which may be a template such as `{{ portForServing "web" }}`."""


class ExecProbe(Model):
    """A command: in the container of a Container, beside the process of an Executable. Exit code 0 is a success."""

    command: Annotated[list[str], MinItems(1)]
    """The program and its arguments, which may be templates."""

    working_directory: Text = ""
    """The directory it starts in; that of the workload when empty."""


class GrpcProbe(Model):
    """A question to the gRPC health service. SERVING is a success."""

    address: Text = ""
    """The address, which may be a template; localhost when empty."""

    port: Annotated[str, MinLength(1)]
    """The port as a text, which may be a template."""

    service: Text = ""
    """The service to ask about; the server as a whole when empty."""


class LogProbe(Model):
    """A line of the output. That one like it was written is a success."""

    pattern: Annotated[str, MinLength(1), MaxLength(4096)]
    """A regular expression (RE2) that a line must match somewhere."""

    source: Literal["stdout", "stderr", "all"] = "all"
    """Which output is looked at."""


def _needs(kind: str, field: str) -> str:
    return f"self.type != '{kind}' || has(self.{field})"


@rule(_needs("HTTP", "httpProbe"), message="httpProbe with a url is required for type HTTP", field_path=".httpProbe")
@rule(
    _needs("Executable", "executableProbe"),
    message="executableProbe is required for type Executable",
    field_path=".executableProbe",
)
@rule(_needs("TCP", "tcpProbe"), message="tcpProbe with a port is required for type TCP", field_path=".tcpProbe")
@rule(
    _needs("Exec", "execProbe"), message="execProbe with a command is required for type Exec", field_path=".execProbe"
)
@rule(_needs("GRPC", "grpcProbe"), message="grpcProbe with a port is required for type GRPC", field_path=".grpcProbe")
@rule(_needs("Log", "logProbe"), message="logProbe with a pattern is required for type Log", field_path=".logProbe")
class HealthProbe(Model):
    """A way to find out whether a workload is well."""

    name: Annotated[str, MinLength(1), MaxLength(253), Pattern("^[^_]")]
    """The name of the probe, unique in its workload. Names with an underscore in front are our own."""

    type: ProbeType
    """What is done; the field for that type says the rest."""

    http_probe: HttpProbe | None = None
    """For type HTTP."""

    executable_probe: ExecutableProbe | None = None
    """For type Executable."""

    tcp_probe: TcpProbe | None = None
    """For type TCP."""

    exec_probe: ExecProbe | None = None
    """For type Exec."""

    grpc_probe: GrpcProbe | None = None
    """For type GRPC."""

    log_probe: LogProbe | None = None
    """For type Log."""

    role: Literal["Readiness", "Startup", "Liveness"] = "Readiness"
    """What follows from it. Readiness: whether it gets traffic. Startup: the others wait for its first success.
    Liveness: a failure restarts the workload."""

    schedule: HealthProbeSchedule
    """When it runs."""

    success_threshold: Annotated[Int32, Minimum(1)] = 1
    """How many successes in a row it takes to be well again."""

    failure_threshold: Annotated[Int32, Minimum(1)] = 1
    """How many failures in a row it takes to be unwell."""

    annotations: dict[str, str] = {}
    """Anything that clients want to keep with the probe."""


class HealthProbeResult(Model):
    """What came of a probe the last time."""

    outcome: Outcome
    """Success, Failure, or Unknown when it could not be told."""

    timestamp: MicroTime
    """When."""

    probe_name: str
    """The name of the probe; `__runtime` is the health check of the container's image."""

    reason: Text = ""
    """Why it failed."""

    successes: Count = 0
    """How many successes in a row there were."""

    failures: Count = 0
    """How many failures in a row there were."""


HealthProbes: TypeAlias = Annotated[list[HealthProbe], ListMap("name"), MaxItems(64)]
HealthProbeResults: TypeAlias = Annotated[list[HealthProbeResult], ListMap("probe_name")]
