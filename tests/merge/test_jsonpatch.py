"""JSON Patch: tables of what each operation does, the laws, and patches made to hurt."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import jsonpatch as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.merge import jsonpatch
from setpoint.merge.failure import PatchFailed
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.tree import Json, Object

from .documents import documents, exactly, named, scalars


def patched(document: Json, patch: Json) -> Json:
    return jsonpatch.apply(document, jsonpatch.decode(patch))


@pytest.mark.parametrize("case", named("jsonpatch/operations", "jsonpatch/test", "jsonpatch/pointers"))
def test_a_patch_does_what_the_table_says(case: Object) -> None:
    before = copy.deepcopy(case)
    if "result" in case:
        assert exactly(patched(case["document"], case["patch"])) == exactly(case["result"])
    else:
        with pytest.raises(PatchFailed) as failure:
            patched(case["document"], case["patch"])
        assert failure.value.why
        assert failure.value.to_status() == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "the server rejected our request due to an error in our request",
            "reason": "Invalid",
            "details": {},
            "code": 422,
        }
    assert exactly(case) == exactly(before)


@pytest.mark.parametrize("case", named("jsonpatch/decoding"))
def test_what_is_no_patch_is_refused_in_the_servers_words(case: Object) -> None:
    with pytest.raises(BadRequest) as failure:
        jsonpatch.decode(case["patch"])
    assert failure.value.message == case["message"]


@pytest.mark.parametrize("case", named("jsonpatch/decoding"))
def test_without_field_validation_only_the_shape_is_checked(case: Object) -> None:
    if "unchecked" in case:
        with pytest.raises(BadRequest) as failure:
            jsonpatch.decode(case["patch"], strict=False)
        assert failure.value.message == case["unchecked"]
    else:
        with pytest.raises(PatchFailed):
            jsonpatch.apply({"a": 1}, jsonpatch.decode(case["patch"], strict=False))


def test_fields_that_no_operation_has_are_named() -> None:
    patch = [{"op": "test", "path": "/a", "value": 1, "foo": 1}, None, {"op": "remove", "path": "/a", "From": "/b"}]
    assert jsonpatch.unknown_fields(patch) == [
        'json patch unknown field "[0].foo"',
        'json patch unknown field "[2].From"',
    ]


def test_numbers_are_tested_by_their_value() -> None:
    document = {"a": 1, "b": 1.5}
    assert patched(document, [{"op": "test", "path": "/a", "value": 1.0}]) == document


def test_what_a_patch_does_not_touch_is_shared() -> None:
    document: Object = {"touched": {"a": 1}, "untouched": {"b": 2}}
    result = patched(document, [{"op": "add", "path": "/touched/c", "value": 3}])
    assert result["untouched"] is document["untouched"]
    assert result["touched"] is not document["touched"]


def test_values_of_a_patch_are_not_changed_by_later_operations() -> None:
    value: Object = {"list": []}
    patch = [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/list/-", "value": 1}]
    assert patched({}, patch) == {"a": {"list": [1]}}
    assert value == {"list": []}


def test_a_patch_may_have_ten_thousand_operations_and_no_more() -> None:
    step = {"op": "test", "path": "/a", "value": 1}
    assert patched({"a": 1}, [step] * 10_000) == {"a": 1}
    with pytest.raises(RequestEntityTooLarge) as failure:
        jsonpatch.decode([step] * 10_001)
    assert failure.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_that_double_the_document_are_stopped() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 100
    with pytest.raises(PatchFailed, match="error in our request") as failure:
        patched({"a": ["x" * 1000]}, doubling)
    assert failure.value.why == 'copy "/a/-": the copies of the patch exceed 3145728 bytes'


def test_copies_up_to_the_limit_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonpatch, "MAX_COPIED_BYTES", 12)
    copies = [{"op": "copy", "from": "/a", "path": f"/{name}"} for name in "bcd"]
    assert patched({"a": "four"}, copies[:2]) == {"a": "four", "b": "four", "c": "four"}, "six bytes each, with quotes"
    with pytest.raises(PatchFailed):
        patched({"a": "four"}, copies)


def test_many_small_copies_are_fine() -> None:
    result = patched({"a": ["x"], "b": []}, [{"op": "copy", "from": "/a", "path": "/b/-"}] * 5000)
    assert len(result["b"]) == 5000


def test_a_pointer_deeper_than_any_document_fails_cleanly() -> None:
    with pytest.raises(PatchFailed):
        patched({"a": {}}, [{"op": "add", "path": "/a" * 1_000_000, "value": 1}])


@pytest.mark.parametrize(
    "nesting",
    [
        [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(1, 2000)],
        [{"op": "replace", "path": "/a" * depth, "value": {}} for depth in range(1, 300)],
        [{"op": "copy", "from": "/a", "path": "/a" * depth} for depth in range(2, 100)],
    ],
    ids=["add", "replace", "copy"],
)
def test_a_document_that_a_patch_nests_too_deeply_is_refused(nesting: list[Object]) -> None:
    with pytest.raises(PatchFailed) as failure:
        patched({"a": {"b": {}}}, nesting)
    assert failure.value.why == "exceeded max depth: JSON may be nested at most 256 levels deep"


def test_a_document_may_be_nested_as_deeply_as_a_body() -> None:
    nesting = [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(1, 256)]
    assert "a" in patched({}, nesting)


def test_shifting_a_huge_list_over_and_over_is_stopped() -> None:
    document = {"a": [0] * 700_000}
    with pytest.raises(PatchFailed, match="error in our request") as failure:
        patched(document, [{"op": "add", "path": "/a/0", "value": 1}] * 10_000)
    assert failure.value.why == 'add "/a/0": the patch shifts too many list items'


def pointers(tree: Json, path: str = "") -> Iterator[str]:
    """Every place in a document, and every place where something could be added."""
    if type(tree) is dict:
        yield f"{path}/new"
        for key, value in tree.items():
            place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            yield place
            yield from pointers(value, place)
    elif type(tree) is list:
        yield f"{path}/-"
        for index, value in enumerate(tree):
            yield f"{path}/{index}"
            yield from pointers(value, f"{path}/{index}")


@settings(max_examples=60)
@given(documents(objects_only=True), st.data())
def test_agrees_with_an_independent_implementation(document: Object, data: st.DataObject) -> None:
    """What that one can apply we apply with the same result; the leniencies of the real server only add to it."""
    patch: list[Object] = []
    expected = document
    for op in data.draw(st.lists(st.sampled_from(["add", "remove", "replace", "move", "copy"]), max_size=5)):
        places = st.sampled_from(list(pointers(expected)))
        step: Object = {"op": op, "path": data.draw(places), "from": data.draw(places), "value": data.draw(documents())}
        # It lets a value move into itself.
        if op == "move" and f"{step['path']}/".startswith(f"{step['from']}/"):
            continue
        with contextlib.suppress(reference.JsonPatchException, reference.JsonPointerException, TypeError):
            expected = reference.apply_patch(expected, [step])
            patch.append(step)
    assert exactly(patched(document, patch)) == exactly(expected)


@given(documents(objects_only=True), documents(objects_only=True))
def test_a_diff_makes_the_one_the_other(old: Object, new: Object) -> None:
    before = exactly([old, new])
    assert exactly(patched(old, jsonpatch.diff(old, new))) == exactly(new)
    assert exactly([old, new]) == before


@pytest.mark.parametrize(
    ("old", "new", "steps"),
    [
        (["b", "c"], ["a", "b", "c"], [{"op": "add", "path": "/l/0", "value": "a"}]),
        (["a", "b", "c"], ["a", "c"], [{"op": "remove", "path": "/l/1"}]),
        (["a", {"x": 1, "y": 2}, "c"], ["a", {"x": 3, "y": 2}, "c"], [{"op": "replace", "path": "/l/1/x", "value": 3}]),
        (
            ["a"],
            ["a", "b", "c"],
            [{"op": "add", "path": "/l/1", "value": "b"}, {"op": "add", "path": "/l/2", "value": "c"}],
        ),
        (["a", "b", "c"], ["c"], [{"op": "remove", "path": "/l/1"}, {"op": "remove", "path": "/l/0"}]),
        ([1], [True], [{"op": "replace", "path": "/l/0", "value": True}]),
    ],
)
def test_a_diff_of_lists_leaves_what_both_ends_share(old: Json, new: Json, steps: Json) -> None:
    assert exactly(jsonpatch.diff({"l": old}, {"l": new})) == exactly(steps)


@given(documents(objects_only=True))
def test_between_equal_documents_there_is_no_difference(document: Object) -> None:
    assert jsonpatch.diff(document, copy.deepcopy(document)) == []


@given(scalars(), scalars())
def test_a_test_passes_for_equal_scalars_of_the_same_type_alone(left: Any, right: Any) -> None:
    numbers = {type(left), type(right)} <= {int, float}
    alike = left == right and (numbers or type(left) is type(right))
    try:
        patched({"a": left}, [{"op": "test", "path": "/a", "value": right}])
        passed = True
    except PatchFailed:
        passed = False
    assert passed == alike
