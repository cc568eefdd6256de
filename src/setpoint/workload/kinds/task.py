"""Task: work that runs to its end, once or by a schedule, with retries."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import (
    Column,
    Int32,
    Int64,
    ListMap,
    MaxLength,
    Minimum,
    Model,
    NoDefault,
    Resource,
    Rule,
    rule,
)
from setpoint.workload.kinds.api_names import CATEGORY, OWN_GROUP, VERSION
from setpoint.workload.kinds.container import ContainerSpec
from setpoint.workload.kinds.executable import ExecutableSpec
from setpoint.workload.kinds.parts import AGE, Conditions, Dependencies, Flag, Moment, Span, Text

TaskState: TypeAlias = Literal["Pending", "Running", "Succeeded", "Failed"]


@rule(
    "has(self.executable) != has(self.container)",
    message="a task runs either an executable or a container; set one of the two",
    reason="FieldValueRequired",
)
@rule(
    "!has(self.executable) || self.executable.restartPolicy == 'Never'",
    message="restartPolicy must be Never in a task; backoffLimit says how often it is tried again",
    field_path=".executable.restartPolicy",
)
@rule(
    "!has(self.executable) || (!self.executable.?stop.orValue(false) && "
    "!self.executable.?suspend.orValue(false) && self.executable.start)",
    message="a task with stop or suspend set in its template, or start not, would never run; use suspend of the task",
    field_path=".executable.stop",
)
@rule(
    "!has(self.container) || (!self.container.?stop.orValue(false) && "
    "!self.container.?suspend.orValue(false) && self.container.start)",
    message="a task with stop or suspend set in its template, or start not, would never run; use suspend of the task",
    field_path=".container.stop",
)
class TaskTemplate(Model):
    """What a run of a task is made from."""

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
    message="timeZone is for tasks with a schedule",
    reason="FieldValueForbidden",
    field_path=".timeZone",
)
class TaskSpec(Model):
    """What a Task should be."""

    template: TaskTemplate
    """What a run is made from."""

    backoff_limit: Annotated[Int32, Minimum(0)] = 0
    """How often a run that failed is tried again."""

    active_deadline: Span | None = None
    """How long a run may take, all its attempts together, before it is stopped and counts as failed."""

    schedule: Annotated[str, NoDefault(), MaxLength(256)] = ""
    """When it runs: five fields as cron has them, or @hourly, @daily, @weekly, @monthly, @yearly. Once when empty."""

    time_zone: Annotated[str, NoDefault(), MaxLength(64)] = ""
    """The time zone of the schedule, such as Europe/Berlin; UTC when empty."""

    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Forbid"
    """What to do when a run is due while another is under way: start it as well, leave it out, or stop the other."""

    suspend: Flag = False
    """Whether no new run is started."""

    depends_on: Dependencies = []
    """What must have started, be ready or have ended before a run starts."""

    successful_history_limit: Annotated[Int32, Minimum(0)] = 3
    """How many runs that succeeded are kept."""

    failed_history_limit: Annotated[Int32, Minimum(0)] = 1
    """How many runs that failed are kept."""


class TaskRun(Model):
    """One run of a task."""

    name: str
    """The name of the Executable or Container of its last attempt."""

    state: TaskState
    """What became of it."""

    scheduled_time: Moment = None
    """When it was due."""

    start_time: Moment = None
    """When it began."""

    finish_time: Moment = None
    """When it ended."""

    attempts: Annotated[Int32, NoDefault()] = 0
    """How often it was tried."""

    exit_code: Int32 | None = None
    """The exit code of the last attempt."""

    message: Text = ""
    """Why it failed, for people."""

    request: Text = ""
    """The request for it, by the annotation of the task; empty where it was due by itself."""


class TaskStatus(Model):
    """What a Task is."""

    state: TaskState | None = None
    """Pending before the first run, then what is or became of the last one."""

    runs: Annotated[list[TaskRun], ListMap("name")] = []
    """The runs that are kept, the oldest first."""

    active: Annotated[Int32, NoDefault()] = 0
    """How many runs are under way."""

    last_schedule_time: Moment = None
    """When a run was last due."""

    next_schedule_time: Moment = None
    """When the next run is due."""

    last_success_time: Moment = None
    """When a run last succeeded."""

    conditions: Conditions = []
    """Ready and Succeeded, with reasons and remedies."""

    observed_restart: Text = ""
    """The last request for a run, by its annotation, that was obeyed, or left out because another was under way."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


_RUNS_ONCE = Rule(
    rule="(self.?schedule.orValue('') != '') == (oldSelf.?schedule.orValue('') != '')",
    message="a task that runs once cannot get a schedule, nor lose one; delete the object and create it anew",
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
    """Work that runs to its end, once or by a schedule."""

    spec: Annotated[TaskSpec, _RUNS_ONCE]
    """What it should be."""

    status: TaskStatus | None = None
    """What it is."""
