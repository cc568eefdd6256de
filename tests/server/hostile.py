"""Asks a server in this process what no honest client would, and judges the answers.

Each must come in time, and in the API's shape: nothing that a client sends may break the server.
"""

import asyncio

import msgspec

from setpoint.objects import yamltext
from setpoint.objects.clock import SystemClock
from setpoint.plane import ControlPlane
from setpoint.server.message import Frame, Request, Response

JSON, YAML = "application/json", "application/yaml"
# Not implemented, not available, not in time: meant as they are.
MEANT = (501, 503, 504)


class Hurried(SystemClock):
    """A clock with which nobody waits for long."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, 0.01))


class Briefly:
    """The far end of a stream that goes away after the first events."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def write(self, frame: Frame) -> bool:
        self.frames.append(frame.payload)
        return not self.closed

    async def drain(self) -> bool:
        return not self.closed

    @property
    def closed(self) -> bool:
        return len(self.frames) >= 5

    async def wait_closed(self) -> None:
        await asyncio.sleep(0)


def _wrong(request: Request, response: Response, body: bytes) -> str:
    """What is wrong with an answer; empty where it is as it should be."""
    if response.content_type.startswith(JSON):
        tree = msgspec.json.decode(body)
        is_status = type(tree) is dict and tree.get("kind") == "Status" and tree.get("status") == "Failure"
        if response.status >= 400 and not (is_status and tree["code"] == response.status and tree["message"]):
            return "an error that is no Status"
        if type(tree) is not dict or ("kind" not in tree and request.path.startswith("/api")):
            return "neither an object nor a Status"
    elif response.content_type == YAML:
        yamltext.load(body)
    return "a failure of the server" if response.status >= 500 and response.status not in MEANT else ""


async def answered(plane: ControlPlane, request: Request) -> Response:
    """The answer to a request, which must come in time and be as it should be. Of a stream only the beginning is read,
    and the answer has no body."""
    async with asyncio.timeout(10):
        response = await plane.handler(request)
        if isinstance(response.body, (bytes, list)):
            body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
            assert not (wrong := _wrong(request, response, body)), (wrong, request, body[:500])
            return response._replace(body=body)
        sink = Briefly()
        await response.body.run(sink)
        if response.content_type.startswith(JSON):
            for line in b"".join(sink.frames).splitlines():
                msgspec.json.decode(line)
    return response._replace(body=b"")
