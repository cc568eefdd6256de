"""Requests that schemathesis makes from our own OpenAPI documents: what these promise holds, and nothing breaks.

Half of the requests keep to the documents, half do not. Most are for things that exist, and their bodies are mostly of
the right kind, lest nearly all of them end at the first check. What is answered must be what the document says.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.transport import Response as Answer
from schemathesis.specs.openapi.checks import response_schema_conformance
from tests.server.hostile import Hurried, answered

from setpoint.objects.ids import SeededIds
from setpoint.plane import ControlPlane
from setpoint.server.message import Request

pytestmark = pytest.mark.slow

# To make something from a document takes as long as its schemas are large. `--long` takes all, in as many parts.
QUICK = (
    "api/v1",
    "apis/coordination.k8s.io/v1",
    "apis/rbac.authorization.k8s.io/v1",
)
SLOW = {"Pod", "PodTemplate", "ReplicationController", "Node", "PersistentVolume"}
OPERATIONS, EXAMPLES = 8, 5
MANY = 100
EXISTING = {"namespace": "default", "name": "kubernetes"}


def cases(operation: Any, mode: GenerationMode, seed_of_all: int, count: int) -> list[Any]:
    """What schemathesis makes of an operation."""
    found: list[Any] = []

    @seed(seed_of_all)
    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(operation.as_strategy(generation_mode=mode))
    def collect(case: Any) -> None:
        found.append(case)

    with suppress(Unsatisfiable):  # there is no wrong way to ask for some things
        collect()
    return found


def kind_of(operation: Any) -> dict[str, str]:
    kind: dict[str, str] = operation.definition.raw.get("x-kubernetes-group-version-kind") or dict.fromkeys(
        ("group", "version", "kind"), ""
    )
    return kind


def focused(case: Any, operation: Any, random: Random) -> Any:
    """The case, most times with the path of something that exists and a body that names its kind."""
    if random.random() < 0.8:
        case.path_parameters = {name: EXISTING.get(name, "a") for name in case.path_parameters or {}}
    if isinstance(case.body, dict) and random.random() < 0.8:
        group, version, kind = (kind_of(operation)[name] for name in ("group", "version", "kind"))
        metadata = case.body.get("metadata")
        named = {**metadata, "name": "a"} if isinstance(metadata, dict) else {"name": "a"}
        case.body |= {"apiVersion": f"{group}/{version}".lstrip("/"), "kind": kind, "metadata": named}
    return case


def prepared(case: Any) -> requests.PreparedRequest:
    return requests.Request(**case.as_transport_kwargs(base_url="http://server")).prepare()


def as_request(sent: requests.PreparedRequest) -> Request:
    """The request that a client would send, as the server sees it."""
    url = urlsplit(sent.url or "")
    body = sent.body.encode() if isinstance(sent.body, str) else sent.body or b""
    assert isinstance(body, bytes)
    headers = {name.lower(): str(value) for name, value in sent.headers.items()}
    headers.pop("accept-encoding", None)
    return Request(sent.method or "", url.path, url.query, headers, body)


async def judge(plane: ControlPlane, case: Any) -> None:
    sent = prepared(case)
    response = await answered(plane, as_request(sent))
    if response.status < 300 and response.content_type == "application/json" and response.body:
        assert isinstance(response.body, bytes)
        if sent.method == "DELETE" and json.loads(response.body)["kind"] != "Status":
            return  # an object that others hold is answered whole while it waits, whatever the document says
        answer = Answer(response.status, {"content-type": [response.content_type]}, response.body, sent, 0.0, False)
        case.validate_response(answer, checks=[response_schema_conformance])


def with_nulls(document: Any) -> Any:
    """The document with what it does not say, though every Kubernetes does it: null stands for an empty list, and for a
    time that is not known."""
    if isinstance(document, list):
        return [with_nulls(item) for item in document]
    if not isinstance(document, dict):
        return document
    # A body of any type is sent as JSON.
    found = {"application/json" if key == "*/*" else key: with_nulls(value) for key, value in document.items()}
    if found.get("type") == "array" or found.get("format") == "date-time":
        found["nullable"] = True
    return found


async def read(plane: ControlPlane, path: str) -> Any:
    response = await plane.handler(Request("GET", path))
    assert isinstance(response.body, bytes)
    return json.loads(response.body)


async def operations(plane: ControlPlane, part: int, random: Random, long: bool) -> AsyncIterator[Any]:
    """What requests are made for: all that there is, or a few things for which that takes little time."""
    # The documents of the issuer state a string, as those of every Kubernetes do; the answers are objects.
    known = [path for path in (await read(plane, "/openapi/v3"))["paths"] if "openid" not in path]
    paths = sorted(known)[part :: len(QUICK)] if long else [QUICK[part]]
    for path in paths:
        schema: Any = schemathesis.openapi.from_dict(with_nulls(await read(plane, f"/openapi/v3/{path}")))
        found = [result.ok() for result in schema.get_all_operations()]
        if not long:
            found = random.sample(
                [operation for operation in found if kind_of(operation)["kind"] not in SLOW], OPERATIONS
            )
        for operation in found:
            yield operation


def _at_work() -> list[str]:
    """What runs in this loop, but for the store's own upkeep, which begins with the first object that expires."""
    found = [repr(task.get_coro()) for task in asyncio.all_tasks()]
    return [coroutine for coroutine in found if "Upkeep" not in coroutine]


@pytest.mark.timeout(0)  # every request has its own
@pytest.mark.parametrize("part", range(len(QUICK)))
async def test_what_is_made_from_our_documents_is_answered_as_they_say_and_breaks_nothing(
    part: int, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    long = request.config.getoption("--long")
    random = Random(part)
    async with ControlPlane(clock=Hurried(), ids=SeededIds(part), system=False) as plane:
        async for operation in operations(plane, part, random, long):
            for mode in GenerationMode:
                for case in cases(operation, mode, random.getrandbits(32), MANY if long else EXAMPLES):
                    await judge(plane, focused(case, operation, random))
        async with asyncio.timeout(10):  # or a request has left something running
            while len(_at_work()) > 1:
                await asyncio.sleep(0.01)
    assert not caplog.records
