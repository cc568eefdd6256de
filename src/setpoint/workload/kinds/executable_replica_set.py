"""ExecutableReplicaSet: several Executables made from one template."""

from typing import Annotated, Literal

from setpoint.schema.types import Column, Int32, Int64, Maximum, Minimum, Model, NoDefault, Resource, Scale, rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.executable import ExecutableSpec
from setpoint.workload.kinds.parts import AGE, Conditions, Flag, HealthStatus, Moment, Text


class ExecutableTemplate(Model):
    """What each replica is made from."""

    labels: dict[str, str] = {}
    """Labels of the replicas."""

    annotations: dict[str, str] = {}
    """Annotations of the replicas."""

    spec: ExecutableSpec
    """What the replicas should be."""


@rule(
    "!self.template.spec.?stop.orValue(false)",
    message="replicas with stop set would never run; leave it out, and set replicas to 0 to stop them",
    field_path=".template.spec.stop",
)
@rule(
    "!self.template.spec.?suspend.orValue(false)",
    message="replicas are suspended by suspend of the set; leave it out of the template",
    field_path=".template.spec.suspend",
)
class ExecutableReplicaSetSpec(Model):
    """What an ExecutableReplicaSet should be."""

    replicas: Annotated[Int32, Minimum(0), Maximum(10000)] = 1
    """How many there should be."""

    stop_on_scale_down: Flag = False
    """Whether replicas that are too many are stopped and kept, with their logs, rather than deleted."""

    template: ExecutableTemplate
    """What each replica is made from."""

    update_strategy: Literal["OnDelete", "RollingUpdate"] = "OnDelete"
    """What a change of the template does: nothing to the replicas that are there, or it replaces them in turn."""

    replace_failed: Flag = False
    """Whether a replica that failed or ended is replaced by a new one."""

    suspend: Flag = False
    """Whether all replicas are stopped for the time being, with their logs kept; false again starts them again."""


class ExecutableReplicaSetStatus(Model):
    """What an ExecutableReplicaSet is."""

    observed_replicas: Annotated[Int32, NoDefault()] = 0
    """How many replicas there are."""

    running_replicas: Annotated[Int32, NoDefault()] = 0
    """How many of them run."""

    failed_replicas: Annotated[Int32, NoDefault()] = 0
    """How many of them could not be started."""

    finished_replicas: Annotated[Int32, NoDefault()] = 0
    """How many of them have ended."""

    updated_replicas: Annotated[Int32, NoDefault()] = 0
    """How many of them are made from the template as it is now."""

    last_scale_time: Moment = None
    """When replicas were last added or taken away."""

    health_status: HealthStatus | None = None
    """Healthy when as many as wanted are, Caution when some are, Unhealthy when none is."""

    conditions: Conditions = []
    """Ready, with its reason."""

    observed_restart: Text = ""
    """The last request for a restart, by its annotation, that all replicas have obeyed."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


class ExecutableReplicaSet(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["exers"],
    categories=[CATEGORY],
    scale=Scale(status=".status.observedReplicas"),
    columns=[
        Column("Desired", ".spec.replicas"),
        Column("Current", ".status.observedReplicas"),
        Column("Running", ".status.runningReplicas"),
        Column("Health", ".status.healthStatus"),
        Column("Failed", ".status.failedReplicas", priority=1),
        Column("Finished", ".status.finishedReplicas", priority=1),
        Column("Command", ".spec.template.spec.executablePath", priority=1),
        AGE,
    ],
):
    """Several Executables made from one template."""

    spec: ExecutableReplicaSetSpec
    """What it should be."""

    status: ExecutableReplicaSetStatus | None = None
    """What it is."""
