"""`/admin/execution`: the status of the control plane, and the way to have it clean up and end; DCP's document.

    {"status": "Running" | "CleaningResources" | "CleanupComplete" | "Stopping",
     "shutdownResourceCleanup": "Full" | "None"}

A PATCH (a merge patch of at most 512 bytes) asks for another status. 202: that has begun; 200: it is under way or done
already; 204: it is so. While objects are deleted, `progress` tells how many are gone.
"""

from typing import Any, get_args

import msgspec

from setpoint.objects.errors import BadRequest, Invalid, MethodNotAllowed, RequestEntityTooLarge, UnsupportedMediaType
from setpoint.objects.tree import Object
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.workload.shutdown import CleanUp, Shutdown, Status

PATH = "/admin/execution"
MERGE_PATCH = "application/merge-patch+json"
_JSON = "application/json"
_MOST_BYTES = 512
_ASKED = ("Stopping", "CleaningResources")


class ExecutionPage:
    """Answers for the status of one control plane."""

    def __init__(self, shutdown: Shutdown) -> None:
        self._shutdown = shutdown

    async def respond(self, context: Context) -> Response | None:
        """Raises what the API answers: BadRequest, Invalid, MethodNotAllowed, UnsupportedMediaType, …"""
        request = context.request
        if request.path.rstrip("/") != PATH:
            return None
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "GET":
            if media_type not in ("", _JSON):
                raise UnsupportedMediaType.of([_JSON])
            return await json_answer(context, self._told())
        if request.method != "PATCH":
            raise MethodNotAllowed.method()
        if media_type != MERGE_PATCH:
            raise UnsupportedMediaType.of([MERGE_PATCH])
        if len(request.body) > _MOST_BYTES:
            raise RequestEntityTooLarge.body(_MOST_BYTES)
        changed = self._shutdown.ask(*_wanted(request.body))
        if changed is None:
            return Response(204, _JSON)
        return await json_answer(context, self._told(), 202 if changed else 200)

    def _told(self) -> Object:
        shutdown = self._shutdown
        told: Object = {"status": shutdown.status, "shutdownResourceCleanup": shutdown.clean_up}
        if shutdown.progress is not None:
            told["progress"] = shutdown.progress.told()
        return told


def _wanted(body: bytes) -> tuple[Status, CleanUp | None]:
    """What a patch asks for. Raises BadRequest, Invalid."""
    try:
        patch: Any = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise BadRequest(f"the patch is no JSON: {error}") from None
    if not isinstance(patch, dict):
        raise BadRequest('the patch is no object: it should read {"status": "Stopping"}')
    status = patch.get("status")
    if status not in _ASKED:
        raise Invalid(f"status: {status!r} cannot be asked for; it should be {' or '.join(_ASKED)}")
    clean_up = patch.get("shutdownResourceCleanup") or None
    if clean_up is not None and clean_up not in get_args(CleanUp):
        raise Invalid(f"shutdownResourceCleanup: {clean_up!r} should be {' or '.join(get_args(CleanUp))}")
    return status, clean_up
