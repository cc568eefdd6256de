"""Sets of fields: their algebra, their encoding, their order, and what is no set of fields."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.merge import fieldset, pathelement
from setpoint.merge.fieldset import FieldSet, FieldSetError, from_paths
from setpoint.merge.pathelement import PathElementError

ELEMENTS = ["f:a", "f:b", "f:metadata", 'k:{"name":"x"}', 'k:{"name":"y","port":80}', 'v:"s"', "v:1", "v:true", "i:0"]

laws = settings(deadline=None)
paths = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple)
members = st.sets(paths, max_size=12)


def made(found: set[tuple[str, ...]]) -> FieldSet:
    return from_paths(*found)


def listed(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(fieldset.paths(fields))


@laws
@given(members)
def test_a_set_has_exactly_the_paths_it_was_made_of(found: set[tuple[str, ...]]) -> None:
    fields = made(found)
    assert listed(fields) == found
    assert all(fieldset.has(fields, path) for path in found)


@laws
@given(members)
def test_a_set_survives_its_encoding(found: set[tuple[str, ...]]) -> None:
    fields = made(found)
    assert fieldset.parse(fields) == fields
    assert listed(fieldset.parse(json.loads(json.dumps(fields, sort_keys=True)))) == found


@laws
@given(members, members)
def test_operations_on_sets_of_fields_are_those_on_sets_of_paths(
    left: set[tuple[str, ...]], right: set[tuple[str, ...]]
) -> None:
    a, b = made(left), made(right)
    assert listed(fieldset.union(a, b)) == left | right
    assert listed(fieldset.intersection(a, b)) == left & right
    assert listed(fieldset.difference(a, b)) == left - right
    assert fieldset.is_subset(a, b) == (left <= right)
    assert (a == b) == (left == right)
    assert listed(a) == left, "an operand changed"


@laws
@given(members, members)
def test_results_have_the_one_form_that_equal_sets_share(
    left: set[tuple[str, ...]], right: set[tuple[str, ...]]
) -> None:
    a, b = made(left), made(right)
    assert fieldset.union(a, b) == made(left | right)
    assert fieldset.intersection(a, b) == made(left & right)
    assert fieldset.difference(a, b) == made(left - right)


@laws
@given(members, members)
def test_a_recursive_difference_removes_what_is_below_too(
    left: set[tuple[str, ...]], right: set[tuple[str, ...]]
) -> None:
    kept = {path for path in left if not any(path[: len(other)] == other for other in right)}
    assert fieldset.recursive_difference(made(left), made(right)) == made(kept)


@laws
@given(members)
def test_leaves_are_the_members_with_nothing_below(found: set[tuple[str, ...]]) -> None:
    expected = {path for path in found if not any(other != path and other[: len(path)] == path for other in found)}
    assert listed(fieldset.leaves(made(found))) == expected


@laws
@given(members, st.sampled_from(ELEMENTS))
def test_what_is_below_an_element_is_the_rest_of_its_paths(found: set[tuple[str, ...]], element: str) -> None:
    assert listed(fieldset.below(made(found), element)) == {p[1:] for p in found if len(p) > 1 and p[0] == element}


def test_nobody_owns_the_whole_object() -> None:
    assert from_paths(()) == {}
    assert not fieldset.has({"f:a": {}}, ())


def test_elements_are_listed_fields_first_then_keys_values_and_indexes_each_by_value() -> None:
    elements = [
        "i:10",
        "i:9",
        "v:true",
        "v:null",
        'v:"b"',
        "v:10",
        "v:9.5",
        "v:9",
        'k:{"port":443}',
        'k:{"port":80}',
        'k:{"name":"a","port":1}',
        'k:{"name":"a"}',
        "f:b",
        "f:a",
    ]
    fields: FieldSet = {element: {} for element in elements}
    assert [element for (element,) in fieldset.paths(fields)] == [
        "f:a",
        "f:b",
        'k:{"name":"a"}',
        'k:{"name":"a","port":1}',
        'k:{"port":80}',
        'k:{"port":443}',
        "v:9",
        "v:9.5",
        "v:10",
        'v:"b"',
        "v:true",
        "v:null",
        "i:9",
        "i:10",
    ]


@pytest.mark.parametrize(
    ("sent", "canonical"),
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": None}, {"f:a": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
        ({"f:a": {"x:unknown": {}, "f:b": {}}}, {"f:a": {"f:b": {}}}),
        ({"f:a": {"x:unknown": {}}}, {"f:a": {}}),
        ({'k:{ "port": 80.0, "name":"x" }': {}}, {'k:{"name":"x","port":80}': {}}),
        ({'k:{"name":"x","port":80}': {}, 'k:{"port":80,"name":"x"}': {"f:a": {}}}, None),
        ({"v: 1.0": {}}, {"v:1": {}}),
        ({'v:"<"': {}}, {'v:"\\u003c"': {}}),
        ({"i:007": {}}, {"i:7": {}}),
        ({}, {}),
        (None, {}),
    ],
)
def test_what_is_sent_is_read_into_canonical_form(sent: Any, canonical: Any) -> None:
    if canonical is None:
        canonical = {'k:{"name":"x","port":80}': {".": {}, "f:a": {}}}
    assert fieldset.parse(sent) == canonical


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"f": {}}, "key must be 2 characters long"),
        ({"": {}}, "key must be 2 characters long"),
        ({"fa": {}}, "missing colon: fa"),
        ({"v:{": {}}, "parsing key as path element"),
        ({"v:1 2": {}}, "parsing key as path element"),
        ({"k:1": {}}, "expected an object of keys"),
        ({'k:{"a"}': {}}, "parsing key as path element"),
        ({"i:x": {}}, "invalid syntax"),
        ({"i:": {}}, "invalid syntax"),
        ({"f:a": []}, "expected an object of path elements, got list"),
        ({"f:a": "x"}, "expected an object of path elements, got str"),
        ([], "expected an object of path elements"),
        ({"v:" + "[" * 100_000: {}}, "parsing key as path element"),
    ],
)
def test_what_is_no_set_of_fields_is_refused_with_the_reason(sent: Any, why: str) -> None:
    with pytest.raises(FieldSetError, match=why):
        fieldset.parse(sent)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"), '.spec.ports[port=80,protocol="TCP"].name'),
        (("f:finalizers", 'v:"a/b"'), '.finalizers[="a/b"]'),
        (("f:a", "v:1.5", "v:true", "v:null", "i:3"), ".a[=1.5][=true][=null][3]"),
        (("f:a", 'k:{"x":[1,"y"],"z":{"w":1}}'), '.a[x=[1,"y"],z=w=1]'),
        (("f:a", 'v:"quote \\" and \\n"'), '.a[="quote \\" and \\n"]'),
    ],
)
def test_paths_are_shown_as_conflicts_show_them(path: tuple[str, ...], text: str) -> None:
    assert fieldset.path_text(path) == text


@pytest.mark.parametrize(
    ("value", "element"),
    [
        (1, "v:1"),
        (1.0, "v:1"),
        (True, "v:true"),
        (1.5, "v:1.5"),
        (1e21, "v:1e+21"),
        ("a", 'v:"a"'),
        ("<&>", 'v:"\\u003c\\u0026\\u003e"'),
        (None, "v:null"),
    ],
)
def test_values_are_written_into_elements_as_json(value: Any, element: str) -> None:
    assert pathelement.value_element(value) == element


def test_an_element_of_an_unknown_kind_is_ignored_and_a_malformed_one_is_not() -> None:
    assert pathelement.parse("x:future") is None
    with pytest.raises(PathElementError):
        pathelement.parse("x")
