"""JSON merge patch: the table, the laws, and patches that are none."""

import copy
from typing import Any

import json_merge_patch as reference
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.merge import mergepatch
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Json, Object

from .documents import documents, exactly, named


@pytest.mark.parametrize("case", named("mergepatch/apply"))
def test_a_patch_does_what_the_table_says(case: Object) -> None:
    before = copy.deepcopy(case)
    assert exactly(mergepatch.apply(case["document"], case["patch"])) == exactly(case["result"])
    assert exactly(case) == exactly(before)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (5, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_what_is_no_object_is_no_patch(patch: Json, message: str) -> None:
    with pytest.raises(BadRequest) as failure:
        mergepatch.apply({"a": 1}, patch)
    assert failure.value.message == message


@pytest.mark.parametrize("patch", ["x", 5, None])
def test_without_field_validation_a_scalar_is_no_patch_either(patch: Json) -> None:
    with pytest.raises(BadRequest, match="Invalid JSON Patch"):
        mergepatch.apply({"a": 1}, patch, strict=False)


def test_without_field_validation_a_list_is_the_result() -> None:
    assert mergepatch.apply({"a": 1}, [{"b": None}, None], strict=False) == [{}, None]


def test_what_a_patch_does_not_touch_is_shared() -> None:
    document: Object = {"touched": {"a": 1}, "untouched": {"b": 2}}
    patch: Object = {"touched": {"c": 3}, "new": {"d": [{"e": 4}]}}
    result = mergepatch.apply(document, patch)
    assert result["untouched"] is document["untouched"]
    assert result["new"] is patch["new"]


def test_a_patch_nested_too_deeply_is_refused() -> None:
    patch: Object = {}
    for _ in range(100_000):
        patch = {"a": patch}
    try:
        with pytest.raises(BadRequest, match="exceeded max depth"):
            mergepatch.apply({}, patch)
    finally:
        while patch:  # freed from the outside in: freed at once, Python would recurse too
            patch = patch.pop("a")


@given(documents(objects_only=True), documents(objects_only=True, nulls=False), st.data())
def test_agrees_with_an_independent_implementation(document: Object, patch: Object, data: st.DataObject) -> None:
    """Nulls stand where both mean removal: in objects. In lists the real server differs from the RFC."""
    with_nulls = sprinkled(patch, data)
    expected = reference.merge(copy.deepcopy(document), copy.deepcopy(with_nulls))
    assert exactly(mergepatch.apply(document, with_nulls)) == exactly(expected)


def sprinkled(patch: Json, data: st.DataObject) -> Any:
    """The patch with some fields of its objects made null, though not inside lists."""
    if type(patch) is not dict:
        return patch
    return {key: None if data.draw(st.integers(0, 4)) == 0 else sprinkled(value, data) for key, value in patch.items()}


@given(documents(objects_only=True), documents(objects_only=True, nulls=False))
def test_a_diff_makes_the_one_the_other(old: Object, new: Object) -> None:
    before = exactly([old, new])
    assert exactly(mergepatch.apply(old, mergepatch.diff(old, new))) == exactly(new)
    assert exactly([old, new]) == before


@given(documents(objects_only=True))
def test_between_equal_documents_there_is_no_difference(document: Object) -> None:
    assert mergepatch.diff(document, copy.deepcopy(document)) == {}


@pytest.mark.parametrize("case", named("mergepatch/three_way"))
def test_a_three_way_patch_carries_the_change_over(case: Object) -> None:
    patch = mergepatch.three_way(case["original"], case["modified"], case["current"])
    assert exactly(patch) == exactly(case["patch"])


configurations = documents(objects_only=True, nulls=False)


@given(configurations, configurations)
def test_a_three_way_patch_of_an_untouched_object_makes_it_the_configuration(
    original: Object, modified: Object
) -> None:
    patch = mergepatch.three_way(original, modified, original)
    assert exactly(mergepatch.apply(original, patch)) == exactly(modified)


@given(configurations, configurations, configurations)
def test_a_three_way_patch_makes_the_object_say_what_the_configuration_says(
    original: Object, modified: Object, current: Object
) -> None:
    result = mergepatch.apply(current, mergepatch.three_way(original, modified, current))
    assert exactly(mergepatch.apply(result, modified)) == exactly(result)
