"""Label and field selectors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import fields, labels
from setpoint.objects.errors import BadRequest
from setpoint.objects.labels import Operator, Requirement, Selector

from .tables import cases, refusal


@cases("label_selectors")
def test_label_selectors(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(labels.parse, case["selector"], BadRequest) == case["error"]
    else:
        selector = labels.parse(case["selector"])
        assert (str(selector), selector.matches(case["labels"])) == (case["canonical"], case["matches"])


@cases("field_selectors")
def test_field_selectors(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(fields.parse, case["selector"], BadRequest) == case["error"]
    else:
        selector = fields.parse(case["selector"])
        assert (str(selector), selector.matches(case["fields"])) == (case["canonical"], case["matches"])


KEYS = st.sampled_from(["a", "b", "x.com/y", "in"])
VALUES = st.sampled_from(["", "1", "2", "3", "x", "in"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=4)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST]), st.just(())),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS]),
        st.tuples(VALUES),
    ),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.sets(VALUES, min_size=1, max_size=3).map(lambda values: tuple(sorted(values))),
    ),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
        st.tuples(st.integers(0, 3).map(str)),
    ),
)
SELECTORS = st.lists(REQUIREMENTS, max_size=4).map(Selector)


@given(SELECTORS)
def test_the_text_of_a_selector_reads_back_as_the_same_selector(selector: Selector) -> None:
    assert labels.parse(str(selector)) == selector


@given(SELECTORS, LABELS)
def test_a_selector_matches_when_all_its_requirements_do(selector: Selector, given_labels: dict[str, str]) -> None:
    one_by_one = all(Selector([requirement]).matches(given_labels) for requirement in selector.requirements)
    assert selector.matches(given_labels) == one_by_one


@given(SELECTORS, SELECTORS, LABELS)
def test_selectors_joined_match_what_both_match(
    first: Selector, second: Selector, given_labels: dict[str, str]
) -> None:
    both = first.matches(given_labels) and second.matches(given_labels)
    assert (first & second).matches(given_labels) == both


@given(SELECTORS, LABELS)
def test_every_match_has_the_pairs_a_selector_requires(selector: Selector, given_labels: dict[str, str]) -> None:
    if selector.matches(given_labels):
        assert selector.required().items() <= given_labels.items()


@given(SELECTORS)
def test_no_labels_are_the_same_as_empty_ones(selector: Selector) -> None:
    assert selector.matches(None) == selector.matches({})


@given(st.text(alphabet="ab/in=!(),<> \x00é-9", max_size=12))
def test_any_text_is_a_label_selector_or_a_bad_request(text: str) -> None:
    assert refusal(labels.parse, text, BadRequest) != ""


def test_required_pairs_are_those_with_a_single_value() -> None:
    assert labels.parse("a=1,b in (2),c in (3,4),d,e!=5,!f").required() == {"a": "1", "b": "2"}


def test_a_selector_from_labels_asks_for_each() -> None:
    selector = labels.from_labels({"b": "2", "a": "1"})
    assert str(selector) == "a=1,b=2"
    assert selector.matches({"a": "1", "b": "2", "c": "3"})
    assert not selector.matches({"a": "1"})


def test_a_missing_label_selector_selects_nothing_and_an_empty_one_everything() -> None:
    nothing = labels.from_object(None)
    assert not nothing.matches({})
    assert not nothing.is_everything
    assert nothing & labels.parse("a") is nothing
    assert labels.from_object({}).is_everything


def test_a_label_selector_object_joins_labels_and_expressions() -> None:
    selector = labels.from_object(
        {
            "matchLabels": {"z": "1"},
            "matchExpressions": [
                {"key": "a", "operator": "NotIn", "values": ["y", "x"]},
                {"key": "b", "operator": "Exists"},
                {"key": "c", "operator": "DoesNotExist", "values": []},
                {"key": "d", "operator": "In", "values": ["e"]},
            ],
        }
    )
    assert str(selector) == "a notin (x,y),b,!c,d in (e),z=1"


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, '"Like" is not a valid label selector operator'),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
        ),
        ({"matchLabels": {"a": 1}}, "not a label selector: Expected `str`, got `int` - at `$.matchLabels[...]`"),
        ([], "not a label selector: Expected `object`, got `array`"),
    ],
)
def test_a_bad_label_selector_object_is_a_bad_request(selector: Any, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        labels.from_object(selector)
    assert caught.value.message == message


def test_a_label_selector_in_an_object_gets_field_errors() -> None:
    errors = labels.validate_object(
        {
            "matchLabels": {"/a": "b c"},
            "matchExpressions": [
                {"key": "a", "operator": "In"},
                {"key": "a", "operator": "Exists", "values": ["b"]},
                {"key": "", "operator": "Like", "values": ["-"]},
            ],
        },
        "spec.selector",
    )
    found = [(error.type.name, error.field) for error in errors]
    assert found == [
        ("INVALID", "spec.selector.matchLabels"),
        ("INVALID", "spec.selector.matchLabels"),
        ("REQUIRED", "spec.selector.matchExpressions[0].values"),
        ("FORBIDDEN", "spec.selector.matchExpressions[1].values"),
        ("INVALID", "spec.selector.matchExpressions[2].operator"),
        ("INVALID", "spec.selector.matchExpressions[2].key"),
        ("INVALID", "spec.selector.matchExpressions[2].key"),
        ("INVALID", "spec.selector.matchExpressions[2].values[0]"),
    ]
    assert labels.validate_object(None, "spec.selector") == []


@given(st.text())
def test_an_escaped_value_reads_back(value: str) -> None:
    assert fields.unescape(fields.escape(value)) == value
    assert fields.parse(f"a={fields.escape(value)}").exact("a") == value


@given(st.text(alphabet="ab=!,\\é", max_size=12))
def test_the_text_of_a_field_selector_reads_back(text: str) -> None:
    if refusal(fields.parse, text, BadRequest) is None:
        selector = fields.parse(text)
        assert set(fields.parse(str(selector)).requirements) == set(selector.requirements)


def test_a_field_selector_tells_the_name_it_is_after() -> None:
    assert fields.parse("metadata.name=a,x=b").exact("metadata.name") == "a"
    assert fields.parse("metadata.name!=a").exact("metadata.name") is None
    assert fields.parse("").is_everything


def test_a_field_selector_can_be_transformed_or_refused() -> None:
    def rename(field: str, value: str) -> tuple[str, str]:
        if field == "spec.host":
            return "spec.nodeName", value
        if field == "drop":
            return "", ""
        raise fields.unknown_field(field)

    assert str(fields.parse("spec.host!=n,drop=x").transform(rename)) == "spec.nodeName!=n"
    with pytest.raises(BadRequest) as caught:
        fields.parse("data.x=1").transform(rename)
    expected = '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert caught.value.message == expected
