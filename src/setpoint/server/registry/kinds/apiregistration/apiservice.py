"""APIServices: the servers that serve the versions of groups."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects import conditions, metavalidation
from setpoint.objects.field import FieldError, index, invalid, not_supported, required
from setpoint.objects.gotext import quote
from setpoint.objects.names import NameRule, dns1035_label, dns1123_subdomain, path_segment
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import wrong
from setpoint.server.registry.strategy import Column

_STATUSES = ("True", "False", "Unknown")


def _service(tree: Object, _now: datetime) -> str:
    service = lookup(tree, "spec", "service")
    return "Local" if service is None else f"{service.get('namespace') or ''}/{service.get('name') or ''}"


def _available(tree: Object, _now: datetime) -> str:
    found = conditions.find(lookup(tree, "status", "conditions") or [], "Available")
    if found is None:
        return "Unknown"
    status = found.get("status") or ""
    return status if status == "True" else f"{status} ({found.get('reason') or ''})"


def is_available(tree: Object) -> bool:
    """Returns True if the condition Available of an APIService is true."""
    return conditions.is_true(lookup(tree, "status", "conditions") or [], "Available")


class APIServiceStrategy(ValidatingStrategy):
    allows_unconditional_update = False
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    declares_rules = False
    # The name of an APIService follows from its spec.
    validates_metadata = True
    columns = (
        NAME,
        Column("Service", _service, description="The reference to the service that hosts this API endpoint."),
        Column("Available", _available, description="Whether this service is available."),
        AGE,
    )

    def default(self, tree: Object) -> None:
        service = lookup(tree, "spec", "service")
        if service is not None:
            service.setdefault("port", 443)

    def prepare_for_create(self, tree: Object) -> None:
        if lookup(tree, "spec", "service") is None:
            # A version that this server serves is always available.
            local = {
                "type": "Available",
                "status": "True",
                "reason": "Local",
                "message": "Local APIServices are always available",
                "lastTransitionTime": tree["metadata"].get("creationTimestamp"),
            }
            tree["status"] = {"conditions": [local]}

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        group, version = spec.get("group") or "", spec.get("version") or ""
        found = metavalidation.validate_create(tree["metadata"], namespaced=False, name_rule=_name_rule(version, group))
        if not group and version != "v1":
            why = "only v1 may have an empty group and it better be legacy kube"
            found.append(required("spec.group", why))
        if group:
            found += wrong("spec.group", group, dns1123_subdomain(group))
        found += wrong("spec.version", version, dns1035_label(version))
        for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
            value = spec.get(field) or 0
            if not 0 < value <= most:
                found.append(invalid(f"spec.{field}", value, f"must be positive and less than {most}"))
        return found + _validate_connection(spec)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        new, stored = tree["metadata"], old["metadata"]
        found = metavalidation.validate_update(new, stored) + metavalidation.validate_change_again(new, stored)
        return found + super().validate_update(tree, old, subresource)

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        return [
            not_supported(f"{index('status.conditions', position)}.status", condition.get("status") or "", _STATUSES)
            for position, condition in enumerate(lookup(tree, "status", "conditions") or ())
            if condition.get("status") not in _STATUSES
        ]


def _name_rule(version: str, group: str) -> NameRule:
    """Returns the rule of a name: the version and the group."""
    wanted = f"{version}.{group}"

    def errors(name: str, prefix: bool = False) -> Sequence[str]:
        found = path_segment(name)
        if found or name == wanted:
            return found
        return (f'must be `spec.version+"."+spec.group`: {quote(wanted)}',)

    return errors


def _validate_connection(spec: Object) -> list[FieldError]:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle") or "", bool(spec.get("insecureSkipTLSVerify"))
    found = []
    if service is None:
        if bundle:
            size = len(bundle) * 3 // 4 - bundle.count("=")
            found.append(invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle"))
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            found.append(invalid("spec.insecureSkipTLSVerify", insecure, why))
        return found
    found += [required(f"spec.service.{name}") for name in ("namespace", "name") if not service.get(name)]
    port = service.get("port") or 0
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(invalid("spec.service.port", port, why))
    if insecure and bundle:
        found.append(invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present"))
    return found
