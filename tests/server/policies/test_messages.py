"""Messages in expressions: what compiles, held against the real server's compiler, and what comes of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.messages import JSON_PATCHES, OBJECT, misplaced, plain
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.values import CostExceeded, EvaluationError
from setpoint.schema.cel.views import untyped
from setpoint.server.registry.kinds.admissionregistration.expressions import compiled, environment

_RECORDED = yaml.safe_load((Path(__file__).parent / "cases" / "messages.yaml").read_text())
_WANTED = {"Object": [OBJECT], "list(JSONPatch)": [JSON_PATCHES]}
_KNOWN = environment(params=True, messages=True)


def _value(expression: str, tree: Json = None) -> Any:
    program = Program(expression, _KNOWN)
    return program.exact(program.start({"object": untyped(tree)}))


@pytest.mark.parametrize("case", _RECORDED, ids=lambda case: case["expression"])
def test_messages_compile_as_on_the_real_server(case: Object) -> None:
    program, problem = compiled(case["expression"], _KNOWN, _WANTED.get(case.get("must_be", ""), ()))
    assert problem == case.get("error", "")
    assert (program and str(program.type)) == case.get("type")


@pytest.mark.parametrize(
    ("expression", "json"),
    [
        ('Object{a: 1, b: 2.5, c: "x", d: true, e: null}', {"a": 1, "b": 2.5, "c": "x", "d": True, "e": None}),
        ("Object{a: Object.a{b: [Object.a.b{c: 1u}]}}", {"a": {"b": [{"c": 1}]}}),
        ('Object{a: {"k": object.spec}, l: object.spec.list}', {"a": {"k": {"list": [1, {}]}}, "l": [1, {}]}),
        ("Object{?a: object.?spec, ?b: object.?none}", {"a": {"list": [1, {}]}}),
        ('Object{a: duration("90s"), b: timestamp("2020-01-01T00:00:00Z")}', {"a": "90s", "b": "2020-01-01T00:00:00Z"}),
        ('[JSONPatch{op: "add", path: "/a", value: [1]}]', [{"op": "add", "path": "/a", "value": [1]}]),
        ("Object{a: 3.0, b: b'xyz'}", {"a": 3, "b": "eHl6"}),
    ],
)
def test_what_an_expression_made_is_json(expression: str, json: Json) -> None:
    assert plain(_value(expression, {"spec": {"list": [1, {}]}})) == json


@pytest.mark.parametrize("expression", ["Object{a: {1: 2}}", "Object{a: int}", "Object{a: 1.0 / 0.0}"])
def test_what_json_does_not_have_is_an_error(expression: str) -> None:
    with pytest.raises(EvaluationError):
        plain(_value(expression))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("Object{a: 1} == Object{a: 1}", True),
        ("Object{a: 1} == Object{a: 2}", False),
        ("Object{a: 1} == Object{a: 1, b: 1}", False),
        ("dyn(Object{}) == dyn(Object.a{})", False),
        ("Object{a: 1}.a", 1),
        ("has(Object{a: 1}.a) && !has(Object{a: 1}.b)", True),
        ('JSONPatch{op: "add"}.op', "add"),
        ("type(Object{}) == Object", True),
        ('jsonpatch.escapeKey("a/b~c")', "a~1b~0c"),
    ],
)
def test_messages_are_values_like_others(expression: str, value: Json) -> None:
    assert _value(expression) == value


def test_the_parts_of_an_object_name_their_place_in_lists_and_maps_too() -> None:
    assert misplaced(_value('Object{a: [Object.a{b: {"k": Object.a.b{}}}]}')) == []
    expected = (
        'unexpected type name "Object.b", expected "Object.a", which matches field name path from root Object type'
    )
    assert misplaced(_value("Object{a: [Object.b{}]}")) == [expected]
    assert misplaced(_value('Object{a: {"k": Object.b{}}}')) == [expected]


def test_making_a_message_costs_what_it_costs_on_the_real_server() -> None:
    program = Program('Object{a: object.x, b: jsonpatch.escapeKey("0123456789a")}', _KNOWN)
    state = program.start({"object": untyped({"x": 1})})
    program.exact(state)
    # The message 40, the variable and its field 2, the eleven characters 2.
    assert state.cost == 44


def test_a_value_that_holds_itself_too_often_is_not_written_out() -> None:
    expression = "Object{x: [1,2,3,4,5,6,7,8,9,10]}"
    for _ in range(8):
        expression = f"[{expression}].map(o, Object{{x: [o,o,o,o,o,o,o,o,o,o]}})[0]"
    with pytest.raises(CostExceeded):
        plain(_value(expression))
