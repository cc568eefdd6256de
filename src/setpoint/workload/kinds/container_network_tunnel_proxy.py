"""ContainerNetworkTunnelProxy: containers of a network reach Services of this machine."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Int32, Int64, ListMap, MaxItems, MicroTime, Model, NoDefault, Resource, Rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.parts import AGE, Conditions, Moment, Name, Text, immutable

TunnelProxyState: TypeAlias = Literal["", "Pending", "BuildingImage", "Starting", "Running", "Failed"]
TunnelState: TypeAlias = Literal["", "NotReady", "Ready", "Failed"]


class Tunnel(Model):
    """One Service of this machine, and the Service by which containers reach it."""

    name: Name
    """The name of the tunnel."""

    server_service_namespace: Text = ""
    """The namespace of the Service on this machine; Services have none."""

    server_service_name: Name
    """The Service on this machine."""

    client_service_namespace: Text = ""
    """The namespace of the Service that containers use; Services have none."""

    client_service_name: Name
    """The Service that containers use. It must be Proxyless."""


_TUNNEL_IS_IMMUTABLE = Rule(
    rule="self == oldSelf",
    message="a tunnel cannot be changed; take it out, and add one under another name",
    reason="FieldValueForbidden",
)


class ContainerNetworkTunnelProxySpec(Model):
    """What a ContainerNetworkTunnelProxy should be."""

    container_network_name: Name
    """The name of the ContainerNetwork object."""

    aliases: list[str] = []
    """Names of the proxy in that network."""

    tunnels: Annotated[list[Annotated[Tunnel, _TUNNEL_IS_IMMUTABLE]], ListMap("name"), MaxItems(256)] = []
    """The tunnels. They may be added and taken away."""

    base_image: Text = ""
    """The image that the proxy in the network is built on."""


class TunnelStatus(Model):
    """What a tunnel is."""

    name: str
    """The name of the tunnel."""

    tunnel_id: Annotated[Int64, NoDefault()] = 0
    """Its number, new each time it is made."""

    state: TunnelState
    """Whether it can be used."""

    error_message: Text = ""
    """What went wrong, for people."""

    client_proxy_addresses: list[str] = []
    """The addresses by which containers reach it."""

    client_proxy_port: Annotated[Int32, NoDefault()] = 0
    """The port by which containers reach it."""

    timestamp: MicroTime
    """When this was so."""


class ContainerNetworkTunnelProxyStatus(Model):
    """What a ContainerNetworkTunnelProxy is."""

    state: Annotated[TunnelProxyState, NoDefault()] = ""
    """Where it is in its life."""

    tunnel_statuses: Annotated[list[TunnelStatus], ListMap("name")] = []
    """What each tunnel is."""

    tunnel_configuration_version: Annotated[Int32, NoDefault()] = 0
    """How often the tunnels have changed."""

    client_proxy_container_image: Text = ""
    """The image of the proxy in the network."""

    client_proxy_container_id: Text = ""
    """The container of the proxy in the network."""

    server_proxy_process_id: Int64 | None = None
    """The process of the proxy on this machine."""

    server_proxy_startup_timestamp: Moment = None
    """When that process started."""

    server_proxy_std_out_file: Text = ""
    """The file with its output."""

    server_proxy_std_err_file: Text = ""
    """The file with its error output."""

    client_proxy_control_port: Annotated[Int32, NoDefault()] = 0
    """The port by which the proxy in the network is told what to do."""

    client_proxy_data_port: Annotated[Int32, NoDefault()] = 0
    """The port by which data reach the proxy in the network."""

    server_proxy_control_port: Annotated[Int32, NoDefault()] = 0
    """The port by which the proxy on this machine is told what to do."""

    message: Text = ""
    """What went wrong, for people."""

    conditions: Conditions = []
    """Ready, with its reason and remedy."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


class ContainerNetworkTunnelProxy(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    plural="containernetworktunnelproxies",
    short_names=["cntp"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Network", ".spec.containerNetworkName"),
        Column("Tunnels", ".spec.tunnels[*].name", priority=1),
        AGE,
    ],
):
    """A pair of proxies by which containers of a network reach Services of this machine."""

    spec: Annotated[
        ContainerNetworkTunnelProxySpec,
        immutable("containerNetworkName"),
        immutable("aliases", absent="[]"),
        immutable("baseImage", absent="''"),
    ]
    """What it should be."""

    status: ContainerNetworkTunnelProxyStatus | None = None
    """What it is."""
