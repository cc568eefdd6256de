"""ContainerNetwork: a network of containers."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Format, Int64, Model, NoDefault, Pattern, Resource, rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
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

ContainerNetworkState: TypeAlias = Literal["Pending", "Running", "FailedToStart", "Removed", "NotFound"]


@rule(
    f"{EFFECTIVE_MODE} == 'session' || self.?networkName.orValue('') != ''",
    message="networkName must be set in every mode but session: it is how the network is found again",
    reason="FieldValueRequired",
    field_path=".networkName",
)
class ContainerNetworkSpec(Model):
    """What a ContainerNetwork should be."""

    network_name: Annotated[str, NoDefault(), Pattern("^([a-zA-Z0-9][a-zA-Z0-9_.-]*)?$")] = ""
    """The name in the engine; made from the object's name when empty."""

    ipv6: Flag = False
    """Whether it has IPv6 addresses, too."""

    mode: ContainerMode | None = None
    """How long it lives: session (the default), persistent (outlives the control plane), existing (somebody else's,
    used and left), or cleanup (found, and removed with the object). Ignored when `persistent` is set."""

    persistent: Flag = False
    """The short form of `mode: persistent`."""

    driver: Text = ""
    """The engine's driver; bridge when empty."""

    subnet: Annotated[str, Format("cidr")] | None = None
    """The addresses it hands out, such as 10.1.0.0/24; the engine chooses when absent."""

    internal: Flag = False
    """Whether it is cut off from the outside."""

    labels: list[Label] = []
    """Labels that the engine keeps with it."""

    @property
    def effective_mode(self) -> Mode:
        """The mode that counts: `persistent` overrides `mode`, and neither means session."""
        return "persistent" if self.persistent else self.mode or "session"


class ContainerNetworkStatus(Model):
    """What a ContainerNetwork is."""

    state: ContainerNetworkState | None = None
    """Where it is in its life."""

    message: Text = ""
    """What went wrong, for people."""

    id: Text = ""
    """Its id in the engine."""

    network_name: Text = ""
    """Its name in the engine."""

    driver: Text = ""
    """Its driver."""

    ipv6: Flag = False
    """Whether it has IPv6 addresses."""

    subnets: list[str] = []
    """The addresses it hands out."""

    gateways: list[str] = []
    """The addresses of this machine in it."""

    container_ids: list[str] = []
    """The containers that are connected to it."""

    conditions: Conditions = []
    """Ready, with its reason and remedy."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


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
    ]
    """What it should be."""

    status: ContainerNetworkStatus | None = None
    """What it is."""
