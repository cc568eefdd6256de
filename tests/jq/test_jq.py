"""Expressions of jq have the results of jq, and unsupported parts are rejected with their place."""

from typing import Any

import pytest

from setpoint.jq.parser import compile_jq
from setpoint.jq.tokens import JqError

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web", "a.b/c": "x"}, "ownerReferences": [{"kind": "Job"}]},
    "spec": {"replicas": 3, "containers": [{"name": "a"}, {"name": "b"}]},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}],
    },
}


@pytest.mark.parametrize(
    ("text", "results"),
    [
        (".", [POD]),
        (".metadata.name", ["web"]),
        (".metadata.deletionTimestamp", [None]),
        ('.metadata.labels["a.b/c"]', ["x"]),
        ('.metadata.labels."a.b/c"', ["x"]),
        ('.metadata.annotations["x"]', [None]),
        ('.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]),
        ('.status.conditions[] | select(.status != "True").type', ["Initialized"]),
        (".metadata.ownerReferences.[].kind", ["Job"]),
        (".spec.containers[].name", ["a", "b"]),
        (".spec.containers[-1].name", ["b"]),
        (".spec.containers[0:1] | length", [1]),
        ("[.spec.containers[].name]", [["a", "b"]]),
        ('.spec.containers | map(.name) | join("-")', ["a-b"]),
        (".spec.replicas + 1, .spec.replicas * 2 - 1", [4, 5]),
        (".spec.replicas / 2, .spec.replicas % 2", [1.5, 1]),
        (".spec.missing // 7", [7]),
        ('.spec.replicas > 2 and .status.phase == "Running"', [True]),
        ("false or (null | not)", [True]),
        ('if .spec.replicas > 5 then "many" elif .spec.replicas > 2 then "some" else "few" end', ["some"]),
        (".spec.replicas as $n | [.spec.containers[] | $n]", [[3, 3]]),
        ("{name: .metadata.name, phase: .status.phase} | .phase", ["Running"]),
        (".metadata | {name}", [{"name": "web"}]),
        ('any(.spec.containers[]; .name == "b"), all(.spec.containers[]; .name == "b")', [True, False]),
        (".metadata.labels | keys", [["a.b/c", "app"]]),
        ('.metadata.labels | has("app")', [True]),
        ('.metadata.name | test("^w.b$"), startswith("w"), endswith("x")', [True, True, False]),
        ("[.. | strings? // empty] | length", None),
        ("[.spec.containers[] | .name, 1]", [["a", 1, "b", 1]]),
        (".metadata.name[]?", []),
        (".metadata.name | tostring, ascii_upcase", ["web", "WEB"]),
        ("[3, 1, 2, 1] | sort, unique, min, max, add", [[1, 1, 2, 3], [1, 2, 3], 1, 3, 7]),
        ('"12" | tonumber', [12]),
        ("[1, [2]] | flatten, reverse", [[1, 2], [[2], 1]]),
        (".metadata.labels | to_entries | map(.value)", [["x", "web"]]),
        ('{a: 1} | with_entries(select(.key == "a")) | contains({a: 1})', [True]),
        ("first(.spec.containers[].name)", ["a"]),
        ("-1 | -. ", [1]),
        ('[1, null, "a", true] | sort', [[None, True, 1, "a"]]),
    ],
)
def test_an_expression_has_these_results(text: str, results: list[Any] | None) -> None:
    if results is None:
        with pytest.raises(JqError, match="unknown function strings/0"):
            compile_jq(text)
    else:
        assert compile_jq(text).values(POD) == results


@pytest.mark.parametrize(
    "text",
    [".metadata.name.x", ".spec.replicas[]", '"a" + 1', ".spec | .[0]", "1 / 0", '"x" | tonumber', '[..] | .[0:"a"]'],
)
def test_a_failed_evaluation_has_no_results(text: str) -> None:
    assert compile_jq(text).values(POD) is None


def test_the_work_of_an_expression_is_bounded() -> None:
    numbers = list(range(1000))
    assert compile_jq("[.[] as $a | .[] | . + $a] | length").values(numbers) is None
    assert compile_jq("[.[] + .[]] | length").values(numbers[:100]) == [10_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of the expression (column 1)"),
        (".a |", "unexpected end of the expression (column 5)"),
        ("frobnicate", "unknown function frobnicate/0"),
        ("def f: 1; f", "def of jq is not supported here (column 1)"),
        (".a = 1", "unexpected character '='"),
        ("$x", "$x is not defined (column 1)"),
        ('"a\\(1)"', "interpolation in texts is not supported"),
        (".a[", "unexpected end of the expression (column 4)"),
        ("(" * 60 + "1" + ")" * 60, "more than 50 expressions in each other"),
        ("{1: 2}", "unexpected 1; expected a key"),
        (".a b", "unexpected b (column 4)"),
    ],
)
def test_an_invalid_expression_is_rejected_with_its_place(text: str, message: str) -> None:
    with pytest.raises(JqError) as caught:
        compile_jq(text)
    assert message in str(caught.value)
