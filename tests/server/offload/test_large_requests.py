"""No request keeps the event loop for long, whatever its size and whatever its schema and its rules ask for."""

from typing import Any

import pytest

from .loop import DEFINITIONS, MOST, THINGS, Loop, Tree, definition, thing

# Handles megabytes in every form.
pytestmark = pytest.mark.slow

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

WIDE = {"type": "object", "properties": {f"p{n}": {"type": "object", "maxProperties": n} for n in range(4000)}}
BRANCHES = {"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"maxProperties": 9}] * 4000}
PAIRS = {
    "type": "object",
    "properties": {"texts": {"type": "array", "items": {"type": "string", "maxLength": 64}, "maxItems": 300}},
    "x-kubernetes-validations": [{"rule": "self.texts.all(x, self.texts.exists_one(y, y == x))"}],
}
MAP = {"type": "object", "additionalProperties": {"type": "string"}}


@pytest.mark.parametrize(
    ("spec", "value", "status"),
    [
        pytest.param(WIDE, {f"p{n}": {} for n in range(4000)}, 201, id="4,000 properties"),
        pytest.param(BRANCHES, {"a": "x"}, 201, id="4,000 alternatives"),
        pytest.param(PAIRS, {"texts": [str(n) for n in range(300)]}, 201, id="a rule over all pairs"),
        pytest.param(PAIRS, {"texts": [str(n // 2) for n in range(300)]}, 422, id="a broken rule over all pairs"),
        pytest.param(MAP, {f"k{n}": "x" for n in range(40_000)}, 201, id="40,000 entries"),
        pytest.param(MAP, {f"k{n}": 1 for n in range(40_000)}, 422, id="40,000 wrong entries"),
    ],
)
async def test_the_loop_turns_while_a_large_request_is_handled(spec: Tree, value: Any, status: int) -> None:
    async with Loop() as loop:
        created = await loop.post(DEFINITIONS, definition(spec))
        assert created.status == 201, created.body
        loop.worst, before = 0.0, loop.offload
        response = await loop.post(THINGS, thing(value))
        assert response.status == status, response.body
        assert loop.offload > before
        assert loop.worst < MOST


async def test_the_loop_turns_while_a_large_definition_is_created() -> None:
    async with Loop() as loop:
        await loop.post(DEFINITIONS, definition(MAP, "others"))
        loop.worst = 0.0
        response = await loop.post(DEFINITIONS, definition(WIDE))
        assert response.status == 201, response.body
        assert loop.worst < MOST


async def test_the_loop_turns_while_a_policy_looks_at_all_pairs() -> None:
    rule = "object.spec.texts.all(x, object.spec.texts.exists_one(y, y == x))"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "pairs"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": ["ex.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
                ]
            },
            "validations": [{"expression": rule, "message": "no pairs"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "pairs"},
        "spec": {"policyName": "pairs", "validationActions": ["Deny"]},
    }
    texts = {"type": "object", "properties": {"texts": {"type": "array", "items": {"type": "string"}}}}
    async with Loop() as loop:
        await loop.post(DEFINITIONS, definition(texts))
        assert (await loop.post(POLICIES, policy)).status == 201
        assert (await loop.post(POLICIES.replace("policies", "policybindings"), binding)).status == 201
        loop.worst, before = 0.0, loop.offload
        right = await loop.post(THINGS, thing({"texts": [str(n) for n in range(200)]}))
        wrong = await loop.post(THINGS, thing({"texts": ["a", "a"] + [str(n) for n in range(200)]}, "two"))
        assert right.status == 201, right.body
        assert wrong.status == 422
        assert b"denied request: no pairs" in bytes(wrong.body)  # type: ignore[arg-type]
        assert loop.offload > before
        assert loop.worst < MOST


async def test_an_object_that_grows_by_its_defaults_is_handled_beside_the_loop() -> None:
    item = {"type": "object", "properties": {f"p{n}": {"type": "integer", "default": n} for n in range(10)}}
    async with Loop() as loop:
        await loop.post(DEFINITIONS, definition({"type": "array", "items": item}))
        loop.worst, before = 0.0, loop.offload
        assert (await loop.post(THINGS, thing([{} for _ in range(15_000)]))).status == 201
        assert loop.offload > before
        assert loop.worst < MOST
        before = loop.offload
        assert (await loop.post(THINGS, thing([{} for _ in range(10)], "small"))).status == 201
        assert loop.offload == before


async def test_small_objects_stay_in_the_loop() -> None:
    small = {
        "type": "object",
        "properties": {"size": {"type": "integer", "default": 1}},
        "x-kubernetes-validations": [{"rule": "self.size > 0"}],
    }
    async with Loop() as loop:
        await loop.post(DEFINITIONS, definition(small))
        before = loop.offload
        for number in range(60):  # more than it takes until all rules have one function
            assert (await loop.post(THINGS, thing({"size": 3}, f"n{number}"))).status == 201
            assert (await loop.post(THINGS, thing({"size": 0}, f"wrong{number}"))).status == 422
        assert loop.offload == before


async def test_an_object_that_takes_too_many_steps_is_refused() -> None:
    item = {"type": "object", "allOf": [{"maxProperties": 9}] * 200, "maxProperties": 9}
    async with Loop() as loop:
        await loop.post(DEFINITIONS, definition({"type": "array", "items": item}))
        assert (await loop.post(THINGS, thing([{} for _ in range(9_000)], "most"))).status == 201
        response = await loop.post(THINGS, thing([{} for _ in range(11_000)], "too-many"))
        assert response.status == 422
        assert b"takes more than 2,000,000 steps; shorten its lists and maps" in bytes(response.body)  # type: ignore[arg-type]
