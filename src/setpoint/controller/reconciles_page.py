"""`GET /admin/reconciles`: the reconciles that the server's controllers keep.

    GET /admin/reconciles?kind=Shop.shop.dev&object=default/a[&id=ID...][&limit=N]

The response is `objects.reconcile_report.Reconciles`, newest first: the reconciles of the object, those that wrote the
object, and those with the given ID prefixes. Controllers of other processes add themselves to `sources`.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

import msgspec

from setpoint.objects.errors import BadRequest, MethodNotAllowed
from setpoint.objects.reconcile_report import MOST, PATH, ReconcileQuery, Reconciles
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context

# Returns the matching reconciles of some controllers, and the names of these controllers.
Source: TypeAlias = Callable[[ReconcileQuery], Awaitable[Reconciles]]


class ReconcilesPage:
    """Serves the reconciles of all sources."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self.sources = list(sources)

    async def respond(self, context: Context) -> Response | None:
        """Responds to a request; None for other paths. Raises BadRequest and MethodNotAllowed."""
        if context.request.path.rstrip("/") != PATH:
            return None
        if context.request.method != "GET":
            raise MethodNotAllowed.method()
        wanted = _wanted(context)
        found = [await source(wanted) for source in self.sources]
        items = sorted(
            (each for reconciles in found for each in reconciles.items), key=lambda each: each.began, reverse=True
        )
        names = sorted({name for reconciles in found for name in reconciles.controllers})
        return await json_answer(context, msgspec.to_builtins(Reconciles(items[: wanted.limit], names)))


def _wanted(context: Context) -> ReconcileQuery:
    limit = context.parameter("limit")
    if limit and not (limit.isdecimal() and len(limit) < 6 and int(limit)):
        raise BadRequest(f"invalid limit {limit!r}: expected a number from 1 to 99999")
    wanted = ReconcileQuery(
        context.parameter("kind"),
        context.parameter("object"),
        tuple(each for each in context.query.get("id", ()) if each),
        min(int(limit), MOST) if limit else MOST,
    )
    if not wanted.ids and not (wanted.kind and wanted.object):
        raise BadRequest("select reconciles with ?kind=KIND.GROUP&object=NAMESPACE/NAME, or ?id=ID")
    return wanted
