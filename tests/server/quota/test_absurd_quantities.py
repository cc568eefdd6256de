"""Amounts that nobody has: each is refused by its name or handled, and none costs more than its text."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.read.reader import Reader, reading

from setpoint.objects.quantity import Quantity

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

ABSURD: list[Any] = [
    "1e999999",
    "1e1000000000",
    "-1e1000000000",
    "1e-1000000000",
    "1e99999999999999999999",
    "9223372036854775808",
    "-9223372036854775809",
    "1" * 1900,
    "1" * 3000,
    "0." + "0" * 1900 + "1",
    "9" * 1999 + "E",
    "9" * 1999 + "e1000",
    "1e1000",
    "1e1001",
    "",
    "NaN",
    "Infinity",
    "-",
    ".",
    "e",
    "0e1000000000",
    "0." + "0" * 30 + "e1000000000",
    "-1",
    1e308,
    10**25,
    -0.0,
    None,
    True,
    [],
    {},
]

DEFAULT = "/api/v1/namespaces/default"


def pod(amount: Any, **more: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": amount, "memory": amount, "example.com/gpu": amount, "hugepages-2Mi": amount}}
    container = {"name": "c", "image": "i", "resources": {**resources, "limits": resources["requests"]}}
    divisor = {"resourceFieldRef": {"resource": "limits.cpu", "divisor": amount}}
    small = {"name": "d", "image": "i", "resources": {"requests": {"cpu": "1m", "memory": "1"}}}
    return {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{**container, "env": [{"name": "E", "valueFrom": divisor}]}, small],
            "volumes": [{"name": "v", "emptyDir": {"sizeLimit": amount}}],
            **more,
        },
    }


def bodies(amount: Any) -> list[tuple[str, dict[str, Any]]]:
    """Everything that has an amount in it, and where it is posted."""
    named = {"metadata": {"name": "x"}}
    limits = {each: {"cpu": amount, "memory": amount} for each in ("max", "min", "default", "defaultRequest")}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": amount}}}
    target = {"type": "AverageValue", "averageValue": amount}
    metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": target}}
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return [
        (f"{DEFAULT}/resourcequotas", {**named, "spec": {"hard": {"pods": amount, "requests.cpu": amount}}}),
        (f"{DEFAULT}/limitranges", {**named, "spec": {"limits": [{"type": "Container", **limits}]}}),
        (
            f"{DEFAULT}/limitranges",
            {
                "metadata": {"name": "y"},
                "spec": {"limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": amount}}]},
            },
        ),
        (f"{DEFAULT}/pods", pod(amount)),
        (f"{DEFAULT}/pods", {**pod(amount, overhead={"cpu": amount}), "metadata": {"name": "q"}}),
        (f"{DEFAULT}/persistentvolumeclaims", {**named, "spec": claim}),
        (
            "/api/v1/persistentvolumes",
            {
                **named,
                "spec": {
                    "capacity": {"storage": amount},
                    "accessModes": ["ReadWriteOnce"],
                    "hostPath": {"path": "/a"},
                },
            },
        ),
        ("/api/v1/nodes", {**named, "status": {"capacity": {"cpu": amount, "memory": amount}}}),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {**named, "spec": {"maxReplicas": 2, "scaleTargetRef": scaled, "metrics": [metric]}},
        ),
        (
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
            {
                "metadata": {
                    "name": "y",
                    "annotations": {"autoscaling.alpha.kubernetes.io/metrics": json.dumps([metric])},
                },
                "spec": {"maxReplicas": 2, "scaleTargetRef": scaled},
            },
        ),
        (
            "/apis/node.k8s.io/v1/runtimeclasses",
            {**named, "handler": "h", "overhead": {"podFixed": {"cpu": amount, "memory": amount}}},
        ),
        (
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
            {**named, "storageClassName": "s", "capacity": amount},
        ),
    ]


async def posted(reader: Reader, amount: Any) -> list[tuple[str, int, str]]:
    found = []
    for path, body in bodies(amount):
        response = await reader.ask("POST", path, body)
        assert isinstance(response.body, bytes)
        found.append((path, response.status, response.body.decode()))
        # What was taken is read, as a table too, and counted by those who count.
        if response.status == 201:
            name = body["metadata"]["name"]
            for accept in ("application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"):
                read = await reader.ask("GET", f"{path}/{name}", headers={"accept": accept})
                assert read.status == 200, (path, amount, read.body)
    return found


@pytest.mark.parametrize("amount", ABSURD, ids=lambda each: repr(each)[:24])
@pytest.mark.parametrize("counted", [False, True])
async def test_no_amount_makes_the_server_fail(amount: Any, counted: bool) -> None:
    async with reading() as reader:
        if counted:
            quota = {"requests.cpu": "10", "limits.memory": "1e900", "pods": "5", "requests.storage": "1Gi"}
            body = {"metadata": {"name": "books"}, "spec": {"hard": quota}}
            assert (await reader.ask("POST", f"{DEFAULT}/resourcequotas", body)).status == 201
        for path, status, text in await posted(reader, amount):
            assert status < 500, (path, text)


async def test_an_amount_that_cannot_be_computed_with_is_refused_with_the_remedy() -> None:
    async with reading() as reader:
        for path, status, text in await posted(reader, "1e999999"):
            if "autoscaling/v1" not in path:
                assert status == 400, (path, text)
                assert "1e1000" in json.loads(text)["message"]


@pytest.mark.parametrize("tail", ["!", ".0!", "e0!", "E!", "Ki!", "+-", "e+", ""])
def test_a_text_is_read_in_one_pass(tail: str) -> None:
    # With backtracking one of these takes seconds, and the loop of all users would stand still.
    for head in ("0", "1", "0.", ".0", "0e0"):
        began = time.thread_time()
        with suppress(ValueError):
            Quantity.parse(head * 1000 + tail)
        assert time.thread_time() - began < 0.5


_NUMBERS = st.from_regex(
    r"[+-]?[0-9]{0,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,4}|[numkMGTPE]|[KMGTPE]i)?", fullmatch=True
)


@settings(max_examples=300, deadline=None)
@given(_NUMBERS, _NUMBERS)
def test_computing_with_what_is_computable_never_fails(one: str, other: str) -> None:
    try:
        first, second = Quantity.parse(one), Quantity.parse(other)
    except ValueError:
        return
    if first.is_computable and second.is_computable:
        for found in (first + second, first - second, second - first):
            assert str(found)
            assert found.value(-3) is not None
        assert (first + second) - second == first
