"""Reviews: requests in the form of objects, which are answered and never stored.

SelfSubjectReview and TokenReview are answered here, by the server's authenticator; access reviews in `access_reviews`.
"""

from setpoint.objects.errors import BadRequest
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.access.authentication.token_result import TokenError
from setpoint.server.codec.request_body import create_options
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.ports import User
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.access_reviews import RULE_BYTES, answer_access_review
from setpoint.server.verbs.create_only import read_posted


async def review(context: Context, resource: Resource) -> Response:
    """Answers the POST of any review."""
    options = create_options(context)
    tree = await read_posted(context, resource, options)
    if resource.kind == "SelfSubjectReview":
        tree["metadata"] = {"creationTimestamp": format_time(context.services.clock.now())}
        tree["status"] = {"userInfo": _user_info(context.user)}
    else:
        tree = resource.field_manager("", context.services.clock).update(None, tree, options.field_manager)
        if resource.kind == "TokenReview":
            # As on kube-apiserver, fields of the status that the review does not set stay as they are.
            sent = {name: value for name, value in (tree.get("status") or {}).items() if name != "authenticated"}
            tree["status"] = {"user": {}, **sent, **await _review_token(context, tree.get("spec") or {})}
        else:
            await answer_access_review(context, resource.kind, tree)
    rules = (tree.get("status") or {}).get("resourceRules") or ()
    body = await context.offload(lambda: resource.encoding.render_unstored(tree), RULE_BYTES * len(rules))
    return await object_answer(context, resource, body, 201)


async def _review_token(context: Context, spec: Object) -> Object:
    token = spec.get("token")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    try:
        accepted = await context.services.authenticator.review(token, spec.get("audiences") or ())
    except TokenError as error:
        return {"error": str(error)}
    return {"authenticated": True, "user": _user_info(accepted.user), "audiences": list(accepted.audiences)}


def _user_info(user: User) -> Object:
    found: Object = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {name: list(values) for name, values in user.extra.items()}
    return found
