"""The OTLP receiver over HTTP, for the exporters of services.

    POST /otlp/v1/traces|metrics|logs

A request has a key in the header `setpoint-otlp-key`, which the services of an app receive in a variable. The body is
protobuf or JSON, and may be compressed by gzip. Requests to the receiver pass no authorization, because the key gives
no right but this one.
"""

import hmac
import logging
from functools import partial
from typing import Final

from setpoint.server.message import Request, Response
from setpoint.server.offload import Offload
from setpoint.server.telemetry.otlp_answers import JSON, PROTOBUF, failure, success
from setpoint.server.telemetry.verbs import RECEIVER_PATH
from setpoint.telemetry.decoder import SIGNALS, Signal, decode, decompress
from setpoint.telemetry.errors import MalformedTelemetry, TelemetryTooLarge
from setpoint.telemetry.held import Held, prepare
from setpoint.telemetry.recorder import TelemetryRecorder
from setpoint.telemetry.store import Refusal

KEY_HEADER: Final = "setpoint-otlp-key"
# The maximum size of a body as sent, and uncompressed.
MAX_BODY: Final = 4 << 20
MAX_UNCOMPRESSED: Final = 16 << 20
# The number of requests that may wait for their decoding, and the seconds after which others may be repeated.
MAX_WAITING: Final = 16
_RETRY_SECONDS: Final = 1
# The name under which decoding runs in a thread, one request at a time.
_USER: Final = "system:setpoint:telemetry"
_PATHS: Final[dict[str, Signal]] = {f"{RECEIVER_PATH}v1/{signal}": signal for signal in SIGNALS}
_log = logging.getLogger(__name__)


class TelemetryRefusedError(Exception):
    """A request is refused, with a status of HTTP."""

    def __init__(self, status: int, message: str, retry_seconds: int = 0) -> None:
        super().__init__(message)
        self.status, self.retry_seconds = status, retry_seconds


class TelemetryReceiver:
    """Answers the requests of exporters."""

    def __init__(self, recorder: TelemetryRecorder, offload: Offload, key: str) -> None:
        self._recorder, self._offload, self._key = recorder, offload, key.encode()
        self._waiting = 0

    async def __call__(self, request: Request) -> Response:
        """Returns the response. Never raises."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = media_type == JSON
        try:
            self._check(request, media_type)
            is_compressed = request.headers.get("content-encoding", "").strip().lower() == "gzip"
            signal, key = _PATHS[request.path], request.headers.get(KEY_HEADER, "")
            refusal = await self.export(signal, request.body, key, is_json=is_json, is_compressed=is_compressed)
        except TelemetryRefusedError as error:
            return failure(error.status, str(error), is_json=is_json, retry_seconds=error.retry_seconds)
        return success(signal, is_json=is_json, rejected=refusal.rejected, reason=refusal.reason)

    async def export(
        self, signal: Signal, body: bytes, key: str, *, is_json: bool = False, is_compressed: bool = False
    ) -> Refusal:
        """Stores the records of a body, and returns the number of the rejected ones. Raises TelemetryRefusedError, and
        no other error."""
        self._check_key(key)
        if len(body) > MAX_BODY:
            raise TelemetryRefusedError(413, f"the body has more than {MAX_BODY} bytes: export smaller batches")
        if self._waiting >= MAX_WAITING:
            message = f"{MAX_WAITING} requests wait to be decoded: repeat the request later"
            raise TelemetryRefusedError(503, message, _RETRY_SECONDS)
        self._waiting += 1
        try:
            work = partial(_records, signal, body, self._recorder.store.now(), is_json, is_compressed)
            return await self._recorder.add(await self._offload.run(_USER, work))
        except TelemetryTooLarge as error:
            raise TelemetryRefusedError(413, str(error)) from error
        except MalformedTelemetry as error:
            raise TelemetryRefusedError(400, str(error)) from error
        except Exception as error:
            _log.exception("the OTLP receiver failed")
            raise TelemetryRefusedError(500, f"internal error: {type(error).__name__}") from error
        finally:
            self._waiting -= 1

    def _check_key(self, key: str) -> None:
        if not hmac.compare_digest(key.encode(), self._key):
            message = f"the header {KEY_HEADER} is {'wrong' if key else 'missing'}: use OTEL_EXPORTER_OTLP_HEADERS"
            raise TelemetryRefusedError(401, message)

    def _check(self, request: Request, media_type: str) -> None:
        """Raises TelemetryRefusedError for a request that is refused without decoding its body."""
        self._check_key(request.headers.get(KEY_HEADER, ""))
        if request.path not in _PATHS:
            raise TelemetryRefusedError(404, f"unknown path: send to {', '.join(_PATHS)}")
        if request.method != "POST":
            raise TelemetryRefusedError(405, f"method {request.method} is not allowed: use POST")
        if media_type not in (PROTOBUF, JSON):
            raise TelemetryRefusedError(415, f"the content type must be {PROTOBUF} or {JSON}")
        if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", "gzip"):
            raise TelemetryRefusedError(415, "the content encoding must be gzip, or missing")


def _records(signal: Signal, body: bytes, now: int, is_json: bool, is_compressed: bool) -> list[Held]:
    """Returns the prepared records of a body. Raises MalformedTelemetry."""
    if is_compressed:
        body = decompress(body, MAX_UNCOMPRESSED)
    return prepare(decode(signal, body, is_json=is_json, now=now))
