"""`GET …/{plural}[.{group}]/{name}/why[?field=&at=REVISION&depth=N]`: the causes of an object's state, as a graph.

    {"kind": "Explanation", "nodes": [{"id", "type", "title", "detail", "revision", "time", "actor", "object", "path"}],
     "edges": [{"from", "to", "label"}], "symptom": ID, "origins": [ID…], "truncated": false}

The endpoint requires the rights to get the object and to read its history. The requests of `setpoint why` are sent as
the same user, so that objects which the user may not read are left out. Values that look like secrets are masked.
"""

from collections.abc import Sequence

from msgspec import structs

from setpoint.client.client import Client
from setpoint.objects.errors import BadRequest, NotFound, ServiceUnavailable, TooManyRequests
from setpoint.past.object_ref import ObjectReference
from setpoint.past.queries import NotInHistory
from setpoint.past.why.cause_graph import cause_graph
from setpoint.past.why.explain import explain
from setpoint.past.why.fact_collector import collect
from setpoint.server.access.authorization.attributes import authorize_reading
from setpoint.server.access.past_access import authorize_history
from setpoint.server.codec.response import json_answer
from setpoint.server.edge.in_process import LocalTransport
from setpoint.server.message import RequestHandler, Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import at_revision

# The default and maximum number of writes in a chain of causes.
_DEPTH = 6
# The number of explanations at a time: each sends some dozens of requests.
_MOST = 8
_AGAIN_SECONDS = 1


class WhyEndpoint:
    """Explains objects. `handler` answers the requests for the facts."""

    def __init__(self, handler: RequestHandler | None) -> None:
        self._handler = handler
        self._running = 0

    async def get(self, context: Context, resource: Resource) -> Response:
        """Returns the graph of causes. Raises BadRequest, Forbidden, NotFound and TooManyRequests."""
        info = context.info
        namespace = info.namespace if resource.namespaced else ""
        depth = _depth(context)
        at = at_revision(context)
        await authorize_reading(context, resource, namespace, info.name)
        await authorize_history(context, resource, namespace, info.name)
        if self._handler is None:
            raise ServiceUnavailable("this server explains no objects")
        if self._running >= _MOST:
            raise TooManyRequests.of("too many explanations at a time: try again", _AGAIN_SECONDS)
        self._running += 1
        try:
            if context.seat is not None:
                # The requests below wait for seats of their own.
                context.seat.release()
            user = context.user
            transport = LocalTransport(self._handler, {"user-agent": "setpoint"}, user.name, user.groups)
            async with Client(transport, clock=context.services.clock) as client:
                resources = await client.mapper.resources(refresh=False)
                found = [each for each in resources if _is_of(each.gvk.group, each.plural, resource)]
                if not found:
                    raise NotFound.of(resource.group_resource, info.name)
                place = ObjectReference(found[0], info.name, namespace)
                facts = await collect(client, place, me=_me(user.name), at=at)
        except NotInHistory:
            raise NotFound.of(resource.group_resource, info.name) from None
        finally:
            self._running -= 1
        if at is not None and facts.history:
            facts = structs.replace(facts, now=facts.history[-1].time)
        graph = cause_graph(facts, explain(facts), depth=depth, field=context.parameter("field"))
        return await json_answer(context, {"kind": "Explanation", "apiVersion": "setpoint.dev/v1", **graph})


def _is_of(group: str, plural: str, resource: Resource) -> bool:
    return (group, plural) == (resource.group, resource.resource)


def _me(user: str) -> Sequence[str]:
    return (user,)


def _depth(context: Context) -> int:
    text = context.parameter("depth")
    if not text:
        return _DEPTH
    if not text.isdecimal() or not 1 <= int(text) <= _DEPTH:
        raise BadRequest(f"depth must be a number from 1 to {_DEPTH}")
    return int(text)
