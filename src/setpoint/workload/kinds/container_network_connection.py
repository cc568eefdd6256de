"""ContainerNetworkConnection: the connection of one container to one network."""

import msgspec

from setpoint.schema.types import Column, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Name


class ContainerNetworkConnectionSpec(KindModel):
    """The container and the network of a connection."""

    container_network_name: Name
    """The name of the ContainerNetwork object."""

    container_id: Name = msgspec.field(name="containerID")
    """The id of the container in the engine."""

    aliases: list[str] = []
    """Names of the container in that network."""


class ContainerNetworkConnection(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["ctrnetconn"],
    categories=[CATEGORY],
    columns=[
        Column("Network", ".spec.containerNetworkName"),
        Column("Container", ".spec.containerID"),
        AGE,
    ],
):
    """The connection of a container to a network. The status of the network lists the connected containers."""

    spec: ContainerNetworkConnectionSpec
    """The container and the network."""
