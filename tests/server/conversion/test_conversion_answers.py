"""Converters that give back what they must not: told in the real server's words, and nothing comes of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.conversion.widgets import (
    FUNCTION,
    V1,
    WEBHOOK,
    at,
    convert,
    created,
    new_widgets,
    reviewing,
    widget,
)
from tests.server.outbound.peer import Answer as Behaviour
from tests.server.outbound.peer import Asked, response
from tests.server.read.reader import TABLE

from setpoint.merge import mergepatch
from setpoint.objects.tree import Json, Object

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "answers.yaml").read_text())


def _merged(tree: Json, change: Json) -> Json:
    return mergepatch.apply(tree, change or {}, strict=False)


def _lying(case: Object, *, version: str = "v1") -> Behaviour:
    """A webhook that does everything right but for what the case says."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        review = json.loads(asked.body)
        request = review["request"]
        objects = [
            _merged(convert(tree, tree["apiVersion"], request["desiredAPIVersion"]), case.get("object"))
            for tree in request["objects"]
        ]
        told = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
        body = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": told}
        body = _merged(_merged(body, {"response": case.get("response") or {}}), case.get("review"))
        raw = case.get("raw")
        writer.write(response(json.dumps(body).encode() if raw is None else raw.encode()))

    return answer


@pytest.mark.parametrize(
    ("by", "case"),
    [
        pytest.param(by, case, id=f"{case['name']} {by}")
        for case in CASES
        for by in (WEBHOOK, FUNCTION)
        if by == WEBHOOK or "object" in case
    ],
)
async def test_a_wrong_answer_is_an_error_that_says_why(by: str, case: Object) -> None:
    def lying(tree: Object, from_version: str, to_version: str) -> Any:
        return _merged(convert(tree, from_version, to_version), case["object"])

    async with new_widgets(by, function=lying, behaviour=_lying(case)) as widgets:
        body = (await created(widgets, "v2", replicas=3)).body
        revision = body["metadata"]["resourceVersion"]
        for _ in range(2):
            answer = await widgets("GET", at("v1", "w"))
            assert answer.status == 500
            assert "reason" not in answer.body
            said = case["said"].replace("{uid}", body["metadata"]["uid"])
            if by == WEBHOOK:
                said = said.replace("{request}", widgets.calls[-1]["uid"])
            assert answer.body["message"] == f"conversion {by} for example.com/v2, Kind=Widget {said}"
        listed = await widgets("GET", at("v1"))
        assert (listed.status, listed.body["kind"]) == (500, "Status")
        refused = await widgets("POST", at("v1"), widget("v1", "new", size=1))
        assert refused.status == 500
        assert await widgets.store.get("/example.com/widgets/default/new") is None
        assert (await widgets("GET", at("v2", "w"))).version == revision


async def test_an_older_review_is_spoken_where_that_is_all_a_webhook_knows() -> None:
    # Of which neither the kind nor the uid is looked at.
    case = {"response": {"uid": "x"}, "review": {"kind": None, "apiVersion": None}}
    async with new_widgets(
        behaviour=_lying(case), webhook={"conversionReviewVersions": ["v0", "v1beta1", "v1"]}
    ) as widgets:
        await created(widgets, "v1", size=2)
        assert widgets.peer is not None
        assert {json.loads(asked.body)["apiVersion"] for asked in widgets.peer.asked} == {
            "apiextensions.k8s.io/v1beta1"
        }


async def test_many_wrong_objects_are_told_apart_by_their_place() -> None:
    def second_wrong(tree: Object, from_version: str, to_version: str) -> Object:
        made = convert(tree, from_version, to_version)
        return _merged(made, {"metadata": {"name": "x"}}) if tree["metadata"]["name"] == "b" else made

    async with new_widgets(behaviour=reviewing(second_wrong)) as widgets:
        for name in ("a", "b", "c"):
            await created(widgets, "v2", name, replicas=1)
        answer = await widgets("GET", at("v1"))
        assert answer.status == 500
        assert answer.body["message"] == (
            "conversion webhook for example.com/v2, Kind=Widget returned invalid converted object at index 1: "
            "must have the same name: b != x"
        )
        assert (await widgets("GET", at("v1", "c"))).status == 200, "a wrong neighbour does not hide what is right"


@pytest.mark.parametrize("by", [WEBHOOK, FUNCTION])
async def test_a_converter_that_refuses_is_quoted(by: str) -> None:
    def refusing(tree: Object, from_version: str, to_version: str) -> Object:
        raise ValueError("out of paint")

    async with new_widgets(by, function=refusing) as widgets:
        await created(widgets, "v2", replicas=3)
        answer = await widgets("GET", at("v1", "w"))
        assert answer.status == 500
        wanted = f"conversion {by} for example.com/v2, Kind=Widget failed: ValueError: out of paint"
        assert answer.body["message"] == wanted


@pytest.mark.parametrize("given", [None, "text", [1], {1: 2}, {"kind": object()}])
async def test_a_function_that_gives_no_object_is_told_so(given: Any) -> None:
    async with new_widgets(FUNCTION, function=lambda *_: given) as widgets:
        await created(widgets, "v2", replicas=3)
        answer = await widgets("GET", at("v1", "w"))
        assert answer.status == 500
        assert answer.body["message"].startswith("conversion function for example.com/v2, Kind=Widget ")


async def test_a_function_that_has_to_be_waited_for_is_refused_at_the_start() -> None:
    async def later(tree: Object, from_version: str, to_version: str) -> Object:
        return tree

    with pytest.raises(TypeError, match=r"the conversion of widgets\.example\.com must be a plain function"):
        async with new_widgets(FUNCTION, function=later):  # type: ignore[arg-type]
            await asyncio.sleep(0)


@pytest.mark.parametrize("by", [WEBHOOK, FUNCTION])
@pytest.mark.parametrize("spec", ["text", [1], 5, {"size": "x", "colour": {"a": 1}}, {"unknown": 1}])
async def test_what_does_not_fit_the_schema_is_shown_without_what_it_does_not_know(by: str, spec: Json) -> None:
    given = json.dumps(spec)

    def odd(tree: Object, from_version: str, to_version: str) -> Object:
        whole = {**tree, "spec": {}} if type(tree.get("spec")) is not dict else tree
        made = convert(whole, from_version, to_version)
        return {**made, "spec": spec} if to_version == V1 else made

    async with new_widgets(by, function=odd) as widgets:
        await created(widgets, "v2", replicas=1)
        answer = await widgets("GET", at("v1", "w"))
        shown = {"size": "x", "colour": {}} if "colour" in given else {} if "unknown" in given else spec
        assert (answer.status, answer.body["spec"]) == (200, shown)
        assert (await widgets.get(at("v1"), accept=TABLE))["kind"] == "Table"
        assert (await widgets("GET", at("v1", "w", "scale"))).status == 422
        assert (await widgets("DELETE", at("v1", "w"))).status == 200
        assert json.dumps(spec) == given, "what a function gives stays its own"
