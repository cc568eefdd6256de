"""ContainerNetwork: a network of containers."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Format, Int64, NoDefault, Pattern, Resource, rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import (
    AGE,
    EFFECTIVE_MODE,
    MODE_IS_IMMUTABLE,
    Conditions,
    ContainerMode,
    Flag,
    Label,
    Mode,
    Text,
    immutable,
)


class AddressPool(KindModel):
    """An address range of a network."""

    subnet: Annotated[str, Format("cidr")] | None = None
    """The subnet, e.g. 10.1.0.0/24."""

    gateway: Text = ""
    """The address of this machine in the subnet."""

    ip_range: Text = ""
    """The part of the subnet from which addresses are chosen."""

    auxiliary_addresses: dict[str, str] = {}
    """Addresses in use outside of the engine, by host name."""


ContainerNetworkState: TypeAlias = Literal["Pending", "Running", "FailedToStart", "Removed", "NotFound"]


@rule(
    f"{EFFECTIVE_MODE} == 'session' || self.?networkName.orValue('') != ''",
    message="networkName must be set in every mode except session: the network is found by this name",
    reason="FieldValueRequired",
    field_path=".networkName",
)
class ContainerNetworkSpec(KindModel):
    """The desired state of a ContainerNetwork."""

    network_name: Annotated[str, NoDefault(), Pattern("^([a-zA-Z0-9][a-zA-Z0-9_.-]*)?$")] = ""
    """The name in the engine; derived from the object's name if empty."""

    ipv6: Flag = False
    """Enables IPv6 addresses."""

    mode: ContainerMode | None = None
    """The lifetime: session (the default), persistent (outlives the control plane), existing (created by others, used
    and not removed), or cleanup (an existing network, removed with the object). Ignored if `persistent` is set."""

    persistent: Flag = False
    """The short form of `mode: persistent`."""

    driver: Text = ""
    """The engine's driver; bridge if empty."""

    subnet: Annotated[str, Format("cidr")] | None = None
    """The subnet, e.g. 10.1.0.0/24; chosen by the engine if absent."""

    internal: Flag = False
    """Isolates the network from external networks."""

    labels: list[Label] = []
    """The labels in the engine."""

    attachable: Flag = False
    """Lets containers of other programs join the network."""

    options: dict[str, str] = {}
    """Options of the driver."""

    ipam_driver: Text = ""
    """The driver that assigns addresses; the engine's own if empty."""

    ipam_options: dict[str, str] = {}
    """Options of the driver that assigns addresses."""

    address_pools: list[AddressPool] = []
    """The address ranges, in addition to `subnet`."""

    @property
    def effective_mode(self) -> Mode:
        """The effective mode: `persistent` overrides `mode`; the default is session."""
        return "persistent" if self.persistent else self.mode or "session"


class ContainerNetworkStatus(KindModel):
    """The observed state of a ContainerNetwork."""

    state: ContainerNetworkState | None = None
    """The lifecycle state."""

    message: Text = ""
    """The error message."""

    id: Text = ""
    """Its id in the engine."""

    network_name: Text = ""
    """Its name in the engine."""

    driver: Text = ""
    """Its driver."""

    ipv6: Flag = False
    """True if IPv6 is enabled."""

    subnets: list[str] = []
    """The subnets of the network."""

    gateways: list[str] = []
    """The addresses of this machine in the network."""

    container_ids: list[str] = []
    """The connected containers."""

    conditions: Conditions = []
    """The condition Ready."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


class ContainerNetwork(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["ctrnet"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Network", ".status.networkName"),
        Column("Driver", ".status.driver", priority=1),
        Column("Subnets", ".status.subnets", type="string", priority=1),
        AGE,
    ],
):
    """A network of containers."""

    spec: Annotated[
        ContainerNetworkSpec,
        immutable("networkName", absent="''"),
        immutable("ipv6", absent="false"),
        immutable("persistent", absent="false"),
        MODE_IS_IMMUTABLE,
        immutable("driver", absent="''"),
        immutable("subnet"),
        immutable("internal", absent="false"),
        immutable("labels", absent="[]"),
        immutable("attachable", absent="false"),
        immutable("options"),
        immutable("ipamDriver", absent="''"),
        immutable("ipamOptions"),
        immutable("addressPools", absent="[]"),
    ]
    """The desired state."""

    status: ContainerNetworkStatus | None = None
    """The observed state."""
