"""Reviews: questions in the form of objects. They are answered and never stored.

Who am I, may I, may somebody else, whose token is this: the authenticator and the authorizer of the server know.
"""

from collections.abc import Mapping

from setpoint.objects.errors import BadRequest, Invalid
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import format_time
from setpoint.objects.tree import Json, Object
from setpoint.server.answer import object_answer
from setpoint.server.authorize import MASTERS
from setpoint.server.context import Context, User
from setpoint.server.decode import read_object
from setpoint.server.exchange import Request, Response
from setpoint.server.options import write_options
from setpoint.server.requestinfo import RequestInfo
from setpoint.server.resource import Resource

_AUTHORIZATION = GroupKind("authorization.k8s.io", "")
_EVERYTHING: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


async def review(context: Context, resource: Resource) -> Response:
    """POST of any of the reviews."""
    options = write_options(context, "CreateOptions")
    tree = read_object(context, resource, options.field_validation)
    if resource.kind == "SelfSubjectReview":
        tree["metadata"] = {"creationTimestamp": format_time(context.services.clock.now())}
        tree["status"] = {"userInfo": _user_info(context.user)}
    else:
        tree = resource.field_manager("", context.services.clock).update(None, tree, options.field_manager)
        tree["status"] = await _status(context, resource.kind, tree.get("spec") or {})
    return object_answer(context, resource, resource.encoding.encode(tree), 201)


async def _status(context: Context, kind: str, spec: Object) -> Object:
    if kind == "TokenReview":
        return await _review_token(context, spec)
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


async def _review_token(context: Context, spec: Object) -> Object:
    token = spec.get("token")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    request = Request("GET", "/", headers={"authorization": f"Bearer {token}"})
    user = await context.services.authenticator.authenticate(request)
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _user_info(user)}


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


def _user_info(user: User) -> Object:
    found: Object = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {name: list(values) for name, values in user.extra.items()}
    return found
