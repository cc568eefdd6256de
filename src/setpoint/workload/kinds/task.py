"""Task: a workload that runs to completion, once or by a schedule, with retries."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import (
    Column,
    Int32,
    Int64,
    ListMap,
    MaxLength,
    Minimum,
    NoDefault,
    Resource,
    Rule,
    rule,
)
from setpoint.workload.kinds.api_names import CATEGORY, OWN_GROUP, VERSION
from setpoint.workload.kinds.container import ContainerSpec
from setpoint.workload.kinds.executable import ExecutableSpec
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Conditions, Dependencies, Flag, Moment, Span, Text

TaskState: TypeAlias = Literal["Pending", "Running", "Succeeded", "Failed"]


@rule(
    "has(self.executable) != has(self.container)",
    message="a task runs either an executable or a container; set one of the two",
    reason="FieldValueRequired",
)
@rule(
    "!has(self.executable) || self.executable.restartPolicy == 'Never'",
    message="restartPolicy must be Never in a task; backoffLimit is the number of retries",
    field_path=".executable.restartPolicy",
)
@rule(
    "!has(self.executable) || (!self.executable.?stop.orValue(false) && "
    "!self.executable.?suspend.orValue(false) && self.executable.start)",
    message="a task whose template sets stop or suspend, or start to false, would never run; use suspend of the task",
    field_path=".executable.stop",
)
@rule(
    "!has(self.container) || (!self.container.?stop.orValue(false) && "
    "!self.container.?suspend.orValue(false) && self.container.start)",
    message="a task whose template sets stop or suspend, or start to false, would never run; use suspend of the task",
    field_path=".container.stop",
)
class TaskTemplate(KindModel):
    """The template of a run."""

    labels: dict[str, str] = {}
    """Labels of the runs."""

    annotations: dict[str, str] = {}
    """Annotations of the runs."""

    executable: ExecutableSpec | None = None
    """The process that runs."""

    container: ContainerSpec | None = None
    """The container that runs."""


@rule(
    "!has(self.timeZone) || self.timeZone == '' || self.?schedule.orValue('') != ''",
    message="timeZone is only allowed with a schedule",
    reason="FieldValueForbidden",
    field_path=".timeZone",
)
class TaskSpec(KindModel):
    """The desired state of a Task."""

    template: TaskTemplate
    """The template of a run."""

    backoff_limit: Annotated[Int32, Minimum(0)] = 0
    """The number of retries of a failed run."""

    active_deadline: Span | None = None
    """The maximum duration of a run with all its attempts, after which the run is stopped and has failed."""

    schedule: Annotated[str, NoDefault(), MaxLength(256)] = ""
    """The schedule: five fields as in cron, or @hourly, @daily, @weekly, @monthly, @yearly. If empty, the task runs
    once."""

    time_zone: Annotated[str, NoDefault(), MaxLength(64)] = ""
    """The time zone of the schedule, e.g. Europe/Berlin; UTC if empty."""

    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Forbid"
    """The policy for a run that is due while another is active: Allow starts the run, Forbid skips the run, Replace
    stops the active run."""

    suspend: Flag = False
    """Suspends the schedule: no new run is started."""

    depends_on: Dependencies = []
    """The objects that must be started, ready or finished before a run starts."""

    successful_history_limit: Annotated[Int32, Minimum(0)] = 3
    """The number of successful runs to keep."""

    failed_history_limit: Annotated[Int32, Minimum(0)] = 1
    """The number of failed runs to keep."""


class TaskRun(KindModel):
    """One run of a task."""

    name: str
    """The name of the Executable or Container of its last attempt."""

    state: TaskState
    """The observed state."""

    scheduled_time: Moment = None
    """The scheduled time."""

    start_time: Moment = None
    """The start time."""

    finish_time: Moment = None
    """The time of the end."""

    attempts: Annotated[Int32, NoDefault()] = 0
    """The number of attempts."""

    exit_code: Int32 | None = None
    """The exit code of the last attempt."""

    message: Text = ""
    """The reason of a failure."""

    request: Text = ""
    """The request for the run, by the annotation of the task; empty for a scheduled run."""


class TaskStatus(KindModel):
    """The observed state of a Task."""

    state: TaskState | None = None
    """Pending before the first run, then the state of the last run."""

    runs: Annotated[list[TaskRun], ListMap("name")] = []
    """The runs that are kept, the oldest first."""

    active: Annotated[Int32, NoDefault()] = 0
    """The number of active runs."""

    last_schedule_time: Moment = None
    """The last scheduled time."""

    next_schedule_time: Moment = None
    """The time of the next run."""

    last_success_time: Moment = None
    """The time of the last successful run."""

    conditions: Conditions = []
    """The conditions Ready and Succeeded."""

    observed_restart: Text = ""
    """The last request for a run that was started, or skipped because another run was active, by the value of its
    annotation."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


_RUNS_ONCE = Rule(
    rule="(self.?schedule.orValue('') != '') == (oldSelf.?schedule.orValue('') != '')",
    message="schedule cannot be added or removed; delete the object and create it again",
    reason="FieldValueForbidden",
    field_path=".schedule",
)


class Task(
    Resource,
    group=OWN_GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["tsk"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Schedule", ".spec.schedule"),
        Column("Active", ".status.active"),
        Column("Last", ".status.lastScheduleTime", priority=1),
        Column("Next", ".status.nextScheduleTime", priority=1),
        Column("Suspend", ".spec.suspend", priority=1),
        AGE,
    ],
):
    """A workload that runs to completion, once or by a schedule."""

    spec: Annotated[TaskSpec, _RUNS_ONCE]
    """The desired state."""

    status: TaskStatus | None = None
    """The observed state."""
