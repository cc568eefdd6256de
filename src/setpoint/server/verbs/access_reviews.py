"""Access reviews: may I, may somebody else, what may I do. The server's authorizer knows."""

from collections.abc import Mapping

from setpoint.objects.errors import BadRequest, Invalid
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Json, Object
from setpoint.server.authorization.authorizer import MASTERS
from setpoint.server.context import Context, User
from setpoint.server.requestinfo import RequestInfo

_AUTHORIZATION = GroupKind("authorization.k8s.io", "")
_EVERYTHING: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


async def access_review_status(context: Context, kind: str, spec: Object) -> Object:
    """The answer to one of the reviews of `authorization.k8s.io`."""
    if kind == "SelfSubjectRulesReview":
        return _rules(context, spec)
    user = context.user
    errors: list[FieldError] = []
    if kind != "SelfSubjectAccessReview":
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), spec.get("extra") or {})
        if not user.name and not user.groups:
            errors.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    of_resource, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (of_resource is None) == (of_path is None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid("spec", None, why))
    if errors:
        raise Invalid.of(_AUTHORIZATION, "", errors)
    asked = _resource_request(of_resource) if of_resource is not None else _path_request(of_path)
    authorizer = context.services.authorizer
    await authorizer.prepare()
    decision = authorizer.decide(user, asked)
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _resource_request(attributes: Mapping[str, str]) -> RequestInfo:
    return RequestInfo(
        attributes.get("verb", ""),
        "",
        is_resource=True,
        group=attributes.get("group", ""),
        version=attributes.get("version", ""),
        namespace=attributes.get("namespace", ""),
        resource=attributes.get("resource", ""),
        name=attributes.get("name", ""),
        subresource=attributes.get("subresource", ""),
    )


def _path_request(attributes: Json) -> RequestInfo:
    return RequestInfo(attributes.get("verb", ""), attributes.get("path", ""))


def _rules(context: Context, spec: Object) -> Object:
    """What the user may do. Only for those who may do everything that is known without looking at rules."""
    if not spec.get("namespace"):
        raise BadRequest("no namespace on request")
    whole = MASTERS in context.user.groups
    return {
        "resourceRules": [_EVERYTHING] if whole else [],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}] if whole else [],
        "incomplete": not whole,
    }
