"""What a manager shows of itself: its measurements, and what its controllers did lately."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from setpoint.controller.controller import Controller
from setpoint.controller.run import Run
from setpoint.controller.serving import Page, at
from setpoint.objects.measure import CONTENT_TYPE, Measured, exposition
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.server.exchange import Request, Response

_JSON = "application/json"


def metrics_page(measured: Measured) -> Page:
    """`/metrics`, in the text format of Prometheus."""

    async def show(request: Request) -> Response:
        text = "".join(f"{line}\n" for line in exposition(measured.families()))
        return Response(200, CONTENT_TYPE, text.encode())

    return at("/metrics", show)


def reconciles_page(controllers: Callable[[], Iterable[Controller]]) -> Page:
    """`/debug/reconciles`: by controller the last reconciles, the newest first, with their reasons and writes, and what
    runs in circles."""

    async def show(request: Request) -> Response:
        found = {
            each.name: {
                "runs": [_shown(run) for run in reversed(each.runs)],
                "hotLoops": [str(loop) for loop in each.hot_loops()],
                "stuck": [str(watched.run.request) for watched in each.stuck()],
                "troubles": each.troubles,
            }
            for each in controllers()
        }
        return Response(200, _JSON, msgspec.json.encode({"controllers": found}))

    return at("/debug/reconciles", show)


def _shown(run: Run) -> Object:
    found: dict[str, Any] = {
        "id": run.id,
        "request": str(run.request),
        "began": format_micro_time(run.began),
        "waitedSeconds": run.waited,
        "seconds": run.seconds,
        "attempt": run.attempt,
        "priority": run.priority,
        "why": [str(trigger) for trigger in run.why],
        "moreReasons": run.more,
        "writes": [str(write) for write in run.writes],
        "result": run.result,
        "error": "" if run.error is None else f"{type(run.error).__name__}: {run.error}",
        "requeueAfterSeconds": run.requeue_after,
    }
    return {name: value for name, value in found.items() if value not in (None, "", [])}
