"""The audit event of one request (`audit.k8s.io/v1`), which gains fields from stage to stage."""

import re
from ipaddress import ip_address

from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Json, Object
from setpoint.server.access.audit import bodies
from setpoint.server.access.audit.policy import NONE, RANK, Decision, Stage
from setpoint.server.access.audit.redaction import (
    REDACTED,
    answered_by,
    is_proxied,
    redacted,
    redacted_query,
    secret_kind,
)
from setpoint.server.message import Peer, Request, Response
from setpoint.server.ports import User
from setpoint.server.request.context import Context

_MAX_USER_AGENT = 1024
_METADATA, _REQUEST, _REQUEST_RESPONSE = RANK["Metadata"], RANK["Request"], RANK["RequestResponse"]
# Status codes of errors whose messages repeat no request data except the name of the object.
_HARMLESS = frozenset((401, 403, 404, 405, 406, 409, 410, 415, 429))
# Matches bodies that contain a Secret, TokenReview or TokenRequest in any encoding, even if sent to another endpoint.
_SECRET_WORD = re.compile(rb"Secret|TokenRe(?:view|quest)")
_STATUS_FIELDS = ("status", "message", "reason", "details", "code")


class Record:
    """The audit event of one request."""

    __slots__ = ("decision", "event", "is_over")

    def __init__(self, context: Context, decision: Decision) -> None:
        self.decision = decision
        # True if no further stage is to be recorded.
        self.is_over = decision.level == NONE
        self.event: Object = {} if self.is_over else _event(context, decision)

    def at(self, stage: Stage, context: Context) -> Object:
        """Returns the event with its stage and timestamp set."""
        event = self.event
        event["stage"] = stage
        now = format_micro_time(context.services.clock.now())
        event["stageTimestamp"] = event["requestReceivedTimestamp"] if stage == "RequestReceived" else now
        if context.annotations:
            event["annotations"] = context.annotations
        return event

    def note_impersonation(self, context: Context) -> None:
        """Records both the authenticated user and the impersonated user."""
        if context.impersonator is not None:
            self.event["user"] = user_info(context.impersonator)
            self.event["impersonatedUser"] = user_info(context.user)

    def note_answer(self, context: Context, response: Response) -> None:
        """Records the request and response bodies, as far as the audit level allows, and the response status."""
        info, event, rank = context.info, self.event, RANK[self.decision.level]
        kind, proxied = secret_kind(info), is_proxied(info) or info.group_version in context.registry.remote
        if info.is_resource and context.request.body:
            if info.verb in ("create", "update"):
                self._note_names(context)
            if rank >= _REQUEST and not proxied:
                self._note_body("requestObject", bodies.request_body(context), kind)
        answered: Json = bodies.NOTHING
        is_told = response.status >= 400 or rank >= _REQUEST_RESPONSE or info.verb in ("delete", "deletecollection")
        if is_told and not proxied:
            answered = bodies.response_body(context, response)
        status: Object = {"metadata": {}, "code": response.status}
        if type(answered) is dict and answered.get("kind") == "Status":
            status |= {name: answered[name] for name in _STATUS_FIELDS if name in answered}
            if response.status not in _HARMLESS and (kind or _SECRET_WORD.search(context.request.body)):
                status = _without_messages(status)
                answered = bodies.NOTHING
        event["responseStatus"] = status
        if rank >= _REQUEST_RESPONSE and info.is_resource:
            self._note_body("responseObject", answered_by(info, answered), kind)

    def note_failure(self, error: Exception) -> None:
        """Records an internal server error by its type only, because the message of the exception may contain
        secrets."""
        self.event["responseStatus"] = {
            "metadata": {},
            "status": "Failure",
            "message": f"the server failed: {type(error).__name__}",
            "reason": "InternalError",
            "code": 500,
        }

    def note_unknown_user(self, context: Context) -> None:
        """Records a failed authentication with the methods that the client tried."""
        tried = []
        if context.request.peer.common_name:
            tried.append("x509")
        scheme = context.request.headers.get("authorization", "").strip().partition(" ")[0].lower()
        if scheme in ("bearer", "basic"):
            tried.append(scheme)
        why = (
            f"Authentication failed, attempted: {', '.join(tried)}"
            if tried
            else "Authentication failed, no credentials"
        )
        status = {"metadata": {}, "status": "Failure", "message": why, "reason": "Unauthorized", "code": 401}
        self.event["responseStatus"] = status

    def _note_names(self, context: Context) -> None:
        """Completes the object reference from the body, because the path of a create does not name the object."""
        found = bodies.names(context)
        if found is None:
            return
        reference = self.event["objectRef"]
        given = {
            "namespace": found.namespace,
            "name": found.name,
            "uid": found.uid,
            "resourceVersion": found.resource_version,
        }
        for name, value in given.items():
            if value and name not in reference:
                reference[name] = value

    def _note_body(self, name: str, tree: Json, kind: str) -> None:
        if tree is bodies.NOTHING:
            return
        if self.decision.omit_managed_fields:
            tree = bodies.without_managed_fields(tree)
        self.event[name] = redacted(tree, kind)


def _event(context: Context, decision: Decision) -> Object:
    """Returns the event for a newly received request."""
    request, info = context.request, context.info
    event: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": decision.level,
        "auditID": context.audit_id,
        "stage": "",
        "requestURI": f"{request.path}?{redacted_query(request.query)}" if request.query else request.path,
        "verb": info.verb,
        "user": user_info(context.user),
    }
    if sources := source_addresses(request):
        event["sourceIPs"] = sources
    if agent := request.headers.get("user-agent"):
        event["userAgent"] = agent if len(agent) <= _MAX_USER_AGENT else f"{agent[:_MAX_USER_AGENT]}...TRUNCATED"
    if info.is_resource:
        reference = {
            "resource": info.resource,
            "namespace": info.namespace,
            "name": info.name,
            "apiGroup": info.group,
            "apiVersion": info.version,
            "subresource": info.subresource,
        }
        event["objectRef"] = {name: value for name, value in reference.items() if value}
    event["requestReceivedTimestamp"] = format_micro_time(context.services.clock.now())
    return event


def _without_messages(status: Object) -> Object:
    """Returns a Status without its messages, which may repeat request data."""
    kept = {name: value for name, value in status.items() if name in ("metadata", "status", "reason", "code")}
    details = status.get("details") or {}
    shown = {name: details[name] for name in ("name", "group", "kind", "retryAfterSeconds") if name in details}
    return {**kept, "message": REDACTED, **({"details": shown} if shown else {})}


def user_info(user: User) -> Object:
    """Returns a user in the API's `UserInfo` format."""
    groups, extra = list(user.groups), {name: list(values) for name, values in user.extra.items()}
    found = {"username": user.name, "uid": user.uid, "groups": groups, "extra": extra}
    return {name: value for name, value in found.items() if value}


def source_addresses(request: Request) -> list[str]:
    """Returns the source addresses of a request: those that proxies report, then the peer of the connection. Only the
    peer address is reliable."""
    headers = request.headers
    found = [text for part in headers.get("x-forwarded-for", "").split(",") if (text := _address(part))]
    real = _address(headers.get("x-real-ip", ""))
    if real and real not in found:
        found.append(real)
    own = _peer_address(request.peer)
    if own and (not found or found[-1] != own):
        found.append(own)
    return found


def _peer_address(peer: Peer) -> str:
    host = peer.address.rpartition(":")[0]
    return _address(host.strip("[]"))


def _address(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    try:
        return str(ip_address(text))
    except ValueError:
        return ""
