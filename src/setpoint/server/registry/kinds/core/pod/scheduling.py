"""Validation of scheduling: affinities, tolerations, topology spread constraints, gates."""

from setpoint.objects import labels
from setpoint.objects.field import FieldError, child, duplicate, forbidden, index, invalid, not_supported, required
from setpoint.objects.names import dns1123_label, dns1123_subdomain, label_value
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import positive, qualified, wrong

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WHEN = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(affinity: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if "nodeAffinity" in affinity:
        node, place = affinity["nodeAffinity"], child(path, "nodeAffinity")
        if _REQUIRED in node:
            found += validate_node_selector(node[_REQUIRED], child(place, _REQUIRED))
        for position, term in enumerate(node.get(_PREFERRED) or ()):
            at = index(child(place, _PREFERRED), position)
            found += _validate_weight(term, at)
            found += _validate_node_term(term.get("preference") or {}, child(at, "preference"), any_value=True)
    for name in ("podAffinity", "podAntiAffinity"):
        if name in affinity:
            found += _validate_pod_affinity(affinity[name], child(path, name))
    return found


def validate_node_selector(selector: Object, path: str) -> list[FieldError]:
    """Validates a node selector, of which a node must match one term."""
    terms = selector.get("nodeSelectorTerms") or []
    place = child(path, "nodeSelectorTerms")
    if not terms:
        return [required(place, "must have at least one node selector term")]
    return [error for position, term in enumerate(terms) for error in _validate_node_term(term, index(place, position))]


def _validate_weight(term: Object, path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    return [] if 0 < weight <= 100 else [invalid(child(path, "weight"), weight, "must be in the range 1-100")]


def _validate_node_term(term: Object, path: str, any_value: bool = False) -> list[FieldError]:
    found: list[FieldError] = []
    for position, requirement in enumerate(term.get("matchExpressions") or ()):
        found += _validate_expression(requirement, index(child(path, "matchExpressions"), position), any_value)
    for position, requirement in enumerate(term.get("matchFields") or ()):
        found += _validate_node_field(requirement, index(child(path, "matchFields"), position))
    return found


def _validate_expression(requirement: Object, path: str, any_value: bool) -> list[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    place = child(path, "values")
    found: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(place, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            found.append(forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            found.append(required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        found.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    found += qualified(requirement.get("key") or "", child(path, "key"))
    if not any_value:
        for position, value in enumerate(values):
            found += wrong(index(place, position), value, label_value(value))
    return found


def _validate_node_field(requirement: Object, path: str) -> list[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    found: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        found.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(child(path, "values"), why))
    key = requirement.get("key") or ""
    if key != "metadata.name":
        return [*found, invalid(child(path, "key"), key, "not a valid field selector key")]
    for position, value in enumerate(values):
        found += wrong(index(child(path, "values"), position), value, dns1123_subdomain(value))
    return found


def _validate_pod_affinity(affinity: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, term in enumerate(affinity.get(_REQUIRED) or ()):
        found += _validate_pod_term(term, index(child(path, _REQUIRED), position))
    for position, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = index(child(path, _PREFERRED), position)
        found += _validate_weight(weighted, at)
        found += _validate_pod_term(weighted.get("podAffinityTerm") or {}, child(at, "podAffinityTerm"))
    return found


def _validate_pod_term(term: Object, path: str) -> list[FieldError]:
    selector = term.get("labelSelector")
    found = labels.validate_object(selector, child(path, "labelSelector"))
    found += labels.validate_object(term.get("namespaceSelector"), child(path, "namespaceSelector"))
    for name in term.get("namespaces") or ():
        found += wrong(child(path, "namespace"), name, dns1123_label(name))
    found += _validate_label_keys(term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or [], selector, path)
    topology = term.get("topologyKey") or ""
    if not topology:
        found.append(required(child(path, "topologyKey"), "can not be empty"))
    return found + qualified(topology, child(path, "topologyKey"))


def _validate_label_keys(same: list[str], different: list[str], selector: Object | None, path: str) -> list[FieldError]:
    """Validates label keys whose values are taken from the incoming pod."""
    found: list[FieldError] = []
    for name, keys in (("matchLabelKeys", same), ("mismatchLabelKeys", different)):
        if keys and selector is None:
            found.append(forbidden(child(path, name), "must not be specified when labelSelector is not set"))
        elif keys:
            for position, key in enumerate(keys):
                found += qualified(key, index(child(path, name), position))
    places: dict[str, int] = {}
    for position, key in enumerate(same):
        places.setdefault(key, position)
    seen = set((selector or {}).get("matchLabels") or ())
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key") or ""
        if key in places and key in seen:
            why = "exists in both matchLabelKeys and labelSelector"
            found.append(invalid(index(path, places[key]), key, why))
        seen.add(key)
    others = frozenset(different)
    for position, key in enumerate(same):
        if key in others:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid(index(child(path, "matchLabelKeys"), position), key, why))
    return found


def validate_taint_effect(effect: str, path: str) -> list[FieldError]:
    return [] if effect in EFFECTS else [not_supported(path, effect, EFFECTS)]


def validate_tolerations(tolerations: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, toleration in enumerate(tolerations):
        place = index(path, position)
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        at = child(place, "operator")
        if key:
            found += qualified(key, child(place, "key"))
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(invalid(at, operator, why))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid(child(place, "effect"), effect, why))
        if operator in ("Equal", ""):
            if messages := label_value(value):
                found.append(invalid(at, value, ";".join(messages)))
        elif operator == "Exists":
            if value:
                found.append(invalid(at, value, "value must be empty when `operator` is 'Exists'"))
        elif operator in ("Lt", "Gt"):
            # Comparisons are a feature that is off.
            found.append(not_supported(at, operator, ("Equal", "Exists", "Lt", "Gt")))
        else:
            found.append(not_supported(at, operator, ("Equal", "Exists")))
        if effect:
            found += validate_taint_effect(effect, child(place, "effect"))
    return found


def validate_spreading(constraints: list[Object], path: str) -> list[FieldError]:
    """Validates topology spread constraints."""
    found: list[FieldError] = []
    # The position of the last one of each pair: all earlier ones are reported as duplicates.
    last = {_spread_over(constraint): position for position, constraint in enumerate(constraints)}
    for position, constraint in enumerate(constraints):
        place = index(path, position)
        topology, when = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
        found += positive(constraint.get("maxSkew", 0), child(place, "maxSkew"))
        if not topology:
            found.append(required(child(place, "topologyKey"), "can not be empty"))
        if when not in _WHEN:
            found.append(not_supported(child(place, "whenUnsatisfiable"), when, _WHEN))
        if last[topology, when] > position:
            found.append(duplicate(child(place, "{topologyKey, whenUnsatisfiable}"), f"{{{topology}, {when}}}"))
        domains = constraint.get("minDomains")
        if domains is not None:
            found += positive(domains, child(place, "minDomains"))
            if when != "DoNotSchedule":
                why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
                found.append(invalid(child(place, "minDomains"), domains, why))
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(name) is not None and constraint[name] not in _POLICIES:
                found.append(not_supported(child(place, name), constraint[name], _POLICIES))
        selector = constraint.get("labelSelector")
        found += _validate_label_keys(constraint.get("matchLabelKeys") or [], [], selector, place)
        found += labels.validate_object(selector, child(place, "labelSelector"))
    return found


def _spread_over(constraint: Object) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def validate_gates(gates: list[Object], path: str) -> list[FieldError]:
    """Validates scheduling gates."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, gate in enumerate(gates):
        name = gate.get("name") or ""
        found += qualified(name, index(path, position))
        if name in seen:
            found.append(duplicate(index(path, position), name))
        seen.add(name)
    return found
