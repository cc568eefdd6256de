"""CronJobs: jobs on a schedule."""

from setpoint.objects.field import FieldError, invalid, not_supported, required
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.apps.pod_template import template_warnings
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, drop_disabled
from setpoint.server.registry.kinds.batch.cron_schedule import is_zone_name, schedule_problem, zone_problem
from setpoint.server.registry.kinds.batch.job import job_warnings, validate_job_spec
from setpoint.server.registry.kinds.batch.job_policies import default_failure_policy
from setpoint.server.registry.kinds.core.pod import default_pod_template
from setpoint.server.registry.kinds.core.pod.warnings import name_warning
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import NONE, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, age, containers, count, selector
from setpoint.server.registry.kinds.validation.values import enum, non_negative_fields
from setpoint.server.registry.strategy import Column

_POLICIES = ("Allow", "Forbid", "Replace")
_MAX_NAME = 52
_LIMITS = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_TEMPLATE = ("spec", "jobTemplate", "spec")


def _suspended(tree: Object, _now: object) -> str:
    value = lookup(tree, "spec", "suspend")
    return "<unset>" if value is None else str(value)


class CronJobStrategy(ValidatingStrategy):
    pod_spec = ("spec", "jobTemplate", "spec", "template", "spec")
    without_domains = ("status",)
    declared_rules = ("spec.schedule Required",)
    keeps_generation = True
    columns = (
        NAME,
        Column("Schedule", field("spec", "schedule")),
        Column("Timezone", field("spec", "timeZone", absent=NONE)),
        Column("Suspend", _suspended, "boolean"),
        Column("Active", count("status", "active"), "integer"),
        Column("Last Schedule", age("status", "lastScheduleTime", absent=NONE)),
        AGE,
        *containers(*_TEMPLATE, "template"),
        Column("Selector", selector(*_TEMPLATE, "selector"), priority=1),
    )

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
        default_pod_template(job.setdefault("template", {}))
        default_failure_policy(job)
        spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)

    def prepare_for_create(self, tree: Object) -> None:
        drop_disabled(tree, None, "spec.jobTemplate.spec.scheduling")

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        drop_disabled(tree, old, "spec.jobTemplate.spec.scheduling")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        before = (old or {}).get("spec") or {}
        found = _validate_schedule(spec, before.get("schedule") or "")
        found += non_negative_fields(spec, "spec", "startingDeadlineSeconds")
        zone = spec.get("timeZone")
        if zone is not None and (old is None or zone != before.get("timeZone")):
            found += _validate_zone(zone, "spec.timeZone")
        found += enum(spec.get("concurrencyPolicy") or "", "spec.concurrencyPolicy", _POLICIES)
        job, path = lookup(tree, *_TEMPLATE) or {}, "spec.jobTemplate.spec"
        found += validate_job_spec(job, path)
        if job.get("selector") is not None:
            shown = struct_value("*LabelSelector", job["selector"])
            found.append(invalid(f"{path}.selector", shown, "`selector` will be auto-generated"))
        if job.get("manualSelector"):
            found.append(not_supported(f"{path}.manualSelector", True, ("nil", "false")))
        found += non_negative_fields(spec, "spec", *_LIMITS)
        name = tree["metadata"].get("name") or ""
        if old is None and len(name) > _MAX_NAME:
            # The names of jobs are derived from the CronJob and the time, and the names of pods from the job.
            found.append(invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters"))
        return found

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        found = name_warning(tree) if old is None else []
        found += job_warnings(lookup(tree, *_TEMPLATE) or {}, "spec.jobTemplate.spec")
        return found + template_warnings(tree, old, *_TEMPLATE, "template")


def _validate_schedule(spec: Object, before: str) -> list[FieldError]:
    schedule, path = spec.get("schedule") or "", "spec.schedule"
    if not schedule:
        return [required(path)]
    problem = schedule_problem(schedule)
    found = [invalid(path, schedule, problem)] if problem else []
    if "TZ" in schedule and "TZ" not in before:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.append(invalid(path, schedule, why))
    elif "TZ" in schedule and "timeZone" in spec:
        found.append(invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return found


def _validate_zone(zone: str, path: str) -> list[FieldError]:
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    if not is_zone_name(zone):
        return [invalid(path, zone, f"unknown time zone {zone}")]
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [invalid(path, zone, why)]
    problem = zone_problem(zone)
    return [invalid(path, zone, problem)] if problem else []
