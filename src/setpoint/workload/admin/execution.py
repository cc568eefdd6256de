"""`/admin/execution`: reads the status of the control plane and requests its cleanup and shutdown, in DCP's format.

    {"status": "Running" | "CleaningResources" | "CleanupComplete" | "Stopping",
     "shutdownResourceCleanup": "Full" | "None"}

A PATCH (a merge patch of at most 512 bytes) requests another status. Responses: 202, the change has begun; 200, the
change is in progress or already complete; 204, the control plane has that status. During the cleanup, `progress` counts
the deleted objects.
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
    """Serves the status of one control plane."""

    def __init__(self, shutdown: Shutdown) -> None:
        self._shutdown = shutdown

    async def respond(self, context: Context) -> Response | None:
        """Returns the response, or None for another path. Raises the API error of an invalid request: BadRequest,
        Invalid, MethodNotAllowed, UnsupportedMediaType or RequestEntityTooLarge."""
        request = context.request
        if request.path.rstrip("/") != PATH:
            return None
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "GET":
            if media_type not in ("", _JSON):
                raise UnsupportedMediaType.of([_JSON])
            return await json_answer(context, self._status())
        if request.method != "PATCH":
            raise MethodNotAllowed.method()
        if media_type != MERGE_PATCH:
            raise UnsupportedMediaType.of([MERGE_PATCH])
        if len(request.body) > _MOST_BYTES:
            raise RequestEntityTooLarge.body(_MOST_BYTES)
        changed = self._shutdown.request(*_wanted(request.body))
        if changed is None:
            return Response(204, _JSON)
        return await json_answer(context, self._status(), 202 if changed else 200)

    def _status(self) -> Object:
        shutdown = self._shutdown
        status: Object = {"status": shutdown.status, "shutdownResourceCleanup": shutdown.clean_up}
        if shutdown.progress is not None:
            status["progress"] = shutdown.progress.to_json()
        return status


def _wanted(body: bytes) -> tuple[Status, CleanUp | None]:
    """Returns the status and cleanup mode that a patch requests. Raises BadRequest or Invalid."""
    try:
        patch: Any = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise BadRequest(f"the patch is not valid JSON: {error}") from None
    if not isinstance(patch, dict):
        raise BadRequest('the patch must be a JSON object, e.g. {"status": "Stopping"}')
    status = patch.get("status")
    if status not in _ASKED:
        raise Invalid(f"status: unsupported value {status!r}; expected {' or '.join(_ASKED)}")
    clean_up = patch.get("shutdownResourceCleanup") or None
    if clean_up is not None and clean_up not in get_args(CleanUp):
        raise Invalid(
            f"shutdownResourceCleanup: unsupported value {clean_up!r}; expected {' or '.join(get_args(CleanUp))}"
        )
    return status, clean_up
