"""Service: an address and port that stay, whoever serves them."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Duration, Int32, Int64, Model, NoDefault, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
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


class ServiceSpec(Model):
    """What a Service should be."""

    address: Text = ""
    """The address to listen on; it overrides `addressAllocationMode`."""

    port: PortOrAny = 0
    """The port to listen on; a free one is chosen, and kept, when it is absent."""

    protocol: Protocol = "TCP"
    """TCP or UDP."""

    address_allocation_mode: AddressAllocationMode = "Localhost"
    """Which address to listen on. Localhost: all that localhost stands for. IPv4ZeroOne: 127.0.0.1. IPv4Loopback: one
    of 127.0.0.0/8. IPv6ZeroOne: ::1. AllInterfaces, IPv4AllInterfaces, IPv6AllInterfaces: every address of this
    machine. Proxyless: nothing listens, and the Service has the address of its first Endpoint."""

    balancing: Balancing = "RoundRobin"
    """Which Endpoint gets the next connection. ClientIP gives all of one client to the same."""

    drain_timeout: Span = Duration(seconds=30)
    """How long connections to an Endpoint that is gone may go on."""


class EffectiveAddress(Model):
    """An address that is listened on."""

    address: str
    """The address."""

    port: PortNumber
    """The port."""


class ServiceStatus(Model):
    """What a Service is."""

    state: Literal["NotReady", "Ready"] | None = None
    """Ready when its address is known and there is an Endpoint."""

    proxy_process_pid: Int64 | None = None
    """The process that listens."""

    proxy_config_file: Text = ""
    """Unused; clients of DCP know the field."""

    effective_address: Text = ""
    """The address to connect to."""

    effective_port: Annotated[Int32, NoDefault()] = 0
    """The port to connect to."""

    addresses: list[EffectiveAddress] = []
    """All that is listened on."""

    proxyless_endpoint_namespace: Text = ""
    """The namespace of the Endpoint a Proxyless Service has its address from; Endpoints have none."""

    proxyless_endpoint_name: Text = ""
    """The Endpoint a Proxyless Service has its address from."""

    connections: Annotated[Int64, NoDefault()] = 0
    """How many connections there were."""

    active_connections: Annotated[Int64, NoDefault()] = 0
    """How many there are."""

    bytes_in: Annotated[Int64, NoDefault()] = 0
    """How many bytes came from clients."""

    bytes_out: Annotated[Int64, NoDefault()] = 0
    """How many bytes went to clients."""

    parked: Annotated[Int64, NoDefault()] = 0
    """How many connections wait for an Endpoint."""

    conditions: Conditions = []
    """Ready, with its reason and remedy."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


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
    """An address and port that stay, whoever serves them; usually a proxy of ours listens there."""

    spec: ServiceSpec
    """What it should be."""

    status: ServiceStatus | None = None
    """What it is."""
