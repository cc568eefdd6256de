"""FlowSchemas and PriorityLevelConfigurations, which configure flow control."""

from collections.abc import Sequence
from datetime import datetime
from math import ceil, log2

from setpoint.objects import meta
from setpoint.objects.field import FieldError, duplicate, forbidden, index, invalid, not_supported, required
from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.flowcontrol.bootstrap_configuration import EXEMPT, mandatory_spec
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import NONE, Cell, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, number
from setpoint.server.registry.kinds.validation.values import wrong
from setpoint.server.registry.strategy import Column

_METHODS = ("ByNamespace", "ByUser")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_MAX_PRECEDENCE, _MAX_QUEUES, _MAX_ENTROPY = 10_000, 10_000_000, 60
_NAMESPACE_WRONG = "each member of this list must be '*' or a DNS-1123 label; "


def _dangling(tree: Object, _now: datetime) -> str:
    for condition in lookup(tree, "status", "conditions") or ():
        if condition.get("type") == "Dangling":
            return condition.get("status") or ""
    return "?"


class _Ruled(ValidatingStrategy):
    name_on_update = "before"
    keeps_generation = True
    status_writes_metadata = False
    reset_fields = STATUS_ALONE

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if subresource == "status":
            # Unlike for other kinds, all metadata are restored.
            for name in {*tree["metadata"], *old["metadata"]} - {"managedFields", "resourceVersion"}:
                meta.carry(tree["metadata"], old["metadata"], name)

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        found = []
        types: set[str] = set()
        for position, condition in enumerate(lookup(tree, "status", "conditions") or ()):
            path, kind = f"{index('status.conditions', position)}.type", condition.get("type") or ""
            if kind in types:
                found.append(duplicate(path, kind))
            types.add(kind)
            if not kind:
                found.append(required(path))
        return found


class FlowSchemaStrategy(_Ruled):
    columns = (
        NAME,
        Column("PriorityLevel", field("spec", "priorityLevelConfiguration", "name")),
        Column("MatchingPrecedence", number("spec", "matchingPrecedence")),
        Column("DistinguisherMethod", field("spec", "distinguisherMethod", "type", absent=NONE)),
        AGE,
        Column("MissingPL", _dangling),
    )
    sorts_rows = True

    def row_rank(self, tree: Object) -> int:
        return lookup(tree, "spec", "matchingPrecedence") or 0

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found: list[FieldError] = []
        precedence, path = spec.get("matchingPrecedence") or 0, "spec.matchingPrecedence"
        if precedence <= 0:
            found.append(invalid(path, precedence, "must be a positive value"))
        if precedence > _MAX_PRECEDENCE:
            found.append(invalid(path, precedence, f"must not be greater than {_MAX_PRECEDENCE}"))
        if precedence == 1 and tree["metadata"].get("name") != EXEMPT:
            why = "only the schema named 'exempt' may have matchingPrecedence 1"
            found.append(invalid(path, precedence, why))
        method = spec.get("distinguisherMethod")
        if method is not None and method.get("type") not in _METHODS:
            shown = struct_text(Type=method.get("type") or "")
            found.append(not_supported("spec.distinguisherMethod.type", shown, _METHODS))
        level, path = lookup(spec, "priorityLevelConfiguration", "name") or "", "spec.priorityLevelConfiguration.name"
        needed = [required(path, "must reference a priority level")]
        found += wrong(path, level, dns1123_subdomain(level)) if level else needed
        for position, rule in enumerate(spec.get("rules") or ()):
            found += _validate_rule(rule, index("spec.rules", position))
        name = tree["metadata"].get("name") or ""
        fixed = mandatory_spec("FlowSchema", name)
        if fixed is not None and _filled(spec) != _filled(fixed):
            shown = struct_value("flowcontrol.FlowSchemaSpec", spec)
            found.append(invalid("spec", shown, f"spec of '{name}' must equal the fixed value"))
        return found


def _validate_rule(rule: Object, path: str) -> list[FieldError]:
    subjects, resources = rule.get("subjects") or [], rule.get("resourceRules") or []
    urls = rule.get("nonResourceRules") or []
    found = [] if subjects else [required(f"{path}.subjects", "subjects must contain at least one value")]
    for position, subject in enumerate(subjects):
        found += _validate_subject(subject, index(f"{path}.subjects", position))
    if not resources and not urls:
        found.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for position, item in enumerate(resources):
        found += _validate_resource_rule(item, index(f"{path}.resourceRules", position))
    for position, item in enumerate(urls):
        found += _validate_url_rule(item, index(f"{path}.nonResourceRules", position))
    return found


def _validate_subject(subject: Object, path: str) -> list[FieldError]:
    kind = subject.get("kind") or ""
    mine = _SUBJECTS.get(kind)
    if mine is None:
        return [not_supported(f"{path}.kind", kind, sorted(_SUBJECTS))]
    place, detail = f"{path}.{mine}", subject.get(mine)
    found = []
    if detail is None:
        found.append(required(place, f"{mine} is required when subject kind is '{kind}'"))
    else:
        name, namespace = detail.get("name") or "", detail.get("namespace") or ""
        if not name:
            found.append(required(f"{place}.name"))
        elif kind == "ServiceAccount" and name != "*":
            found += wrong(f"{place}.name", name, dns1123_subdomain(name))
        if kind == "ServiceAccount":
            needed = [required(f"{place}.namespace", "must specify namespace for service account")]
            found += wrong(f"{place}.namespace", namespace, dns1123_label(namespace)) if namespace else needed
    for other, name in _SUBJECTS.items():
        if name != mine and subject.get(name) is not None:
            found.append(forbidden(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{other}'"))
    return found


def _validate_list(values: Sequence[str], path: str, needed: str, what: str) -> list[FieldError]:
    if not values:
        return [required(path, needed)]
    if len(values) > 1 and "*" in values:
        return [invalid(path, list(values), f"if '*' is present, must not specify other {what}")]
    return []


def _validate_verbs(verbs: list[str], path: str) -> list[FieldError]:
    found = _validate_list(verbs, path, "verbs must contain at least one value", "verbs")
    if verbs and "*" not in verbs and not set(verbs) <= set(_VERBS):
        found.append(not_supported(path, verbs, _VERBS))
    return found


def _validate_resource_rule(rule: Object, path: str) -> list[FieldError]:
    found = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    needed = "resource rules must supply at least one"
    found += _validate_list(rule.get("apiGroups") or [], f"{path}.apiGroups", f"{needed} api group", "api groups")
    found += _validate_list(rule.get("resources") or [], f"{path}.resources", f"{needed} resource", "resources")
    namespaces, place = rule.get("namespaces") or [], f"{path}.namespaces"
    if namespaces or not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        found += _validate_list(namespaces, place, why, "namespaces")
    if "*" not in namespaces:
        for position, name in enumerate(namespaces):
            problems = (_NAMESPACE_WRONG + problem for problem in dns1123_label(name))
            found += wrong(index(place, position), name, problems)
    return found


def _validate_url_rule(rule: Object, path: str) -> list[FieldError]:
    found = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    urls, place = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    found += _validate_list(urls, place, "nonResourceURLs must contain at least one value", "non-resource URLs")
    if "*" not in urls:
        problems = ((position, url, _url_problem(url)) for position, url in enumerate(urls))
        found += [invalid(index(place, position), url, problem) for position, url, problem in problems if problem]
    return found


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url and (url.count("*") > 1 or not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _limited(*path: str) -> Cell:
    def cell(tree: Object, _now: datetime) -> object:
        found = lookup(tree, "spec", "limited", *path)
        return NONE if found is None else found

    return cell


class PriorityLevelConfigurationStrategy(_Ruled):
    declared_rules = (
        "spec.exempt Forbidden",
        "spec.limited Forbidden",
        "spec.limited Required",
        "spec.type Required",
        "spec.limited.limitResponse.queuing Forbidden",
        "spec.limited.limitResponse.queuing Required",
        "spec.limited.limitResponse.type Required",
    )
    columns = (
        NAME,
        Column("Type", field("spec", "type")),
        Column("NominalConcurrencyShares", _limited("nominalConcurrencyShares")),
        Column("Queues", _limited("limitResponse", "queuing", "queues")),
        Column("HandSize", _limited("limitResponse", "queuing", "handSize")),
        Column("QueueLengthLimit", _limited("limitResponse", "queuing", "queueLengthLimit")),
        AGE,
    )

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        for name, shares in (("exempt", 0), ("limited", 30)):
            level = spec.get(name)
            if level is not None:
                if level.get("nominalConcurrencyShares") is None:
                    level["nominalConcurrencyShares"] = shares
                level.setdefault("lendablePercent", 0)
        queuing = lookup(spec, "limited", "limitResponse", "queuing")
        if queuing is not None:
            for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[name] = queuing.get(name) or value

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        kind, exempt, limited = spec.get("type") or "", spec.get("exempt"), spec.get("limited")
        found = []
        if (tree["metadata"].get("name") == EXEMPT) != (kind == "Exempt"):
            found.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
        # The declared rules about the parts apply to unknown types too.
        if kind != "Exempt" and exempt is not None:
            found.append(forbidden("spec.exempt", ""))
        if kind != "Limited" and limited is not None:
            found.append(forbidden("spec.limited", ""))
            found += _declared_response(lookup(limited, "limitResponse") or {}, "spec.limited.limitResponse")
        if kind == "Exempt":
            found += _validate_shares(exempt or {}, "spec.exempt")
        elif kind == "Limited":
            found += [required("spec.limited")] if limited is None else _validate_limited(limited, "spec.limited")
        elif not kind:
            found.append(required("spec.type"))
        else:
            found.append(not_supported("spec.type", kind, ("Exempt", "Limited")))
        return found + _validate_mandatory_level(tree["metadata"].get("name") or "", spec)


def _validate_mandatory_level(name: str, spec: Object) -> list[FieldError]:
    fixed = mandatory_spec("PriorityLevelConfiguration", name)
    if fixed is None:
        return []
    own, exception = spec, ""
    if name == EXEMPT:  # users may change the part about the exemption
        own, fixed = ({part: value for part, value in it.items() if part != "exempt"} for it in (spec, fixed))
        exception = "except the 'spec.exempt' field "
    if _filled(own) == _filled(fixed):
        return []
    shown = struct_value("flowcontrol.PriorityLevelConfigurationSpec", spec)
    return [invalid("spec", shown, f"spec of '{name}' {exception}must equal the fixed value")]


def _filled(value: Json) -> Json:
    """Returns a value without its empty parts, which do not count in comparisons."""
    if type(value) is dict:
        return {name: kept for name, it in value.items() if (kept := _filled(it)) not in (None, [], "", False)}
    return [_filled(it) for it in value] if type(value) is list else value


def _validate_shares(level: Object, path: str) -> list[FieldError]:
    found = []
    shares, lendable = level.get("nominalConcurrencyShares") or 0, level.get("lendablePercent") or 0
    if shares < 0:
        found.append(invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    if not 0 <= lendable <= 100:
        found.append(invalid(f"{path}.lendablePercent", lendable, "must be between 0 and 100, inclusive"))
    return found


def _validate_limited(level: Object, path: str) -> list[FieldError]:
    found = _validate_shares(level, path)
    response, place = level.get("limitResponse") or {}, f"{path}.limitResponse"
    kind, queuing = response.get("type") or "", response.get("queuing")
    found += _declared_response(response, place)
    if kind == "Queue" and queuing is not None:
        found += _validate_queuing(queuing, f"{place}.queuing")
    elif kind not in ("", "Queue", "Reject"):
        found.append(not_supported(f"{place}.type", kind, ("Queue", "Reject")))
    borrowing = level.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        found.append(invalid(f"{path}.borrowingLimitPercent", borrowing, why))
    return found


def _declared_response(response: Object, path: str) -> list[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    found = [] if kind else [required(f"{path}.type")]
    if kind != "Queue" and queuing is not None:
        found.append(forbidden(f"{path}.queuing", ""))
    return [*found, required(f"{path}.queuing")] if kind == "Queue" and queuing is None else found


def _validate_queuing(queuing: Object, path: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    found = [] if length > 0 else [invalid(f"{path}.queueLengthLimit", length, "must be positive")]
    if queues <= 0:
        found.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MAX_QUEUES:
        found.append(invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    if hand <= 0:
        found.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        found.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif queues <= _MAX_QUEUES and _entropy(queues, hand) > _MAX_ENTROPY:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MAX_ENTROPY}"
        )
        found.append(invalid(f"{path}.handSize", hand, why))
    return found


def _entropy(queues: int, hand_size: int) -> int:
    """Returns the number of bits required to deal a hand of queues; inexact above the allowed maximum."""
    bits = sum(log2(queues - dealt) for dealt in range(min(hand_size, 2 * _MAX_ENTROPY)) if queues > dealt)
    return ceil(bits)
