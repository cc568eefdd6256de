"""The common parts of admission webhooks and policies: the rules that match requests."""

import re
from collections.abc import Iterable

from setpoint.objects import labels
from setpoint.objects.field import FieldError, duplicate, index, invalid, not_supported, required, too_many
from setpoint.objects.names import dns1035_label, dns1123_subdomain, path_segment
from setpoint.objects.tree import Object
from setpoint.schema.cel.types import BOOL
from setpoint.server.registry.kinds.admissionregistration.expressions import compile_expression, environment
from setpoint.server.registry.kinds.validation.values import enum, qualified, repeats, wrong

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MAX_CONDITIONS = 64
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*\Z")
_RESERVED = (
    *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
    *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
)


def is_identifier(name: str) -> bool:
    """Returns True if an expression can use this name as a variable."""
    return bool(_IDENTIFIER.match(name)) and name not in _RESERVED


def default_rules(rules: Iterable[Object]) -> None:
    for rule in rules:
        rule.setdefault("scope", "*")


def default_match(match: Object) -> None:
    """Sets the defaults: requests in other versions match too, and empty selectors match all objects."""
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})


def validate_rule(rule: Object, path: str) -> list[FieldError]:
    """Validates a rule of operations on resources. `*` must be the only item of a list."""
    operations = rule.get("operations") or []
    found = _validate_list(operations, f"{path}.operations", "operations")
    for position, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            found.append(not_supported(index(f"{path}.operations", position), operation, _OPERATIONS))
    found += _validate_list(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    found += _validate_list(versions, f"{path}.apiVersions", "API versions")
    found += [required(index(f"{path}.apiVersions", at)) for at, version in enumerate(versions) if not version]
    found += _validate_resources(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    return found if scope is None else found + enum(scope, f"{path}.scope", _SCOPES, needed=False)


def _validate_list(values: list[str], path: str, what: str) -> list[FieldError]:
    if not values:
        return [required(path)]
    alone = len(values) == 1 or "*" not in values
    return [] if alone else [invalid(path, values, f"if '*' is present, must not specify other {what}")]


def _validate_resources(resources: list[str], path: str) -> list[FieldError]:
    found = [] if resources else [required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    plain = False
    for position, resource in enumerate(resources):
        place = index(path, position)
        if not resource:
            found.append(required(place))
            continue
        name, slash, below = resource.partition("/")
        if not slash:
            plain = resource != "*"
            continue
        if name in whole:
            found.append(invalid(place, resource, f"if '{name}/*' is present, must not specify {resource}"))
        if below in everywhere:
            found.append(invalid(place, resource, f"if '*/{below}' is present, must not specify {resource}"))
        if below == "*":
            whole.add(name)
        if name == "*":
            everywhere.add(below)
    if len(resources) > 1 and "*/*" in resources:
        found.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        why = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid(path, resources, why))
    return found


def validate_match(match: Object, path: str) -> list[FieldError]:
    """Validates the match constraints of a policy or of a binding."""
    policy, place = match.get("matchPolicy"), f"{path}.matchPolicy"
    found = [required(place)] if policy is None else enum(policy, place, MATCH_POLICIES, needed=False)
    for name in ("namespaceSelector", "objectSelector"):
        selector = match.get(name)
        place = f"{path}.{name}"
        found += [required(place)] if selector is None else labels.validate_object(selector, place)
    for name in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(match.get(name) or ()):
            place = index(f"{path}.{name}", position)
            found += _validate_names(rule.get("resourceNames") or [], f"{place}.resourceNames")
            found += validate_rule(rule, place)
    return found


def _validate_names(names: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, (name, again) in enumerate(zip(names, repeats(names), strict=True)):
        found += wrong(index(path, position), name, path_segment(name))
        if again:
            found.append(duplicate(index(path, position), name))
    return found


def validate_mutable(match: Object, path: str) -> list[FieldError]:
    """Validates that a mutating policy matches only writes of objects."""
    return [
        not_supported(f"{path}.resourceRules.operations", operation, MUTATING_OPERATIONS)
        for rule in match.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in MUTATING_OPERATIONS
    ]


def validate_conditions(conditions: list[Object], path: str, *, params: bool) -> list[FieldError]:
    """Validates match conditions: expressions that must all be true for a request, each with a unique name."""
    found = [too_many(path, len(conditions), _MAX_CONDITIONS)] if len(conditions) > _MAX_CONDITIONS else []
    known = environment(params=params)
    names: set[str] = set()
    for position, condition in enumerate(conditions[: 2 * _MAX_CONDITIONS]):
        place, name = index(path, position), condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if expression:
            found += compile_expression(expression, f"{place}.expression", known, [BOOL])
        else:
            found.append(required(f"{place}.expression"))
        found += qualified(name, f"{place}.name") if name else [required(f"{place}.name")]
        if name and name in names:
            found.append(duplicate(f"{place}.name", name))
        names.add(name)
    return found


def validate_param_kind(kind: Object, path: str) -> list[FieldError]:
    """Validates the kind of the objects that parametrize a policy."""
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    place = f"{path}.apiVersion"
    if not version:
        found = [required(place)]
    elif version.count("/") > 1:
        found = [invalid(place, version, f"unexpected GroupVersion string: {version}")]
    else:
        group, _, plain = version.rpartition("/")
        problems = dns1123_subdomain(group) if group else ()
        found = [invalid(place, group, ",".join(problems))] if problems else []
        if not plain:
            found.append(invalid(place, version, "version must be specified"))
        elif dns1035_label(plain):
            found.append(invalid(place, plain, ",".join(dns1035_label(plain))))
    if not name:
        found.append(required(f"{path}.kind"))
    elif dns1035_label(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(dns1035_label(name.lower()))}"
        found.append(invalid(f"{path}.kind", name, why))
    return found
