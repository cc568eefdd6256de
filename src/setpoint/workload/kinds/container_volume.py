"""ContainerVolume: a volume of the container engine."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Column, Int64, MinLength, Model, NoDefault, Pattern, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.parts import AGE, Conditions, Label, Text, immutable

ContainerVolumeState: TypeAlias = Literal["", "Pending", "RuntimeUnhealthy", "Ready"]


class ContainerVolumeSpec(Model):
    """What a ContainerVolume should be."""

    name: Annotated[str, MinLength(1), Pattern(r"\S")]
    """The name in the engine."""

    persistent: bool = True
    """Whether it stays when the object is deleted."""

    driver: Text = ""
    """The engine's driver; local when empty."""

    options: dict[str, str] = {}
    """Options of the driver."""

    labels: list[Label] = []
    """Labels that the engine keeps with it."""


class ContainerVolumeStatus(Model):
    """What a ContainerVolume is."""

    state: Annotated[ContainerVolumeState, NoDefault()] = ""
    """Where it is in its life."""

    message: Text = ""
    """What went wrong, for people."""

    conditions: Conditions = []
    """Ready, with its reason and remedy."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


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
        immutable("driver", absent="''"),
        immutable("options"),
        immutable("labels", absent="[]"),
    ]
    """What it should be."""

    status: ContainerVolumeStatus | None = None
    """What it is."""
