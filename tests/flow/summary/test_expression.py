"""The expression language of summary rules, operator by operator."""

import pytest

from setpoint.flow.summary.expression import ExpressionError, compile_test, compile_text
from setpoint.objects.tree import Object

TREE: Object = {
    "spec": {"replicas": 3, "paused": True, "off": False, "name": "web", "none": None, "ratio": 0.5, "empty": {}},
    "status": {
        "ready": 1,
        "one": True,
        "text": "7",
        "ports": [{"port": 80}, {"port": 443}],
        "list": [1, "two", True, None, {"x": 1}, [2]],
    },
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec.replicas == 3", True),
        ("spec.replicas == 4", False),
        ("spec.replicas != 3", False),
        ("spec.replicas != 4", True),
        ("spec.replicas < 3", False),
        ("spec.replicas < 4", True),
        ("spec.replicas <= 3", True),
        ("spec.replicas <= 2", False),
        ("spec.replicas > 3", False),
        ("spec.replicas > 2", True),
        ("spec.replicas >= 3", True),
        ("spec.replicas >= 4", False),
        ("spec.ratio < 1", True),
        ("  spec.replicas == 3  ", True),
        # Sums and differences.
        ("spec.replicas + 1 == 4", True),
        ("spec.replicas - 1 == 2", True),
        ("spec.replicas - 1 == 1", False),
        ("spec.replicas - status.ready == 2", True),
        ("spec.replicas - status.ready + 5 == 7", True),
        ("10 - spec.replicas - 1 == 6", True),
        ("spec.replicas + spec.missing == 3", False),
        ("spec.replicas + spec.name == 3", False),
        ("spec.replicas + spec.paused == 4", False),
        # Defaults.
        ("spec.missing|5 == 5", True),
        ("spec.missing|spec.replicas == 3", True),
        ("spec.missing|spec.none|7 == 7", True),
        ("spec.replicas|5 == 5", False),
        ("spec.missing == 5", False),
        ("spec.missing != 5", True),
        ("spec.missing < 5", False),
        # Booleans are no numbers, and text is not compared as one.
        ("spec.paused == true", True),
        ("spec.paused == false", False),
        ("spec.off == false", True),
        ("spec.off == 0", False),
        ("spec.paused == 1", False),
        ("status.one < 5", False),
        ("status.text < 9", False),
        ("9 > status.text", False),
        ("spec.name == web", True),
        ("spec.name == we", False),
        # Several values: one match is enough.
        ("status.ports[*].port == 443", True),
        ("status.ports[*].port == 8080", False),
        ("status.ports[*].port != 443", False),
        ("status.ports[*].port > 400", True),
        ("status.ports[*].port > 500", False),
        # Membership and presence.
        ("spec.name in (db, web)", True),
        ("spec.name in (db, cache)", False),
        ("spec.replicas in (1, 3)", True),
        ("spec.replicas - 2 in (1)", True),
        ("spec.missing in (1, 3)", False),
        ("spec.paused in (1)", False),
        ("spec.name exists", True),
        ("spec.missing exists", False),
        ("spec.none exists", False),
        ("spec.off exists", True),
        ("spec.name missing", False),
        ("spec.missing missing", True),
        ("spec.missing|1 exists", True),
        ("spec.replicas == -3", False),
        ("0 - spec.replicas == -3", True),
        ("123456789012345678 == 123456789012345678", True),
    ],
)
def test_a_comparison(text: str, expected: bool) -> None:
    assert compile_test(text)(TREE) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no field", "no field"),
        ("  no field ", "  no field "),
        ("{spec.name}", "web"),
        ("{status.ready|0} of {spec.replicas|1} are ready", "1 of 3 are ready"),
        ("{spec.missing|0} of {spec.replicas}", "0 of 3"),
        ("{spec.replicas - status.ready} left", "2 left"),
        ("  {spec.name} ", "web"),
        ("[{spec.missing}]", "[]"),
        ("{spec.paused} {spec.off}", "true false"),
        ("{spec.ratio}", "0.5"),
        ("{spec.empty}.", "."),
        ("{status.ports[*].port}", "80, 443"),
        ("{status.list}", "1, two, true, None"),
        ("{spec.name}{spec.name}", "webweb"),
    ],
)
def test_a_template(text: str, expected: str) -> None:
    assert compile_text(text)(TREE) == expected


def test_equal_values_are_shown_once_and_long_ones_are_cut() -> None:
    fill = compile_text("<{spec.items[*]}>")
    assert fill({"spec": {"items": ["a", "b", "a"]}}) == "<a, b>"
    assert fill({"spec": {"items": ["x" * 2000]}}) == f"<{'x' * 1024}>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("spec.replicas", "invalid comparison 'spec.replicas'"),
        ("spec.replicas = 3", "invalid comparison"),
        ("", "invalid comparison ''"),
        ("spec.a[ == 3", "invalid path"),
        ("spec.a| == 3", "missing value: expected a field"),
        ("spec.name in (a, )", "missing value"),
    ],
)
def test_an_invalid_comparison_is_explained(text: str, words: str) -> None:
    with pytest.raises(ExpressionError, match=words):
        compile_test(text)


def test_an_invalid_template_is_explained() -> None:
    with pytest.raises(ExpressionError, match="invalid path"):
        compile_text("{spec.a[}")
    with pytest.raises(ExpressionError, match="missing value"):
        compile_text("{}")
