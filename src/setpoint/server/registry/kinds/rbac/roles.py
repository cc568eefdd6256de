"""Roles and their bindings. Privilege escalation is checked by the authorization, not by these rules."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects import labels
from setpoint.objects.errors import BadRequest
from setpoint.objects.field import FieldError, index, invalid, not_supported, required
from setpoint.objects.names import dns1123_subdomain, path_segment
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.printers.cells import Cell
from setpoint.server.registry.kinds.printers.columns import AGE, CREATED_AT, NAME
from setpoint.server.registry.kinds.validation.values import IMMUTABLE, wrong
from setpoint.server.registry.strategy import Column

GROUP = "rbac.authorization.k8s.io"


class _Named(ValidatingStrategy):
    """Kinds whose names may be any path segment."""

    allows_create_on_update = True

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return path_segment(name, prefix)


class RoleStrategy(_Named):
    declared_rules = ("rules[*].verbs Required",)
    columns = (NAME, CREATED_AT)
    namespaced: ClassVar[bool] = True

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found: list[FieldError] = []
        for position, rule in enumerate(tree.get("rules") or ()):
            found += validate_policy_rule(rule, self.namespaced, index("rules", position))
        return found


class ClusterRoleStrategy(RoleStrategy):
    namespaced = False

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        found = super().check(tree, old)
        aggregation = tree.get("aggregationRule")
        if aggregation is not None:
            path = "aggregationRule.clusterRoleSelectors"
            selectors = aggregation.get("clusterRoleSelectors") or ()
            if not selectors:
                why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
                found.append(required(path, why))
            for position, selector in enumerate(selectors):
                found += labels.validate_object(selector, index(path, position))
                try:
                    labels.from_object(selector)
                except BadRequest:
                    found.append(invalid(index(path, position), None, "invalid label selector."))
        return found


def validate_policy_rule(rule: Object, namespaced: bool, path: str) -> list[FieldError]:
    """Validates a rule, which applies either to resources or to URLs."""
    found = [] if rule.get("verbs") else [required(f"{path}.verbs")]
    urls = rule.get("nonResourceURLs")
    if urls:
        place = f"{path}.nonResourceURLs"
        if namespaced:
            found.append(invalid(place, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            found.append(invalid(place, urls, "rules cannot apply to both regular resources and non-resource URLs"))
        return found
    if not rule.get("apiGroups"):
        found.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        found.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return found


def _subjects(kind: str) -> Cell:
    def cell(tree: Object, _now: datetime) -> str:
        found = [subject for subject in tree.get("subjects") or () if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace') or ''}/{subject.get('name') or ''}" for subject in found)
        return ", ".join(subject.get("name") or "" for subject in found)

    return cell


def _role(tree: Object, _now: datetime) -> str:
    role = tree.get("roleRef") or {}
    return f"{role.get('kind') or ''}/{role.get('name') or ''}"


class RoleBindingStrategy(_Named):
    declared_rules = ("subjects[*].name Required",)
    declared_of_new = ("roleRef.name Required",)
    columns = (
        NAME,
        Column("Role", _role),
        AGE,
        Column("Users", _subjects("User"), priority=1),
        Column("Groups", _subjects("Group"), priority=1),
        Column("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
    )
    namespaced: ClassVar[bool] = True
    role_kinds: ClassVar[Sequence[str]] = ("Role", "ClusterRole")

    def default(self, tree: Object) -> None:
        role = tree.setdefault("roleRef", {})
        role["apiGroup"] = role.get("apiGroup") or GROUP
        for subject in tree.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        role = tree.get("roleRef") or {}
        found = []
        if role.get("apiGroup") != GROUP:
            found.append(not_supported("roleRef.apiGroup", role.get("apiGroup") or "", [GROUP]))
        if role.get("kind") not in self.role_kinds:
            found.append(not_supported("roleRef.kind", role.get("kind") or "", self.role_kinds))
        if not role.get("name"):
            found.append(required("roleRef.name"))
        else:
            found += wrong("roleRef.name", role["name"], path_segment(role["name"]))
        for position, subject in enumerate(tree.get("subjects") or ()):
            found += _validate_subject(subject, self.namespaced, index("subjects", position))
        return found

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        role = tree.get("roleRef") or {}
        if role == (old.get("roleRef") or {}):
            return []
        # The API shows the reference as an internal struct.
        shown = struct_text(APIGroup=role.get("apiGroup", ""), Kind=role.get("kind", ""), Name=role.get("name", ""))
        return [invalid("roleRef", shown, IMMUTABLE)]


class ClusterRoleBindingStrategy(RoleBindingStrategy):
    namespaced = False
    role_kinds = ("ClusterRole",)


def _validate_subject(subject: Object, namespaced: bool, path: str) -> list[FieldError]:
    name, kind, group = subject.get("name") or "", subject.get("kind") or "", subject.get("apiGroup") or ""
    found = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            found += wrong(f"{path}.name", name, dns1123_subdomain(name))
        if group:
            found.append(not_supported(f"{path}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            found.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            found.append(not_supported(f"{path}.apiGroup", group, [GROUP]))
    else:
        found.append(not_supported(f"{path}.kind", kind, ["ServiceAccount", "User", "Group"]))
    return found
