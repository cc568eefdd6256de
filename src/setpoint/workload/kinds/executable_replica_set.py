"""ExecutableReplicaSet: several Executables created from one template."""

from typing import Annotated, Literal

from setpoint.schema.types import Column, Int32, Int64, Maximum, Minimum, NoDefault, Resource, Scale, rule
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.executable import ExecutableSpec
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Conditions, Flag, HealthStatus, Moment, Text


class ExecutableTemplate(KindModel):
    """The template of the replicas."""

    labels: dict[str, str] = {}
    """Labels of the replicas."""

    annotations: dict[str, str] = {}
    """Annotations of the replicas."""

    spec: ExecutableSpec
    """The desired state of the replicas."""


@rule(
    "!self.template.spec.?stop.orValue(false)",
    message="replicas with stop set would never run; remove stop, and set replicas to 0 to stop them",
    field_path=".template.spec.stop",
)
@rule(
    "!self.template.spec.?suspend.orValue(false)",
    message="replicas are suspended by suspend of the set; remove suspend from the template",
    field_path=".template.spec.suspend",
)
class ExecutableReplicaSetSpec(KindModel):
    """The desired state of an ExecutableReplicaSet."""

    replicas: Annotated[Int32, Minimum(0), Maximum(10000)] = 1
    """The desired number of replicas."""

    stop_on_scale_down: Flag = False
    """Stops and keeps surplus replicas, with their logs, instead of deleting them."""

    template: ExecutableTemplate
    """The template of the replicas."""

    update_strategy: Literal["OnDelete", "RollingUpdate"] = "OnDelete"
    """The effect of a changed template: OnDelete keeps the existing replicas, RollingUpdate replaces them one by
    one."""

    replace_failed: Flag = False
    """Replaces a failed or ended replica by a new one."""

    suspend: Flag = False
    """Stops all replicas and keeps their logs; resetting to false starts them again."""


class ExecutableReplicaSetStatus(KindModel, omit_empty=False):
    """The observed state of an ExecutableReplicaSet. As in DCP, counts of 0 are written."""

    observed_replicas: Annotated[Int32, NoDefault()] = 0
    """The number of replicas."""

    running_replicas: Annotated[Int32, NoDefault()] = 0
    """The number of running replicas."""

    failed_replicas: Annotated[Int32, NoDefault()] = 0
    """The number of replicas that failed to start."""

    finished_replicas: Annotated[Int32, NoDefault()] = 0
    """The number of ended replicas."""

    succeeded_replicas: Annotated[Int32, NoDefault()] = 0
    """The number of replicas that ended with exit code 0."""

    updated_replicas: Annotated[Int32, NoDefault()] = 0
    """The number of replicas with the current template."""

    last_scale_time: Moment = None
    """The time of the last change to the number of replicas."""

    health_status: HealthStatus | None = None
    """Healthy if the desired number of replicas is healthy, Caution if some are, Unhealthy if none is."""

    conditions: Conditions = []
    """The condition Ready."""

    observed_restart: Text = ""
    """The last restart request that all replicas have completed, by the value of its annotation."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


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
    """Several Executables created from one template."""

    spec: ExecutableReplicaSetSpec
    """The desired state."""

    status: ExecutableReplicaSetStatus | None = None
    """The observed state."""
