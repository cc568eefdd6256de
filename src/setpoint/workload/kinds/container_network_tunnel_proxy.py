"""ContainerNetworkTunnelProxy: containers of a network reach Services of this machine."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Int32, Int64, ListMap, MaxItems, MicroTime, NoDefault, Resource, Rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Conditions, Moment, Name, Text, immutable

TunnelProxyState: TypeAlias = Literal["", "Pending", "BuildingImage", "Starting", "Running", "Failed"]
TunnelState: TypeAlias = Literal["", "NotReady", "Ready", "Failed"]


class Tunnel(KindModel):
    """One Service of this machine, and the Service by which containers reach the tunnel."""

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
    message="a tunnel is immutable; remove it, and add one with another name",
    reason="FieldValueForbidden",
)


class ContainerNetworkTunnelProxySpec(KindModel):
    """The desired state of a ContainerNetworkTunnelProxy."""

    container_network_name: Name
    """The name of the ContainerNetwork object."""

    aliases: list[str] = []
    """Names of the proxy in that network."""

    tunnels: Annotated[list[Annotated[Tunnel, _TUNNEL_IS_IMMUTABLE]], ListMap("name"), MaxItems(256)] = []
    """The tunnels. They may be added and removed."""

    base_image: Text = ""
    """The base image of the proxy in the network."""


class TunnelStatus(KindModel):
    """The observed state of a tunnel."""

    name: str
    """The name of the tunnel."""

    tunnel_id: Annotated[Int64, NoDefault()] = 0
    """The number of the tunnel, new each time the tunnel is opened."""

    state: TunnelState
    """The state of the tunnel."""

    error_message: Text = ""
    """The error message."""

    client_proxy_addresses: list[str] = []
    """The addresses by which containers reach the tunnel."""

    client_proxy_port: Annotated[Int32, NoDefault()] = 0
    """The port by which containers reach the tunnel."""

    timestamp: MicroTime
    """The time of this status."""


class ContainerNetworkTunnelProxyStatus(KindModel):
    """The observed state of a ContainerNetworkTunnelProxy."""

    state: Annotated[TunnelProxyState, NoDefault()] = ""
    """The lifecycle state."""

    tunnel_statuses: Annotated[list[TunnelStatus], ListMap("name")] = []
    """The status of each tunnel."""

    tunnel_configuration_version: Annotated[Int32, NoDefault()] = 0
    """The number of changes to the tunnels."""

    client_proxy_container_image: Text = ""
    """The image of the proxy in the network."""

    client_proxy_container_id: Text = ""
    """The container of the proxy in the network."""

    server_proxy_process_id: Int64 | None = None
    """The process of the proxy on this machine."""

    server_proxy_startup_timestamp: Moment = None
    """The start time of that process."""

    server_proxy_std_out_file: Text = ""
    """The file with its output."""

    server_proxy_std_err_file: Text = ""
    """The file with its error output."""

    client_proxy_control_port: Annotated[Int32, NoDefault()] = 0
    """The control port of the proxy in the network."""

    client_proxy_data_port: Annotated[Int32, NoDefault()] = 0
    """The data port of the proxy in the network."""

    server_proxy_control_port: Annotated[Int32, NoDefault()] = 0
    """The control port of the proxy on this machine."""

    message: Text = ""
    """The error message."""

    conditions: Conditions = []
    """The condition Ready."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


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
    """The desired state."""

    status: ContainerNetworkTunnelProxyStatus | None = None
    """The observed state."""
