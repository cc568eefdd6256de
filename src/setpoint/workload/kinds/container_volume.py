"""ContainerVolume: a volume of the container engine."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Int64, MinLength, NoDefault, Pattern, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Conditions, Flag, Label, Text, immutable

ContainerVolumeState: TypeAlias = Literal["", "Pending", "RuntimeUnhealthy", "Ready"]


class ContainerVolumeSpec(KindModel):
    """The desired state of a ContainerVolume."""

    name: Annotated[str, MinLength(1), Pattern(r"\S")]
    """The name in the engine."""

    persistent: bool = True
    """Keeps the volume when the object is deleted."""

    existing: Flag = False
    """Uses a volume that was created by others, and waits for the volume if missing."""

    driver: Text = ""
    """The engine's driver; local if empty."""

    options: dict[str, str] = {}
    """Options of the driver."""

    labels: list[Label] = []
    """The labels in the engine."""


class ContainerVolumeStatus(KindModel):
    """The observed state of a ContainerVolume."""

    state: Annotated[ContainerVolumeState, NoDefault()] = ""
    """The lifecycle state."""

    message: Text = ""
    """The error message."""

    conditions: Conditions = []
    """The condition Ready."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


class ContainerVolume(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["ctrvol"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Volume", ".spec.name"),
        Column("Persistent", ".spec.persistent"),
        AGE,
    ],
):
    """A volume of the container engine."""

    spec: Annotated[
        ContainerVolumeSpec,
        immutable("name"),
        immutable("persistent"),
        immutable("existing", absent="false"),
        immutable("driver", absent="''"),
        immutable("options"),
        immutable("labels", absent="[]"),
    ]
    """The desired state."""

    status: ContainerVolumeStatus | None = None
    """The observed state."""
