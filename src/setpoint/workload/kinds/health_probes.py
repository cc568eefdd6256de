"""The health probes of a workload: their types, schedules and results."""

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
    Pattern,
    rule,
)
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import Count, Span, Text
from setpoint.workload.kinds.process import ProbeTemplate

ProbeType: TypeAlias = Literal["HTTP", "Executable", "TCP", "Exec", "GRPC", "Log"]
Outcome: TypeAlias = Literal["Success", "Failure", "Unknown"]


@rule(
    "self.interval > duration('0s')",
    message="interval must be positive, e.g. 5s",
    field_path=".interval",
)
@rule(
    "self.timeout > duration('0s')",
    message="timeout must be positive, e.g. 10s",
    field_path=".timeout",
)
class HealthProbeSchedule(KindModel):
    """The schedule of a probe."""

    kind: Literal["Continuous", "UntilSuccess"] = "Continuous"
    """Continuous runs forever, UntilSuccess ends with the first success."""

    interval: Span
    """The time between runs."""

    timeout: Span = Duration(seconds=10)
    """The timeout of one run, after which the run has failed."""

    initial_delay: Span | None = None
    """The delay between the start and the first run."""

    start_period: Span | None = None
    """The time after the first run during which failures do not count; the first success ends this time."""

    start_interval: Span | None = None
    """The time between runs during `startPeriod`; at most `interval`, and shorter at first, if absent."""


class HttpHeader(KindModel):
    """A header of an HTTP probe."""

    name: Annotated[str, MinLength(1)]
    """The name of the header."""

    value: Text = ""
    """The value, which may be a template."""


class HttpProbe(KindModel):
    """A GET request. A response with status 2xx is a success."""

    url: Annotated[str, MinLength(1)]
    """The URL, which may be a template."""

    headers: list[HttpHeader] = []
    """The headers of the request."""


@rule(
    "!self.executableTemplate.spec.?stop.orValue(false)",
    message="a probe with stop set would never run; remove stop",
    field_path=".executableTemplate.spec.stop",
)
class ExecutableProbe(KindModel):
    """A process. Exit code 0 is a success."""

    executable_template: ProbeTemplate
    """The spec of the process."""


class TcpProbe(KindModel):
    """A TCP connection. An established connection is a success."""

    address: Text = ""
    """The address, which may be a template; localhost if empty."""

    port: Annotated[str, MinLength(1)]
    """The port as a string, which may be a template, e.g. `{{ portForServing "web" }}`."""


class ExecProbe(KindModel):
    """A command: in the container of a Container, or next to the process of an Executable. Exit code 0 is a success."""

    command: Annotated[list[str], MinItems(1)]
    """The program and its arguments, which may be templates."""

    working_directory: Text = ""
    """The working directory; that of the workload if empty."""


class GrpcProbe(KindModel):
    """A request to the gRPC health service. SERVING is a success."""

    address: Text = ""
    """The address, which may be a template; localhost if empty."""

    port: Annotated[str, MinLength(1)]
    """The port as a string, which may be a template."""

    service: Text = ""
    """The service to check; the whole server if empty."""


class LogProbe(KindModel):
    """A pattern for lines of the output. A matching line is a success."""

    pattern: Annotated[str, MinLength(1), MaxLength(4096)]
    """A regular expression (RE2) that must match a part of a line."""

    source: Literal["stdout", "stderr", "all"] = "all"
    """The output to search."""


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
class HealthProbe(KindModel):
    """A health check of a workload."""

    name: Annotated[str, MinLength(1), MaxLength(253), Pattern("^[^_]")]
    """The name of the probe, unique in its workload. Names that begin with an underscore are reserved."""

    type: ProbeType
    """The type of the probe; the field for that type is required."""

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
    """The role of the probe. Readiness: a failure stops traffic. Startup: the other probes wait for its first success.
    Liveness: a failure restarts the workload."""

    schedule: HealthProbeSchedule
    """The schedule of the probe."""

    success_threshold: Annotated[Int32, Minimum(1)] = 1
    """The number of consecutive successes after which the probe succeeds."""

    failure_threshold: Annotated[Int32, Minimum(1)] = 1
    """The number of consecutive failures after which the probe fails."""

    annotations: dict[str, str] = {}
    """Annotations for clients."""


class HealthProbeResult(KindModel):
    """The last result of a probe."""

    outcome: Outcome
    """Success, Failure, or Unknown if there is no result."""

    timestamp: MicroTime
    """The time of the result."""

    probe_name: str
    """The name of the probe; `__runtime` is the health check of the container's image."""

    reason: Text = ""
    """The reason of a failure."""

    successes: Count = 0
    """The number of consecutive successes."""

    failures: Count = 0
    """The number of consecutive failures."""


HealthProbes: TypeAlias = Annotated[list[HealthProbe], ListMap("name"), MaxItems(64)]
HealthProbeResults: TypeAlias = Annotated[list[HealthProbeResult], ListMap("probe_name")]
