"""The controllers of a control plane, and their recorded reconciles.

    GET /apis/setpoint.dev/v1/controllers                        the queue, rate, latency and errors of each
    GET /apis/setpoint.dev/v1/controllers/{name}/reconciles      the recorded reconciles, newest first
    GET /apis/setpoint.dev/v1/controllers/{name}/reconciles/{id} the causes, reads and writes of one

They require the rights to list `controllers.setpoint.dev` and to get `controllers/reconciles`. A reconcile names
objects of any namespace, so these rights are cluster-wide.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from setpoint.controller.overview import overview
from setpoint.controller.reconciles import primary_kind, report_of
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context

if TYPE_CHECKING:
    from setpoint.controller.controller import Controller
    from setpoint.controller.run_record import ReconcileRecord

_API_VERSION = "setpoint.dev/v1"
_CONTROLLERS = GroupResource("setpoint.dev", "controllers")
_FAILED = ("error", "terminal", "timeout")
# The maximum number of reconciles in a response.
_MOST = 200

GetControllers = Callable[[], "Sequence[Controller]"]
Handler = Callable[[Context], Awaitable[Response]]


def listing(controllers: GetControllers) -> Handler:
    """Returns the handler of the list of controllers."""

    async def answer(context: Context) -> Response:
        items: list[Json] = [_row(each) for each in controllers()]
        return await json_answer(context, {"kind": "ControllerList", "apiVersion": _API_VERSION, "items": items})

    return answer


def reconciles(controllers: GetControllers) -> Handler:
    """Returns the handler of the reconciles of a controller, which raises NotFound."""

    async def answer(context: Context) -> Response:
        name, wanted = context.info.name, context.info.subpath
        found = next((each for each in controllers() if each.name == name), None)
        if found is None or len(wanted) > 1:
            raise NotFound.of(_CONTROLLERS, "/".join((name, *wanted)))
        runs = {run.id: run for run in (*found.last_runs.values(), *found.runs)}
        if not wanted:
            newest = sorted(runs.values(), key=lambda run: run.began, reverse=True)[:_MOST]
            rows: list[Json] = [_reconcile(run) for run in newest]
            return await json_answer(context, {"kind": "ReconcileList", "apiVersion": _API_VERSION, "items": rows})
        run = runs.get(wanted[0])
        if run is None:
            raise NotFound(f"reconcile {wanted[0]!r} of controller {name!r} is not recorded any more")
        report: Object = msgspec.to_builtins(report_of(run, primary_kind(found)))
        return await json_answer(
            context, {**report, "kind": "Reconcile", "apiVersion": _API_VERSION, "of": report.get("kind", "")}
        )

    return answer


def _row(controller: "Controller") -> Object:
    row = overview(controller)
    runs = list(controller.runs)
    return {
        "name": row.name,
        "kind": row.kind,
        "state": row.state,
        "note": row.note,
        "queueDepth": row.queue,
        "reconcilesPerSecond": row.rate_per_minute / 60,
        "errors": sum(run.result in _FAILED for run in runs),
        "recorded": len(runs),
        "lagSeconds": row.lag_seconds,
        "latencySeconds": {"p50": row.p50_seconds, "p99": row.p99_seconds},
        "reconciles": [_reconcile(run) for run in reversed(runs[-20:])],
    }


def _reconcile(run: "ReconcileRecord") -> Object:
    return {
        "id": run.id,
        "key": run.request.object,
        "started": format_micro_time(run.began),
        "seconds": run.seconds,
        "result": run.result,
        "error": "" if run.error is None else f"{type(run.error).__name__}: {run.error}",
    }
