"""Details of one workload: its environment, the last results of its probes, and its attempts.

    GET /apis/setpoint.dev/v1/{plural}.{group}/{name}/environment
    GET /apis/setpoint.dev/v1/{plural}.{group}/{name}/probes
    GET /apis/setpoint.dev/v1/{plural}.{group}/{name}/attempts

They require the right to get the object. Values that look like secrets are masked, as in `setpoint env`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from setpoint.objects import meta
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Json, Object
from setpoint.past.environment_origins import variables_of
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.inner_context import inner_context
from setpoint.server.verbs.get import read
from setpoint.workload.kinds.api_names import LOGGED

if TYPE_CHECKING:
    from setpoint.workload.logs.log_store import LogStore

_API_VERSION = "setpoint.dev/v1"
_RESULTS = {"Success": "Succeeded", "Failure": "Failed"}


async def environment(context: Context, resource: Resource) -> Response:
    """Returns the variables of a workload, each with its origin."""
    tree = await read_object(context, resource)
    # Environment files are read, to name the one that sets a variable.
    found = await context.services.offload.run(context.user.name, partial(variables_of, tree))
    items: list[Json] = [
        {
            "name": each["name"],
            "value": each["value"],
            "origin": each["from"],
            "source": each["source"],
            "masked": each["value"] != plain.get(each["name"], each["value"]),
        }
        for plain in [_values(tree)]
        for each in found
    ]
    return await answer_items(context, "Environment", items)


async def probes(context: Context, resource: Resource) -> Response:
    """Returns the last result of each probe of a workload."""
    tree = await read_object(context, resource)
    kinds = {each.get("name"): each for each in (tree.get("spec") or {}).get("healthProbes") or ()}
    items: list[Json] = []
    for each in (tree.get("status") or {}).get("healthProbeResults") or ():
        probe: Object = kinds.get(each.get("probeName"), {})
        items.append(
            {
                "name": each.get("probeName", ""),
                "type": probe.get("type", "Runtime"),
                "role": probe.get("role", "Readiness"),
                "time": each.get("timestamp"),
                "result": _RESULTS.get(each.get("outcome", ""), "Unknown"),
                "message": each.get("reason", ""),
                "successes": each.get("successes", 0),
                "failures": each.get("failures", 0),
            }
        )
    return await answer_items(context, "Probes", items)


async def attempts(context: Context, resource: Resource, logs: "LogStore | None") -> Response:
    """Returns the recorded attempts of a workload, oldest first. The exit code is known for the last one."""
    tree = await read_object(context, resource)
    status = tree.get("status") or {}
    items: list[Json] = []
    if logs is not None and resource.kind in LOGGED.values():
        recorded = logs.of(meta.uid(tree)).attempts
        starts = recorded.starts
        for place, start in enumerate(starts):
            following = starts[place + 1] if place + 1 < len(starts) else None
            items.append({"attempt": recorded.first + place, "started": _time(start), "nextStarted": _time(following)})
    if not items and (started := status.get("startupTimestamp")):
        items.append({"attempt": 1, "started": started, "nextStarted": None})
    if items and isinstance(last := items[-1], dict):
        reason = next((each.get("reason") for each in status.get("conditions") or () if each["type"] == "Ready"), "")
        code = status.get("exitCode", status.get("lastExitCode"))
        last |= {"ended": status.get("finishTimestamp"), "exitCode": code, "reason": reason}
    return await answer_items(context, "Attempts", items)


async def read_object(context: Context, resource: Resource) -> Object:
    """Returns the object of a request. The request has been authorized as a get of the object."""
    namespace = context.info.namespace if resource.namespaced else ""
    inner = inner_context(context, resource, "get", namespace, context.info.name)
    return await inner.decoded(resource, await read(inner, resource))


def _values(tree: Object) -> dict[str, str]:
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    return {each["name"]: each.get("value", "") for each in status.get("effectiveEnv") or spec.get("env") or ()}


def _time(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return format_micro_time(datetime.fromtimestamp(microseconds / 1_000_000, UTC))


async def answer_items(context: Context, kind: str, items: Sequence[Json]) -> Response:
    """Returns the response with the items of a workload."""
    return await json_answer(context, {"kind": kind, "apiVersion": _API_VERSION, "items": list(items)})
