"""Jobs: pods that run to completion."""

from datetime import datetime

from setpoint.objects import conditions, labels
from setpoint.objects.duration import human_duration
from setpoint.objects.errors import APIError
from setpoint.objects.field import FieldError, invalid, not_supported, required, too_long
from setpoint.objects.names import dns1123_label
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.registry.kinds.apps.pod_template import selector_of, template_warnings, validate_match
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, drop_disabled, immutable
from setpoint.server.registry.kinds.batch.job_policies import (
    default_failure_policy,
    validate_failure_policy,
    validate_success_policy,
)
from setpoint.server.registry.kinds.batch.job_status import validate_status
from setpoint.server.registry.kinds.core.pod import default_pod_template, validate_pod_template
from setpoint.server.registry.kinds.core.pod.warnings import name_warning
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, containers, selector, since
from setpoint.server.registry.kinds.validation.references import domain_prefixed_path
from setpoint.server.registry.kinds.validation.values import INT32_MAX, enum, non_negative_fields
from setpoint.server.registry.strategy import Column

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_INDEXED, _NOT_INDEXED = "Indexed", "NonIndexed"
_MAX_INDEXES = 100_000
_MAX_MANY = 10_000
_MAX_MANAGER = 63
_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_INDEX_COUNTS = ("backoffLimitPerIndex", "maxFailedIndexes")
_STATES = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SHOWN_AS = {"podFailurePolicy": "*batch.PodFailurePolicy", "successPolicy": "*batch.SuccessPolicy"}
_ORPHAN_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_MANY_WARNING = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def _state(tree: Object, _now: datetime) -> str:
    found = lookup(tree, "status", "conditions") or []
    for state in _STATES:
        if state == "Suspended" and "deletionTimestamp" in tree["metadata"]:
            return "Terminating"
        if conditions.is_true(found, state):
            return state
    return "Running"


def _completions(tree: Object, _now: datetime) -> str:
    wanted, done = lookup(tree, "spec", "completions"), lookup(tree, "status", "succeeded") or 0
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = lookup(tree, "spec", "parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(tree: Object, now: datetime) -> str:
    start, end = lookup(tree, "status", "startTime"), lookup(tree, "status", "completionTime")
    if not start:
        return ""
    if not end:
        return since(start, now)
    return human_duration((parse_time(end) - parse_time(start)).total_seconds())


def _succeeded(tree: Object) -> str:
    return str(lookup(tree, "status", "succeeded") or 0)


class JobStrategy(ValidatingStrategy):
    pod_spec = ("spec", "template", "spec")
    keeps_generation = True
    orphans_by_default = True
    orphan_warning = _ORPHAN_WARNING
    selectable_fields = {"status.successful": _succeeded}  # noqa: RUF012 - a ClassVar of the base class
    columns = (
        NAME,
        Column("Status", _state),
        Column("Completions", _completions),
        Column("Duration", _duration),
        AGE,
        *containers("spec", "template"),
        Column("Selector", selector("spec", "selector"), priority=1),
    )

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        template = spec.setdefault("template", {})
        default_pod_template(template)
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", INT32_MAX if "backoffLimitPerIndex" in spec else 6)
        spec.setdefault("completionMode", _NOT_INDEXED)
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
        default_failure_policy(spec)
        _default_labels(tree)

    def prepare_for_create(self, tree: Object) -> None:
        spec = tree["spec"]
        drop_disabled(tree, None, "spec.scheduling")
        if not spec.get("manualSelector"):
            _generate_selector(spec, tree["metadata"])
            _default_labels(tree)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        drop_disabled(tree, old, "spec.scheduling")

    def renamed(self, tree: Object, before: str) -> None:
        name = tree["metadata"]["name"]
        for metadata in (tree["metadata"], tree["spec"]["template"].get("metadata") or {}):
            found = metadata.get("labels") or {}
            found.update({label: name for label in _NAME_LABELS if found.get(label) == before})

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec, metadata = tree.get("spec") or {}, tree["metadata"]
        found = _validate_generated(spec, metadata) if old is None else []
        found += validate_job_spec(spec, "spec")
        given, path = spec.get("selector"), "spec.selector"
        found += [required(path)] if given is None else labels.validate_object(given, path)
        chosen = selector_of(given)
        if chosen is not None:
            found += validate_match(chosen, spec.get("template") or {}, "spec.template")
        return found + _validate_host_names(spec, metadata.get("name") or "")

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        spec, before = tree.get("spec") or {}, old.get("spec") or {}
        found = _validate_completions(spec, before)
        found += immutable(spec.get("selector"), before.get("selector"), "spec.selector", "*LabelSelector")
        found += _validate_template_change(spec, old)
        for name in _FIXED:
            found += immutable(spec.get(name), before.get(name), f"spec.{name}", _SHOWN_AS.get(name))
        return found

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        return validate_status(tree, old)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        found = name_warning(tree) if old is None else []
        found += job_warnings(tree.get("spec") or {}, "spec")
        return found + template_warnings(tree, old, "spec", "template")


def _default_labels(tree: Object) -> None:
    """Copies the labels of the template to a job without labels."""
    found = lookup(tree, "spec", "template", "metadata", "labels")
    metadata = tree.setdefault("metadata", {})
    if found and not metadata.get("labels"):
        metadata["labels"] = dict(found)


def _generate_selector(spec: Object, metadata: Object) -> None:
    """Ensures that a job selects only its own pods. Values of the user are kept, and may fail validation."""
    found = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for name in _NAME_LABELS:
        found.setdefault(name, metadata.get("name") or "")
    for name in _UID_LABELS:
        found.setdefault(name, metadata.get("uid") or "")
    chosen = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    chosen.setdefault(_UID_LABELS[1], metadata.get("uid") or "")


def _validate_generated(spec: Object, metadata: Object) -> list[FieldError]:
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name, path = metadata.get("uid") or "", metadata.get("name") or "", "spec.template.metadata.labels"
    wanted = {**dict.fromkeys(_UID_LABELS, uid), **dict.fromkeys(_NAME_LABELS, name)}
    present = lookup(spec, "template", "metadata", "labels") or {}
    found = []
    for label, value in wanted.items():
        if label not in present:
            found.append(required(f"{path}.{label}", f"must be '{value}'"))
        elif present[label] != value:
            found.append(invalid(f"{path}.{label}", present, f"must be '{value}'"))
    try:
        if not labels.from_object(spec["selector"]).matches(wanted):
            found.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    except APIError:
        pass  # Errors of the selector itself are reported elsewhere.
    return found


def _validate_host_names(spec: Object, name: str) -> list[FieldError]:
    """Validates the host names of the pods of an indexed job, which are derived from its name and the index."""
    completions = spec.get("completions") or 0
    if spec.get("completionMode") != _INDEXED or completions <= 0:
        return []
    host = f"{name}-{completions - 1}"
    if not dns1123_label(host):
        return []
    return [invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {host}")]


def validate_job_spec(spec: Object, path: str) -> list[FieldError]:
    """Validates the common spec of jobs and job templates: all fields but the selector."""
    found = non_negative_fields(spec, path, *_COUNTS, *_INDEX_COUNTS)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        found.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    manager = spec.get("managedBy")
    if manager is not None:
        found += domain_prefixed_path(manager, f"{path}.managedBy")
        if len(manager.encode()) > _MAX_MANAGER:
            found.append(too_long(f"{path}.managedBy", _MAX_MANAGER))
    found += _validate_mode(spec, path)
    if "podFailurePolicy" in spec:
        found += validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if "successPolicy" in spec:
        place = f"{path}.successPolicy"
        if spec.get("completionMode") == _INDEXED:
            found += validate_success_policy(spec, place)
        else:
            shown = struct_value("batch.SuccessPolicy", spec["successPolicy"])
            found.append(invalid(place, shown, "requires indexed completion mode"))
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        allowed = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
        found += enum(replacement, f"{path}.podReplacementPolicy", allowed, needed=False)
    template, place = spec.get("template") or {}, f"{path}.template"
    found += validate_pod_template(template, place)
    return found + _validate_restart_policy(spec, lookup(template, "spec", "restartPolicy") or "", place)


def _validate_restart_policy(spec: Object, policy: str, path: str) -> list[FieldError]:
    place = f"{path}.spec.restartPolicy"
    if policy in ("", "Always"):
        return [required(place, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(place, policy, ("OnFailure", "Never"))]
    if "podFailurePolicy" in spec and policy != "Never":
        return [invalid(place, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _validate_mode(spec: Object, path: str) -> list[FieldError]:
    mode = spec.get("completionMode")
    found: list[FieldError] = []
    if mode is not None:
        found += enum(mode, f"{path}.completionMode", (_NOT_INDEXED, _INDEXED), needed=False)
    if mode == _INDEXED:
        found += _validate_indexes(spec, path)
    if mode is None or mode == _NOT_INDEXED:
        for name in _INDEX_COUNTS:
            if name in spec:
                found.append(invalid(f"{path}.{name}", spec[name], "requires indexed completion mode"))
    return found


def _validate_indexes(spec: Object, path: str) -> list[FieldError]:
    """Validates the limits of indexed jobs, beyond which the indexes could not be stored."""
    found = []
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism = spec.get("parallelism") or 0
    if completions is None:
        found.append(required(f"{path}.completions", f"when completion mode is {_INDEXED}"))
    if parallelism > _MAX_INDEXES:
        why = f"must be less than or equal to {_MAX_INDEXES} when completion mode is {_INDEXED}"
        found.append(invalid(f"{path}.parallelism", parallelism, why))
    if completions is not None and failed is not None and failed > completions:
        found.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > _MAX_INDEXES:
        found.append(invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MAX_INDEXES}"))
    if (completions or 0) > _MAX_INDEXES and "backoffLimitPerIndex" in spec:
        why = (
            f"must be less than or equal to {_MAX_MANY} when completions are above {_MAX_INDEXES} and used with "
            "backoff limit per index"
        )
        if failed is None:
            needed = f"must be specified when completions is above {_MAX_INDEXES}"
            found.append(required(f"{path}.maxFailedIndexes", needed))
        if parallelism > _MAX_MANY:
            found.append(invalid(f"{path}.parallelism", parallelism, why))
        if failed is not None and failed > _MAX_MANY:
            found.append(invalid(f"{path}.maxFailedIndexes", failed, why))
    return found


def _validate_completions(spec: Object, before: Object) -> list[FieldError]:
    value, path = spec.get("completions"), "spec.completions"
    if spec.get("completionMode") != _INDEXED:
        return immutable(value, before.get("completions"), path)
    if value is None or value == before.get("completions") or value == spec.get("parallelism"):
        return []
    return [invalid(path, value, "can only be modified in tandem with spec.parallelism")]


def _validate_template_change(spec: Object, old: Object) -> list[FieldError]:
    """Validates that the template is unchanged; a suspended job without pods may change scheduling fields and
    resources."""
    before, template = lookup(old, "spec") or {}, spec.get("template") or {}
    status = old.get("status") or {}
    waits = bool(before.get("suspend")) and not status.get("active")
    waits = waits and ("startTime" not in status or conditions.is_true(status.get("conditions") or [], "Suspended"))
    known = before.get("template") or {}
    if waits:
        # Only the spec of the pods is compared, because labels and annotations may change.
        known = _moved(copy(known), template)
        return immutable(template.get("spec"), known.get("spec"), "spec.template.spec", "PodSpec")
    return immutable(template, known, "spec.template", "PodTemplateSpec")


def _moved(stored: Json, template: Object) -> Json:
    """Returns the stored template with the new values of the mutable fields."""
    pod, wanted = stored.setdefault("spec", {}), template.get("spec") or {}
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        _copy_field(pod, wanted, name)
    for name in ("labels", "annotations"):
        _copy_field(stored.setdefault("metadata", {}), template.get("metadata") or {}, name)
    affinity = {name: value for name, value in (pod.get("affinity") or {}).items() if name != "nodeAffinity"}
    if "nodeAffinity" in (wanted.get("affinity") or {}):
        affinity["nodeAffinity"] = wanted["affinity"]["nodeAffinity"]
    if affinity or "affinity" in wanted:
        pod["affinity"] = affinity
    else:
        pod.pop("affinity", None)
    for kind in ("containers", "initContainers"):
        for container, other in zip(pod.get(kind) or (), wanted.get(kind) or (), strict=False):
            if container.get("name") == other.get("name"):
                _copy_field(container, other, "resources")
    return stored


def _copy_field(tree: Object, other: Object, name: str) -> None:
    tree.pop(name, None)
    if name in other:
        tree[name] = other[name]


def job_warnings(spec: Object, path: str) -> list[str]:
    many = (spec.get("completions") or 0) > _MAX_INDEXES and (spec.get("parallelism") or 0) > _MAX_MANY
    return [f"{path}: {_MANY_WARNING}"] if many and spec.get("completionMode") == _INDEXED else []
