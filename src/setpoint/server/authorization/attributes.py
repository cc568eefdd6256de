"""What a request asks for, as the authorizer is to see it."""

from setpoint.objects import fields
from setpoint.objects.errors import BadRequest
from setpoint.objects.names import path_segment
from setpoint.server.context import Context
from setpoint.server.requestinfo import RequestInfo

_OF_COLLECTIONS = frozenset(("list", "watch", "deletecollection"))


def asked(context: Context) -> RequestInfo:
    """The request with the name of the one object it is about, also where a field selector says which: so a rule for
    certain names holds for who watches, or lists, just one of them."""
    info = context.info
    if info.name or info.verb not in _OF_COLLECTIONS or "fieldSelector=" not in context.request.query:
        return info
    try:
        name = fields.parse(context.parameter("fieldSelector")).exact("metadata.name")
    except BadRequest:
        return info
    return info._replace(name=name) if name and not path_segment(name) else info
