"""Access reviews: SubjectAccessReview and its variants, answered by the server's authorizer."""

from collections.abc import Mapping, Sequence

from setpoint.objects import fields, labels, names
from setpoint.objects.errors import BadRequest, Invalid
from setpoint.objects.field import FieldError, forbidden, index, invalid, required
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.rbac import aggregate
from setpoint.server.codec.go_json import metadata_text
from setpoint.server.ports import User
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import RequestInfo

_AUTHORIZATION = GroupKind("authorization.k8s.io", "")
_LOCAL = "LocalSubjectAccessReview"
_SELF = "SelfSubjectAccessReview"
_RULES = "SelfSubjectRulesReview"
# Reading and writing a rule takes about as long as this many bytes of JSON.
RULE_BYTES = 100


async def answer_access_review(context: Context, kind: str, tree: Object) -> None:
    """Writes the status of a review of `authorization.k8s.io` into the review."""
    spec = tree.setdefault("spec", {})
    if kind == _RULES:
        status = await _rules(context, spec)
        # The spec is not returned, as on kube-apiserver.
        tree |= {"metadata": {}, "spec": {}, "status": status}
        return
    errors = _errors(kind, tree, spec)
    if errors:
        raise Invalid.of(_AUTHORIZATION, "", errors)
    user = context.user
    if kind != _SELF:
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), spec.get("extra") or {})
    of_resource = spec.get("resourceAttributes")
    attributes = (
        _resource_request(of_resource) if of_resource is not None else _path_request(spec["nonResourceAttributes"])
    )
    authorizer = context.services.authorizer
    await authorizer.prepare(user)
    decision = authorizer.decide(user, attributes)
    status = tree["status"] = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    ignored = _ignored_selectors(of_resource or {})
    if ignored:
        status["evaluationError"] = "; ".join(ignored)


def _resource_request(attributes: Mapping[str, str]) -> RequestInfo:
    return RequestInfo(
        attributes.get("verb", ""),
        "",
        is_resource=True,
        group=attributes.get("group", ""),
        version=attributes.get("version") or "*",
        namespace=attributes.get("namespace", ""),
        resource=attributes.get("resource", ""),
        name=attributes.get("name", ""),
        subresource=attributes.get("subresource", ""),
    )


def _path_request(attributes: Mapping[str, str]) -> RequestInfo:
    return RequestInfo(attributes.get("verb", ""), attributes.get("path", ""))


async def _rules(context: Context, spec: Object) -> Object:
    """Returns the status with all rules of the user, in the form that roles have."""
    namespace = spec.get("namespace")
    if not namespace:
        raise BadRequest("no namespace on request")
    authorizer = context.services.authorizer
    await authorizer.prepare()
    rules, errors = authorizer.rules(context.user, namespace)
    status = await context.offload(lambda: _shown_rules(rules), RULE_BYTES * len(rules))
    if errors:
        status["evaluationError"] = aggregate(errors)
    return status


def _shown_rules(rules: Sequence[Object]) -> Object:
    of_resources = ("verbs", "apiGroups", "resources", "resourceNames")
    return {
        "resourceRules": [_parts(rule, of_resources) for rule in rules if rule.get("resources")],
        "nonResourceRules": [
            _parts(rule, ("verbs", "nonResourceURLs")) for rule in rules if rule.get("nonResourceURLs")
        ],
        "incomplete": False,
    }


def _parts(rule: Object, names_of_parts: Sequence[str]) -> Object:
    return {name: rule[name] for name in names_of_parts if rule.get(name)}


def _errors(kind: str, tree: Object, spec: Object) -> list[FieldError]:
    """Returns the validation errors of the review."""
    of_resource, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    found = []
    if (of_resource is None) == (of_path is None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found.append(invalid("spec", _shown_path(of_path), why))
    if kind != _SELF and not spec.get("user") and not spec.get("groups"):
        found.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    if of_resource is not None:
        found += _selector_errors(of_resource, "fieldSelector") + _selector_errors(of_resource, "labelSelector")
    found += _metadata_errors(kind, tree["metadata"])
    if kind == _LOCAL:
        namespace = tree["metadata"].get("namespace", "")
        if of_resource is not None and of_resource.get("namespace", "") != namespace:
            where = "spec.resourceAttributes.namespace"
            found.append(invalid(where, of_resource.get("namespace", ""), "must match metadata.namespace"))
        if of_path is not None:
            why = "disallowed on this kind of request"
            found.append(invalid("spec.nonResourceAttributes", _shown_path(of_path), why))
    return found


def _shown_path(attributes: Mapping[str, str] | None) -> Object | None:
    """Returns the attributes with the field names of kube-apiserver's internal type, which errors show."""
    if attributes is None:
        return None
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _metadata_errors(kind: str, metadata: Object) -> list[FieldError]:
    allowed = ("managedFields", "namespace") if kind == _LOCAL else ("managedFields",)
    if not any(value for name, value in metadata.items() if name not in allowed):
        return []
    why = "must be empty except for namespace" if kind == _LOCAL else "must be empty"
    return [invalid("metadata", metadata_text(metadata), why)]


def _selector_errors(attributes: Object, name: str) -> list[FieldError]:
    selector, path = attributes.get(name), f"spec.resourceAttributes.{name}"
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    found = []
    if raw and requirements:
        found.append(invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        found.append(required(f"{path}.requirements", why))
    for position, requirement in enumerate(requirements):
        found += _requirement_errors(requirement, name == "labelSelector", index(f"{path}.requirements", position))
    return found


def _requirement_errors(requirement: Object, of_labels: bool, path: str) -> list[FieldError]:
    """Returns the errors of one requirement. An unknown operator is no error, because a newer client may know the
    operator."""
    key, operator, values = requirement.get("key") or "", requirement.get("operator"), requirement.get("values") or ()
    found = [] if key or of_labels else [required(f"{path}.key", "must be specified")]
    if operator in ("In", "NotIn") and not values:
        found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        found.append(forbidden(f"{path}.values", why))
    if of_labels:
        found += [invalid(f"{path}.key", key, why) for why in names.qualified_name(key)]
        for position, value in enumerate(values):
            found += [invalid(index(f"{path}.values", position), value, why) for why in names.label_value(value)]
    return found


def _ignored_selectors(attributes: Object) -> list[str]:
    """Returns messages about selectors that cannot be parsed, completely or in part. Rules do not evaluate selectors,
    so the decision does not change."""
    found = []
    for name, is_understood in (("fieldSelector", _is_field_requirement), ("labelSelector", _is_label_requirement)):
        selector = attributes.get(name) or {}
        requirements = selector.get("requirements") or ()
        understood = [is_understood(requirement) for requirement in requirements]
        if not all(understood) or not _is_selector(name, selector.get("rawSelector")):
            partially = "partially " if any(understood) else ""
            found.append(f"spec.resourceAttributes.{name} {partially}ignored due to parse error")
    return found


def _is_selector(name: str, text: str | None) -> bool:
    try:
        (fields if name == "fieldSelector" else labels).parse(text or "")
    except BadRequest:
        return False
    return True


def _is_field_requirement(requirement: Object) -> bool:
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def _is_label_requirement(requirement: Object) -> bool:
    try:
        labels.from_object({"matchExpressions": [requirement]})
    except BadRequest:
        return False
    return True
