"""`Status` objects as responses: the success of a delete, and errors that a client decodes."""

from setpoint.objects.errors import (
    AlreadyExists,
    APIError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    StatusCause,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Json, Object

_CLASSES: tuple[type[APIError], ...] = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    Conflict,
    AlreadyExists,
    Expired,
    Gone,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
)
_BY_REASON = {cls.reason: cls for cls in _CLASSES}
# If two classes share a code, the code maps to the first one in the list above.
_BY_CODE = {cls.code: cls for cls in reversed(_CLASSES)}


def from_status(status: Json, http_code: int) -> APIError:
    """Returns the error of a response, from its body (of any type) and its HTTP code.

    The reason determines the class; if the reason is missing or unknown, the code does, and the reason is kept.
    """
    tree = status if isinstance(status, dict) and status.get("kind") == "Status" else {}
    reason, message, code = (tree.get(name) for name in ("reason", "message", "code"))
    reason = reason if isinstance(reason, str) else ""
    code = code if isinstance(code, int) and code else http_code
    details = tree.get("details")
    found = details if isinstance(details, dict) else {}
    metadata = tree.get("metadata")
    causes = found.get("causes")
    parsed = [
        StatusCause(_text(cause, "reason"), _text(cause, "message"), _text(cause, "field"))
        for cause in (causes if isinstance(causes, list) else [])
        if isinstance(cause, dict)
    ]
    retry_after = found.get("retryAfterSeconds")
    cls = _BY_REASON.get(reason) or _BY_CODE.get(code, APIError)
    if cls is Conflict and any(cause.reason == "FieldManagerConflict" for cause in parsed):
        cls = ApplyConflict
    error = cls(
        message if isinstance(message, str) and message else f"the server answered with code {code} and said no more",
        name=_text(found, "name"),
        group=_text(found, "group"),
        kind=_text(found, "kind"),
        uid=_text(found, "uid"),
        causes=parsed,
        retry_after_seconds=retry_after if isinstance(retry_after, int) else 0,
        details=isinstance(details, dict),
        metadata=metadata if isinstance(metadata, dict) else None,
    )
    error.code = code
    # A Status without a reason was not classified by the server, and stays unclassified.
    error.reason = reason if tree else cls.reason
    return error


def _text(tree: Object, name: str) -> str:
    value = tree.get(name)
    return value if isinstance(value, str) else ""


def success(resource: GroupResource, name: str, uid: str) -> Object:
    """Returns the `Status` of a delete that removed the object immediately."""
    given = {"name": name, "group": resource.group, "kind": resource.resource, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in given.items() if value},
    }
