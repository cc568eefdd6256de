"""ContainerNetworkConnection: that one container is connected to one network."""

import msgspec

from setpoint.schema.types import Column, Model, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.parts import AGE, Name


class ContainerNetworkConnectionSpec(Model):
    """Which container is connected to which network."""

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
    """That a container is connected to a network. It has no status: the network shows who is connected to it."""

    spec: ContainerNetworkConnectionSpec
    """Which container, and which network."""
