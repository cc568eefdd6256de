"""StatefulSets, whose pods have names and claims of their own; and ControllerRevisions, which store their history."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects import owners
from setpoint.objects.field import FieldError, index, invalid, required
from setpoint.objects.gotext import RawJson, plain_json
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.apps.deployment import READY
from setpoint.server.registry.kinds.apps.pod_template import (
    selector_of,
    template_warnings,
    validate_collisions,
    validate_counts,
    validate_lasting,
    validate_match,
    validate_selector,
)
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, differ, struct_text
from setpoint.server.registry.kinds.core.claim_spec import validate_claim_spec
from setpoint.server.registry.kinds.core.pod import default_pod_template, validate_pod_template
from setpoint.server.registry.kinds.core.pod.defaults import default_claim_spec
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import NONE, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, containers, number
from setpoint.server.registry.kinds.validation.pod_amounts import at_most_all, plain_amount, validate_amount
from setpoint.server.registry.kinds.validation.values import (
    IMMUTABLE,
    enum,
    non_negative,
    non_negative_fields,
    wrong,
)
from setpoint.server.registry.strategy import Column

_RETENTION = ("Retain", "Delete")
_HISTORY_WARNING = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


class StatefulSetStrategy(ValidatingStrategy):
    pod_spec = ("spec", "template", "spec")
    keeps_generation = True
    immutable = ("spec.selector", "spec.volumeClaimTemplates", "spec.serviceName", "spec.podManagementPolicy")
    shown_as: ClassVar[Mapping[str, str]] = {
        "spec.selector": "*LabelSelector",
        "spec.volumeClaimTemplates": "[]PersistentVolumeClaim",
        "spec.serviceName": '""',
        "spec.podManagementPolicy": '""',
    }
    columns = (NAME, READY, AGE, *containers("spec", "template"))

    def complete_bookmark(self, tree: Object) -> None:
        tree["spec"]["replicas"] = 0

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return dns1123_label(name, prefix)

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
            strategy["rollingUpdate"].setdefault("partition", 0)
            strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        for name in ("whenDeleted", "whenScaled"):
            retention[name] = retention.get(name) or "Retain"
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in spec.get("volumeClaimTemplates") or ():
            claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
            default_claim_spec(claim.setdefault("spec", {}))
            status = claim.setdefault("status", {})
            status["phase"] = status.get("phase") or "Pending"

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = _validate_policies(spec)
        if old is None:
            for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
                path = f"{index('spec.volumeClaimTemplates', position)}.spec"
                found += validate_claim_spec(claim.get("spec") or {}, path)
        found += non_negative_fields(spec, "spec", "replicas", "minReadySeconds")
        start = lookup(spec, "ordinals", "start")
        if start is not None:
            found += non_negative(start, "spec.ordinals.start")
        service = spec.get("serviceName")
        if service and old is None:
            found += wrong("spec.serviceName", service, dns1123_label(service))
        return found + _validate_pods(spec)

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status = tree.get("status") or {}
        parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        counts = ("replicas", *parts, "observedGeneration", "collisionCount")
        found = validate_counts(status, counts, parts, "status.readyReplicas")
        return found + validate_collisions(status, old.get("status") or {})

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        limit = lookup(tree, "spec", "revisionHistoryLimit")
        found = template_warnings(tree, old, "spec", "template")
        return [*found, _HISTORY_WARNING] if limit is not None and limit < 0 else found


def _validate_policies(spec: Object) -> list[FieldError]:
    found = []
    management, strategy = spec.get("podManagementPolicy") or "", spec.get("updateStrategy") or {}
    if not management:
        found.append(required("spec.podManagementPolicy"))
    elif management not in ("OrderedReady", "Parallel"):
        found.append(invalid("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'"))
    found += _validate_strategy(strategy, "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for name in ("whenDeleted", "whenScaled"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            found += enum(retention.get(name) or "", path, _RETENTION, needed=False)
    return found


def _validate_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind not in ("OnDelete", "RollingUpdate"):
        shown = struct_text(Type=kind, RollingUpdate=None if rolling is None else _shown(rolling))
        return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    place = f"{path}.rollingUpdate"
    if kind == "OnDelete":
        return [invalid(place, _shown(rolling), "only allowed for updateStrategy 'RollingUpdate'")]
    found = non_negative(rolling.get("partition") or 0, f"{place}.partition")
    unavailable = rolling.get("maxUnavailable")
    if unavailable is not None:
        place = f"{place}.maxUnavailable"
        found += validate_amount(unavailable, place)
        if plain_amount(unavailable) == 0:
            found.append(invalid(place, unavailable, "cannot be 0"))
        found += at_most_all(unavailable, place)
    return found


def _shown(rolling: Object) -> str:
    return struct_text(Partition=rolling.get("partition", 0), MaxUnavailable=rolling.get("maxUnavailable"))


def _validate_pods(spec: Object) -> list[FieldError]:
    """Validates the template, with the volumes and names that every pod of the set gets."""
    given, template, path = spec.get("selector"), spec.get("template") or {}, "spec.template"
    found = validate_selector(given, "spec.selector", "statefulset")
    selector = selector_of(given)
    if selector is None:
        found.append(invalid("spec.selector", struct_value("*LabelSelector", given), ""))
    else:
        if not selector.is_everything:
            found += validate_match(selector, template, path)
        found += validate_pod_template(_completed(template, spec), path)
    return found + validate_lasting(template, path, "StatefulSet")


def _completed(template: Object, spec: Object) -> Object:
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in ("subdomain", "hostname")}
    claims = dict.fromkeys(lookup(claim, "metadata", "name") or "" for claim in spec.get("volumeClaimTemplates") or ())
    if claims:
        volumes: list[Object] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        pod["volumes"] = volumes + [item for item in pod.get("volumes") or () if item.get("name") not in claims]
    return {**template, "spec": pod}


def _controller(tree: Object, _now: datetime) -> str:
    reference = owners.controller_of(tree)
    if reference is None:
        return NONE
    group = (reference.get("apiVersion") or "").rpartition("/")[0]
    kind = f"{reference.get('kind') or ''}{'.' if group else ''}{group}"
    return f"{kind.lower()}/{reference.get('name') or ''}"


class ControllerRevisionStrategy(ValidatingStrategy):
    raw_fields = ("data",)
    name_on_update = "after"
    columns = (NAME, Column("Controller", _controller), Column("Revision", number("revision")), AGE)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found = non_negative_fields(tree, "", "revision")
        data = tree.get("data")
        if old is None and data is None:
            found.append(required("data", "data is mandatory"))
        elif old is None and type(data) is not dict:
            found.append(required("data", "data must be a valid JSON object"))
        elif old is not None and (data != old.get("data") or differ(data, old.get("data"))):  # a null counts
            found.append(invalid("data", RawJson(plain_json(data)), IMMUTABLE))
        return found
