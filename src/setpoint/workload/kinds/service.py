"""Service: a stable address and port, independent of the workloads that serve the Service."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Duration, Int32, Int64, NoDefault, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Conditions, PortNumber, PortOrAny, Protocol, Span, Text

AddressAllocationMode: TypeAlias = Literal[
    "Localhost",
    "IPv4ZeroOne",
    "IPv4Loopback",
    "IPv6ZeroOne",
    "AllInterfaces",
    "IPv4AllInterfaces",
    "IPv6AllInterfaces",
    "Proxyless",
]
Balancing: TypeAlias = Literal["RoundRobin", "LeastConnections", "Random", "ClientIP"]


class ServiceSpec(KindModel):
    """The desired state of a Service."""

    address: Text = ""
    """The address to listen on; overrides `addressAllocationMode`."""

    port: PortOrAny = 0
    """The port to listen on; if absent, a free port is chosen and kept."""

    protocol: Protocol = "TCP"
    """TCP or UDP."""

    address_allocation_mode: AddressAllocationMode = "Localhost"
    """The address to listen on. Localhost: all addresses of localhost. IPv4ZeroOne: 127.0.0.1. IPv4Loopback: one of
    127.0.0.0/8. IPv6ZeroOne: ::1. AllInterfaces, IPv4AllInterfaces, IPv6AllInterfaces: all addresses of this machine.
    Proxyless: no proxy listens, and the Service has the address of its first Endpoint."""

    balancing: Balancing = "RoundRobin"
    """The selection of an Endpoint for a connection. ClientIP sends all connections of a client to the same
    Endpoint."""

    drain_timeout: Span = Duration(seconds=30)
    """The time that connections to a deleted Endpoint may continue."""

    @property
    def transport(self) -> str:
        """The protocol in upper case."""
        return self.protocol.upper()


class EffectiveAddress(KindModel):
    """An address and port on which the proxy listens."""

    address: str
    """The address."""

    port: PortNumber
    """The port."""


class ServiceStatus(KindModel):
    """The observed state of a Service."""

    state: Literal["NotReady", "Ready"] | None = None
    """Ready if the address is known and an Endpoint exists."""

    proxy_process_pid: Int64 | None = None
    """The pid of the listening process."""

    proxy_config_file: Text = ""
    """Unused; clients of DCP know the field."""

    effective_address: Text = ""
    """The address to connect to."""

    effective_port: Annotated[Int32, NoDefault()] = 0
    """The port to connect to."""

    addresses: list[EffectiveAddress] = []
    """All addresses on which the proxy listens."""

    proxyless_endpoint_namespace: Text = ""
    """The namespace of the Endpoint that determines the address of a Proxyless Service; Endpoints have none."""

    proxyless_endpoint_name: Text = ""
    """The Endpoint that determines the address of a Proxyless Service."""

    connections: Annotated[Int64, NoDefault()] = 0
    """The total number of connections."""

    active_connections: Annotated[Int64, NoDefault()] = 0
    """The number of open connections."""

    bytes_in: Annotated[Int64, NoDefault()] = 0
    """The number of bytes received from clients."""

    bytes_out: Annotated[Int64, NoDefault()] = 0
    """The number of bytes sent to clients."""

    parked: Annotated[Int64, NoDefault()] = 0
    """The number of connections that wait for an Endpoint."""

    conditions: Conditions = []
    """The condition Ready."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


class Service(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["svc"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Address", ".status.effectiveAddress"),
        Column("Port", ".status.effectivePort"),
        Column("Protocol", ".spec.protocol"),
        Column("Connections", ".status.connections", priority=1),
        Column("Parked", ".status.parked", priority=1),
        Column("Reason", '.status.conditions[?(@.type=="Ready")].reason', priority=1),
        AGE,
    ],
):
    """A stable address and port, independent of the workloads that serve the Service; usually a proxy listens there."""

    spec: ServiceSpec
    """The desired state."""

    status: ServiceStatus | None = None
    """The observed state."""
