"""A server in this process with all its plain paths, and what tests ask of it."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.server.publish.nonresource.health import Check
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.server_options import Serving
from setpoint.store.memory import MemoryStore

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Tree = dict[str, Any]


class Asking:
    """A client of the server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def ask(self, path: str, *, method: str = "GET", body: Any = None, **headers: str) -> Response:
        path, _, query = path.partition("?")
        sent = json.dumps(body).encode() if body is not None else b""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.server(Request(method, path, query, named, sent))

    async def get(self, path: str, **headers: str) -> Any:
        """The JSON at a path."""
        response = await self.ask(path, **headers)
        assert response.status == 200, response.body
        assert isinstance(response.body, bytes)
        return json.loads(response.body)

    async def text(self, path: str) -> tuple[int, str]:
        """The status and the text at a path."""
        response = await self.ask(path)
        assert isinstance(response.body, bytes)
        return response.status, response.body.decode()

    async def define(self, **changes: Any) -> None:
        """Makes a definition served."""
        response = await self.ask(DEFINITIONS, method="POST", body=definition(**changes))
        assert response.status == 201, response.body


@asynccontextmanager
async def asking(readiness: Sequence[Check] = (), *, aggregated_discovery: bool = True) -> AsyncIterator[Asking]:
    metrics = Metrics()
    server = Server(
        MemoryStore(),
        clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)),
        ids=SeededIds(1),
        serving=Serving(pages=standard(metrics, readiness, aggregated_discovery=aggregated_discovery)),
        observer=metrics,
    )
    await server.start()
    try:
        yield Asking(server)
    finally:
        server.close()


def header(response: Response, name: str) -> str:
    """The value of a header that is there once."""
    (found,) = (value for key, value in response.headers if key == name)
    return found


def definition(
    plural: str = "widgets",
    group: str = "ex.com",
    versions: Sequence[str] = ("v1",),
    schema: Tree | None = None,
    names: Tree | None = None,
    subresources: Tree | None = None,
    annotations: Tree | None = None,
) -> Tree:
    """A CustomResourceDefinition. The first of the versions is stored."""
    kind = plural.removesuffix("s").capitalize()
    shape = {"openAPIV3Schema": schema or {"type": "object", "properties": {"spec": {"type": "object"}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations or {}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
            | (names or {}),
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == versions[0],
                    "schema": shape,
                    "subresources": subresources or {},
                }
                for name in versions
            ],
        },
    }
