"""Creates logins: `POST /apis/setpoint.dev/v1/dashboardlogins {"spec": {"ttlSeconds": 600}}`.

The response has the path of a link that opens one session of a browser:

    {"kind": "DashboardLogin", "apiVersion": "setpoint.dev/v1",
     "status": {"path": "/dashboard/login?token=…", "expirationTimestamp": "2026-01-31T12:10:00Z"}}

The session acts as the user of this request. Whoever opens the link first gets the session, so the right to `create`
`dashboardlogins.setpoint.dev` is required, which of the default roles only cluster-admin has.
"""

import msgspec

from setpoint.objects.errors import BadRequest, Forbidden, Invalid, ServiceUnavailable, UnsupportedMediaType
from setpoint.objects.field import invalid
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.times import format_time
from setpoint.server.access.authentication.users import ANONYMOUS
from setpoint.server.codec.request_body import JSON, media_type
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import OWN_GROUP

LOGINS = GroupResource(OWN_GROUP, "dashboardlogins")
_KIND = GroupKind(OWN_GROUP, "DashboardLogin")
_API_VERSION = f"{OWN_GROUP}/v1"
_DEFAULT_SECONDS, _MOST_SECONDS = 600, 86_400


class LoginSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The wanted login: the seconds after which the link expires."""

    ttl_seconds: int = _DEFAULT_SECONDS


class LoginRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a request for a login."""

    spec: LoginSpec = LoginSpec()
    kind: str = "DashboardLogin"
    api_version: str = _API_VERSION


async def create_login(context: Context) -> Response:
    """Creates a login of the user. Raises Invalid, Forbidden, TooManyRequests, or ServiceUnavailable without a
    dashboard."""
    logins = context.services.logins
    if logins is None:
        raise ServiceUnavailable("this server has no dashboard")
    if context.user.name == ANONYMOUS.name:
        raise Forbidden.of(LOGINS, "", "anonymous requests cannot log in: send credentials")
    seconds = _request(context).spec.ttl_seconds
    if not 1 <= seconds <= _MOST_SECONDS:
        detail = f"must be from 1 to {_MOST_SECONDS}"
        raise Invalid.of(_KIND, "", [invalid("spec.ttlSeconds", seconds, detail)])
    tree = {"kind": "DashboardLogin", "apiVersion": _API_VERSION, "spec": {"ttlSeconds": seconds}}
    if context.parameter("dryRun"):
        return await json_answer(context, tree, 201)
    login = logins.create(context.user, seconds)
    status = {"path": f"/dashboard/login?token={login.token}", "expirationTimestamp": format_time(login.expires)}
    return await json_answer(context, {**tree, "status": status}, 201)


def _request(context: Context) -> LoginRequest:
    if media_type(context) != JSON:
        raise UnsupportedMediaType.of([JSON])
    try:
        return msgspec.json.decode(context.request.body or b"{}", type=LoginRequest)
    except msgspec.DecodeError as error:
        raise BadRequest(f'the body is not a login such as {{"spec": {{"ttlSeconds": 600}}}}: {error}') from None
