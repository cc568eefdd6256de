"""The variables by which the exporters of OpenTelemetry in a workload find the receiver of the control plane.

A workload that names an endpoint or headers itself keeps its own exporter, and receives only the name of its service.
One that names the protocol of gRPC receives the address of the receiver over gRPC, if there is one. The variables are
set at the start of a process or container, and are part of no spec; the status shows them with a masked key.
"""

from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import quote

from setpoint.gotemplate.execution import MASK
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.server.telemetry.receiver import KEY_HEADER
from setpoint.workload.environment import Environment

LOOPBACK: Final = "127.0.0.1"
ENDPOINT, PROTOCOL = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"
HEADERS, SERVICE_NAME = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME"
RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"
# The owners after which the telemetry of their workloads is named.
_OWNERS = frozenset(("ExecutableReplicaSet", "Task"))
_SIGNALS = ("TRACES", "METRICS", "LOGS")
_GRPC = "grpc"
_PROTOCOLS = frozenset(("http/protobuf", "http/json", _GRPC))


class Exporters(Protocol):
    """The receiver of the control plane."""

    key: str

    async def endpoint(self, address: str = LOOPBACK) -> str:
        """Returns the URL of the receiver for workloads that reach this machine at an address; empty if there is
        none."""

    async def grpc_endpoint(self, address: str = LOOPBACK) -> str:
        """Returns the URL of the receiver over gRPC in the same way."""


async def exporter_variables(
    exporters: Exporters | None, tree: Object, set_by_user: Mapping[str, str], address: str = LOOPBACK
) -> dict[str, str]:
    """Returns the variables to add to the environment of a workload. `address` is that of this machine for the
    workload; empty if the workload cannot reach this machine."""
    if exporters is None:
        return {}
    found: dict[str, str] = {}
    if address and not _has_exporter(set_by_user):
        over_grpc = set_by_user.get(PROTOCOL) == _GRPC
        endpoint = await (exporters.grpc_endpoint if over_grpc else exporters.endpoint)(address)
        if endpoint:
            found[ENDPOINT] = endpoint
            found[PROTOCOL] = "http/protobuf"
            found[HEADERS] = f"{KEY_HEADER}={exporters.key}"
    attributes = set_by_user.get(RESOURCE_ATTRIBUTES, "")
    # A variable for the name would take precedence over the attribute of the user.
    if "service.name=" not in attributes:
        found[SERVICE_NAME] = _service(tree)
    if not attributes:
        found[RESOURCE_ATTRIBUTES] = f"service.instance.id={quote(meta.name(tree))}"
    return {name: value for name, value in found.items() if not set_by_user.get(name)}


def with_variables(env: Environment, variables: Mapping[str, str]) -> Environment:
    """Returns an environment with the variables of exporters; the key is masked where the environment is shown."""
    shown = {name: f"{KEY_HEADER}={MASK}" if name == HEADERS else value for name, value in variables.items()}
    return env._replace(values={**env.values, **variables}, shown={**env.shown, **shown})


def _has_exporter(env: Mapping[str, str]) -> bool:
    """Returns True if an environment configures the destination of an exporter."""
    if env.get("OTEL_SDK_DISABLED", "").lower() == "true" or env.get(ENDPOINT) or env.get(HEADERS):
        return True
    if env.get(PROTOCOL, "http/protobuf") not in _PROTOCOLS:
        return True
    return any(
        env.get(f"OTEL_EXPORTER_OTLP_{signal}_{name}") for signal in _SIGNALS for name in ("ENDPOINT", "HEADERS")
    )


def _service(tree: Object) -> str:
    """Returns the name of the service that a workload is a replica or attempt of."""
    owner = next((each for each in meta.owner_references(tree) if each.get("kind") in _OWNERS), None)
    return str(owner["name"]) if owner is not None else meta.name(tree)
