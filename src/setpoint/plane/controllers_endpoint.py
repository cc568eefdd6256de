"""The controllers of a control plane and of its app, and their recorded reconciles.

    GET /apis/setpoint.dev/v1/controllers                        the queue, rate, latency and errors of each
    GET /apis/setpoint.dev/v1/controllers/{name}/reconciles      the recorded reconciles, newest first
    GET /apis/setpoint.dev/v1/controllers/{name}/reconciles/{id} the causes, reads and writes of one

They require the rights to list `controllers.setpoint.dev` and to get `controllers/reconciles`. A reconcile names
objects of any namespace, so these rights are cluster-wide.

The controllers of an app run in processes of their own, each of which gets one message for a request. A process that
does not answer in time is listed with its last figures.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from setpoint.controller.overview import overview
from setpoint.controller.reconciles import recorded_runs
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.reconcile_report import ReconcileQuery, Reconciles
from setpoint.objects.tree import Json, Object
from setpoint.past.secret_mask import masked_text
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context

if TYPE_CHECKING:
    from setpoint.controller.controller import Controller
    from setpoint.controller.overview import Row
    from setpoint.objects.reconcile_report import Reconciled

_API_VERSION = "setpoint.dev/v1"
_CONTROLLERS = GroupResource("setpoint.dev", "controllers")
# The maximum number of reconciles in a response.
_MOST = 200

GetControllers = Callable[[], "Sequence[Controller]"]


class HostedReports(Protocol):
    """The reports of controllers in other processes."""

    async def report(self) -> "list[Row]":
        """Returns the status of each controller."""

    async def reconciles(self, wanted: ReconcileQuery) -> Reconciles:
        """Returns the recorded reconciles that match, and the names of all controllers."""


async def list_controllers(context: Context, own: GetControllers, hosted: HostedReports | None) -> Response:
    """Returns the controllers of the app, then the built-in ones."""
    rows = [*(await hosted.report() if hosted is not None else ()), *map(overview, own())]
    items: list[Json] = [_row(each) for each in rows]
    return await json_answer(context, {"kind": "ControllerList", "apiVersion": _API_VERSION, "items": items})


async def reconciles(context: Context, own: GetControllers, hosted: HostedReports | None) -> Response:
    """Returns the reconciles of a controller, or one of them. Raises NotFound."""
    name, wanted = context.info.name, context.info.subpath
    if len(wanted) > 1:
        raise NotFound.of(_CONTROLLERS, "/".join((name, *wanted)))
    query = ReconcileQuery(controller=name, ids=tuple(wanted), limit=_MOST, brief=not wanted)
    mine = [each for each in own() if each.name == name]
    others = await hosted.reconciles(query) if hosted is not None else Reconciles([])
    if not mine and name not in others.controllers:
        raise NotFound.of(_CONTROLLERS, name)
    found = sorted([*recorded_runs(mine, query), *others.items], key=lambda each: each.began, reverse=True)
    if not wanted:
        rows: list[Json] = [_reconcile(each) for each in found[:_MOST]]
        return await json_answer(context, {"kind": "ReconcileList", "apiVersion": _API_VERSION, "items": rows})
    run = next((each for each in found if each.id == wanted[0]), None)
    if run is None:
        raise NotFound(f"reconcile {wanted[0]!r} of controller {name!r} is not recorded any more")
    report: Object = msgspec.to_builtins(run)
    if run.error:
        report["error"] = masked_text(run.error)
    return await json_answer(context, {**report, "kind": "Reconcile", "apiVersion": _API_VERSION, "of": run.kind})


def _row(row: "Row") -> Object:
    return {
        "name": row.name,
        "kind": row.kind,
        "module": row.module,
        "state": row.state,
        "note": masked_text(row.note),
        "queueDepth": row.queue,
        "reconcilesPerSecond": row.rate_per_minute / 60,
        "errors": row.errors,
        "recorded": row.recorded,
        "lagSeconds": row.lag_seconds,
        "latencySeconds": {"p50": row.p50_seconds, "p99": row.p99_seconds},
    }


def _reconcile(found: "Reconciled") -> Object:
    return {
        "id": found.id,
        "key": found.object,
        "started": found.began,
        "seconds": found.seconds,
        "result": found.result,
        "error": masked_text(found.error),
    }
