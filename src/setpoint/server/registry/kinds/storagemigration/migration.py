"""StorageVersionMigrations, and StorageVersions, which list the versions that each server writes."""

import re
from datetime import datetime

from setpoint.objects import conditions
from setpoint.objects.field import FieldError, invalid, required
from setpoint.objects.gotext import RawJson, compact_json
from setpoint.objects.names import dns1035_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy
from setpoint.server.registry.kinds.printers.cells import UNSET, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, first_few
from setpoint.server.registry.kinds.validation.conditions import validate_conditions
from setpoint.server.registry.kinds.validation.values import IMMUTABLE
from setpoint.server.registry.strategy import Column

_WELL_FORMED = re.compile("[1-9][0-9]*")
_STATES = ("Running", "Failed", "Succeeded")


def _resource(tree: Object, _now: datetime) -> str:
    found = lookup(tree, "spec", "resource") or {}
    group = f".{found['group']}" if found.get("group") else ""
    return f"{found.get('resource') or ''}{group}"


def _state(tree: Object, _now: datetime) -> str:
    shown = "Unknown"
    for condition in lookup(tree, "status", "conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in _STATES:
            shown = condition["type"]
    return shown


class StorageVersionMigrationStrategy(ValidatingStrategy):
    name_on_update = "before"
    allows_unconditional_update = False
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    columns = (Column("Name", field("metadata", "name")), Column("Resource", _resource), Column("Status", _state))

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found = []
        resource, group = (lookup(tree, "spec", "resource", name) or "" for name in ("resource", "group"))
        if not resource:
            found.append(required("spec.resource.resource", "resource is required to be set"))
        elif dns1035_label(resource):
            found.append(invalid("spec.resource.resource", resource, ",".join(dns1035_label(resource))))
        if group and dns1123_subdomain(group):
            found.append(invalid("spec.resource.group", group, ",".join(dns1123_subdomain(group))))
        return found

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        group, resource = (lookup(tree, "spec", "resource", name) or "" for name in ("group", "resource"))
        if lookup(tree, "spec") == lookup(old, "spec"):
            return []
        shown = RawJson(compact_json({"Resource": {"group": group, "resource": resource}}))
        return [invalid("spec", shown, IMMUTABLE)]

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status, before = tree.get("status") or {}, old.get("status") or {}
        found, had = status.get("conditions") or [], before.get("conditions") or []
        version, known = status.get("resourceVersion") or "", before.get("resourceVersion") or ""
        errors = []
        if version and not _WELL_FORMED.fullmatch(version):
            why = f"resource version is not well formed: {version}"
            errors.append(invalid("status.resourceVersion", version, why))
        errors += validate_conditions(found, "status.conditions")
        if known and version != known:
            errors.append(invalid("status.resourceVersion", version, IMMUTABLE))
        ended = {kind: conditions.is_true(found, kind) for kind in ("Succeeded", "Failed")}
        if all(ended.values()):
            why = "Both success and failed conditions cannot be true at the same time"
            errors.append(invalid("status.conditions", found, why))
        for kind, word in (("Succeeded", "Success"), ("Failed", "Failed")):
            if conditions.is_true(had, kind) and not ended[kind]:
                why = f"{word} condition cannot be set to false once it is true"
                errors.append(invalid("status.conditions", found, why))
        return errors


def _versions(tree: Object, _now: datetime) -> str:
    found = lookup(tree, "status", "storageVersions") or ()
    return first_few([f"{item.get('apiServerID', '')}={item.get('encodingVersion', '')}" for item in found], 3)


class StorageVersionStrategy(ValidatingStrategy):
    allows_unconditional_update = False
    columns = (
        NAME,
        Column("CommonEncodingVersion", field("status", "commonEncodingVersion", absent=UNSET)),
        Column("StorageVersions", _versions),
        AGE,
    )
