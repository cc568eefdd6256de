"""How a scripted engine answers the requests of the real client."""

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.workload.engine.scripted.containers import ContainerAnswers
from tests.workload.engine.scripted.streams import AttachedStream, ExecStream, Pieces, encoded
from tests.workload.engine.scripted.things import ThingAnswers

from setpoint.client.http.endpoint import Endpoint
from setpoint.client.transport import Answer, Stream, TransportError
from setpoint.workload.engine.errors import EngineLost, error_from
from setpoint.workload.engine.wire import USUAL_SECONDS, ByteStream, Query, Wire

if TYPE_CHECKING:
    from tests.workload.engine.scripted.engine import ScriptedEngine

_ROUTES = (
    ("POST", r"/containers/create", "containers.create"),
    ("GET", r"/containers/json", "containers.list"),
    ("GET", r"/containers/(?P<name>[^/]+)/json", "containers.inspect"),
    ("DELETE", r"/containers/(?P<name>[^/]+)", "containers.remove"),
    ("GET", r"/containers/(?P<name>[^/]+)/archive", "containers.get_archive"),
    ("PUT", r"/containers/(?P<name>[^/]+)/archive", "containers.put_archive"),
    ("GET", r"/containers/(?P<name>[^/]+)/logs", "containers.logs"),
    ("GET", r"/containers/(?P<name>[^/]+)/stats", "containers.stats"),
    ("POST", r"/containers/(?P<name>[^/]+)/exec", "containers.exec"),
    ("POST", r"/containers/(?P<name>[^/]+)/(?P<verb>[a-z]+)", "containers.{verb}"),
    ("POST", r"/exec/(?P<name>[^/]+)/start", "exec.start"),
    ("POST", r"/exec/(?P<name>[^/]+)/resize", "exec.resize"),
    ("GET", r"/exec/(?P<name>[^/]+)/json", "exec.inspect"),
    ("POST", r"/images/create", "images.pull"),
    ("GET", r"/images/(?P<name>.+)/json", "images.inspect"),
    ("POST", r"/images/(?P<name>.+)/tag", "images.tag"),
    ("DELETE", r"/images/(?P<name>.+)", "images.remove"),
    ("POST", r"/build", "images.build"),
    ("POST", r"/networks/create", "networks.create"),
    ("GET", r"/networks", "networks.list"),
    ("POST", r"/networks/(?P<name>[^/]+)/(?P<verb>connect|disconnect)", "networks.{verb}"),
    ("GET", r"/networks/(?P<name>[^/]+)", "networks.inspect"),
    ("DELETE", r"/networks/(?P<name>[^/]+)", "networks.remove"),
    ("POST", r"/volumes/create", "volumes.create"),
    ("GET", r"/volumes", "volumes.list"),
    ("GET", r"/volumes/(?P<name>[^/]+)", "volumes.inspect"),
    ("DELETE", r"/volumes/(?P<name>[^/]+)", "volumes.remove"),
    ("GET", r"/events", "events"),
    ("GET", r"/_ping", "ping"),
    ("GET", r"/version", "ping"),
    ("GET", r"/info", "info"),
)
_COMPILED = tuple((method, re.compile(f"{pattern}$"), name) for method, pattern, name in _ROUTES)


class ScriptedWire(Wire):
    """The way to a scripted engine."""

    def __init__(self, engine: "ScriptedEngine") -> None:
        self.endpoint = Endpoint("localhost", 80, unix="/scripted")
        self.prefix = ""
        self.engine = "docker"
        self._engine = engine
        self._containers = ContainerAnswers(engine)
        self._things = ThingAnswers(engine, self._containers.container)
        self._answers = {**self._containers.known, **self._things.known}

    async def close(self) -> None:
        pass

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = USUAL_SECONDS,
    ) -> Answer:
        operation, name = _operation(method, path)
        await self._engine.meet(operation, name or str((query or {}).get("name") or _named(body)))
        answer = self._answers.get(operation)
        if answer is None:
            raise error_from(501, f"the scripted engine does not do {operation}")
        return _answer(answer(name, query or {}, body))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        pieces: AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = USUAL_SECONDS,
    ) -> AsyncIterator[Stream]:
        operation, name = _operation(method, path)
        query = query or {}
        about = name or str(query.get("fromImage") or query.get("t") or "")
        await self._engine.meet(operation, about)
        async for _ in _all(pieces):
            pass
        try:
            if operation == "events":
                since = query.get("since")
                async with self._engine.followed(None if since is None else int(str(since))) as events:
                    yield Pieces(encoded(events))
            elif operation == "containers.logs":
                found = self._containers.container(name)
                wanted = {key: bool(query.get(key)) for key in ("follow", "timestamps")}
                yield Pieces(self._containers.logs(found, **wanted))
            elif operation == "containers.wait":
                yield Pieces(encoded(self._containers.wait(self._containers.container(name))))
            elif operation == "images.pull":
                yield Pieces(encoded(self._things.pull(f"{query['fromImage']}:{query['tag']}")))
            elif operation == "images.build":
                yield Pieces(encoded(self._things.build(query)))
            else:
                raise error_from(501, f"the scripted engine does not do {operation}")
        except TransportError as error:
            raise EngineLost(str(error)) from None

    @asynccontextmanager
    async def hijack(self, path: str, query: Query | None = None, *, body: object = None) -> AsyncIterator[ByteStream]:
        operation, name = _operation("POST", path)
        await self._engine.meet(operation, name)
        if operation == "exec.start":
            yield ExecStream(self._engine, self._engine.execs[name])
            return
        container = self._containers.container(name)
        yield AttachedStream(self._containers.logs(container, follow=True, past=False), container)


def _operation(method: str, path: str) -> tuple[str, str]:
    for expected, pattern, operation in _COMPILED:
        found = pattern.match(path) if method == expected else None
        if found is not None:
            parts = found.groupdict()
            return operation.format(verb=parts.get("verb", "")), unquote(parts.get("name") or "")
    raise error_from(501, f"the scripted engine does not know {method} {path}")


def _named(body: object) -> str:
    return str(body.get("Name") or "") if isinstance(body, dict) else ""


def _answer(said: object) -> Answer:
    return Answer(204) if said is None else Answer(200, {}, json.dumps(said).encode())


async def _all(pieces: AsyncIterable[bytes] | None) -> AsyncIterator[bytes]:
    if pieces is not None:
        async for piece in pieces:
            yield piece
