"""The pages of a manager: its metrics and its recent reconciles."""

from collections.abc import Callable, Iterable

import msgspec

from setpoint.controller.controller import Controller
from setpoint.controller.page_server import Page, at
from setpoint.controller.reconciles import primary_kind, report_of
from setpoint.objects.metrics import CONTENT_TYPE, Collector, exposition
from setpoint.server.message import Request, Response

_JSON = "application/json"


def metrics_page(measured: Collector) -> Page:
    """Returns the page `/metrics`, in the Prometheus text format."""

    async def show(request: Request) -> Response:
        text = "".join(f"{line}\n" for line in exposition(measured.families()))
        return Response(200, CONTENT_TYPE, text.encode())

    return at("/metrics", show)


def reconciles_page(controllers: Callable[[], Iterable[Controller]]) -> Page:
    """Returns the page `/debug/reconciles`.

    The page lists for each controller the last reconciles, newest first, with their triggers, reads and writes
    (`objects.reconcile_report`), and its hot loops.
    """

    async def show(request: Request) -> Response:
        found = {
            each.name: {
                "runs": [report_of(run, primary_kind(each)) for run in reversed(each.runs)],
                "hotLoops": [str(loop) for loop in each.hot_loops()],
                "stuck": [str(watched.run.request) for watched in each.stuck()],
                "troubles": each.problems,
            }
            for each in controllers()
        }
        return Response(200, _JSON, msgspec.json.encode({"controllers": found}))

    return at("/debug/reconciles", show)
