"""Strategic merge: tables of what each strategy and directive does, the laws, and patches made to hurt."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.merge import strategic
from setpoint.merge.failure import BadPatch, PatchConflictError
from setpoint.merge.strategic import PatchSchema, PatchSchemas
from setpoint.objects.errors import APIError, BadRequest
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin

from .documents import exactly, named

SCHEMAS = PatchSchemas(builtin.resolve)
GROUPS = {"Deployment": "apps", "ClusterRole": "rbac.authorization.k8s.io"}


def schema(kind: str) -> PatchSchema:
    return SCHEMAS[f"#/definitions/{builtin.kinds()[GroupVersionKind(GROUPS.get(kind, ''), 'v1', kind)]}"]


POD = schema("Pod")


@pytest.mark.parametrize("case", named("strategic/maps", "strategic/lists", "strategic/order"))
def test_a_patch_does_what_the_table_says(case: Object) -> None:
    before = copy.deepcopy(case)
    assert exactly(strategic.merge(case["original"], case["patch"], schema(case["kind"]))) == exactly(case["result"])
    assert exactly(case) == exactly(before)


@pytest.mark.parametrize("case", named("strategic/errors"))
def test_a_bad_patch_fails_in_the_servers_words(case: Object) -> None:
    before = copy.deepcopy(case)
    with pytest.raises(APIError) as failure:
        strategic.merge(case["original"], case["patch"], schema(case["kind"]))
    status = failure.value.to_status()
    assert status["code"] == case["error"]["code"]
    rejected = "the server rejected our request due to an error in our request"
    why, field = case["error"].get("message", rejected), case["error"].get("field")
    assert status["message"] == (f"{field}: {why}" if field else why)
    if field:
        assert status["details"]["causes"] == [{"reason": "FieldValueInvalid", "message": why, "field": field}]
    assert exactly(case) == exactly(before)


@pytest.mark.parametrize(
    ("patch", "kind"), [([], "array"), ("x", "string"), (1, "number"), (1.5, "number"), (False, "bool")]
)
def test_what_is_no_object_is_no_patch(patch: Json, kind: str) -> None:
    with pytest.raises(BadRequest) as failure:
        strategic.merge({}, patch, POD)
    assert failure.value.message == f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


@pytest.mark.parametrize("items", [[None], [{"name": "a"}, None], [[{}]], [{"name": {"x": 1}}], [{"name": ["x"]}]])
def test_items_that_make_the_real_server_stumble_are_a_clean_error(items: list[Json]) -> None:
    with pytest.raises(APIError):
        strategic.merge({"spec": {"containers": [{"name": "a"}]}}, {"spec": {"containers": items}}, POD)


def test_what_a_patch_does_not_touch_is_shared() -> None:
    original: Object = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "a", "env": []}, {"name": "b"}]}}
    result = strategic.merge(original, {"spec": {"containers": [{"name": "b", "image": "x"}]}}, POD)
    assert result["metadata"] is original["metadata"]
    assert result["spec"]["containers"][0] is original["spec"]["containers"][0]


def test_types_that_kinds_share_are_read_once() -> None:
    calls: list[str] = []

    def resolve(ref: str) -> Object:
        calls.append(ref)
        return builtin.resolve(ref)

    schemas = PatchSchemas(resolve)
    names = ("apps.v1.Deployment", "apps.v1.StatefulSet", "core.v1.Pod")
    for name in names:
        original: Object = {"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}, "containers": []}}
        patch: Object = {"spec": {"template": {"spec": {"containers": [{"name": "a", "tty": True}]}}}}
        if name == "core.v1.Pod":
            original, patch = original["spec"]["template"], patch["spec"]["template"]
        strategic.merge(original, patch, schemas[f"#/definitions/io.k8s.api.{name}"])
    assert len(calls) == len(set(calls))
    assert "#/definitions/io.k8s.api.core.v1.Container" in calls
    assert "#/definitions/io.k8s.api.core.v1.EnvVar" not in calls


def test_a_patch_nested_too_deeply_is_refused() -> None:
    patch: Object = {}
    for _ in range(100_000):
        patch = {"a": patch}
    try:
        with pytest.raises(BadRequest, match="exceeded max depth"):
            strategic.merge({}, patch, POD)
    finally:
        while patch:  # freed from the outside in: freed at once, Python would recurse too
            patch = patch.pop("a")


def test_lists_of_many_items_merge_in_one_pass() -> None:
    """Ten thousand items each: a search for each among all would take minutes."""
    original = {"spec": {"containers": [{"name": f"c{n}"} for n in range(10_000)]}}
    order = [{"name": f"c{n}"} for n in reversed(range(10_000))]
    patch = {
        "spec": {
            "$setElementOrder/containers": order,
            "containers": [{**item, "image": "x"} for item in order[:5_000]]
            + [{"name": f"c{n}", "$patch": "delete"} for n in range(5_000)],
        }
    }
    assert len(strategic.merge(original, patch, POD)["spec"]["containers"]) == 5_000
    new = {"spec": {"$setElementOrder/containers": [], "containers": [{"name": f"n{n}"} for n in range(10_000)]}}
    assert len(strategic.merge(original, new, POD)["spec"]["containers"]) == 20_000


@pytest.mark.parametrize("case", named("strategic/diff"))
def test_a_difference_is_the_patch_the_table_says(case: Object) -> None:
    before = copy.deepcopy(case)
    patch = strategic.diff(case["original"], case["modified"], schema(case["kind"]))
    assert exactly(patch) == exactly(case["patch"])
    assert exactly(strategic.merge(case["original"], patch, schema(case["kind"]))) == exactly(case["modified"])
    assert exactly(case) == exactly(before)


def test_a_difference_inside_a_map_of_objects_cannot_be_said() -> None:
    crd = SCHEMAS["#/definitions/io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]
    old: Object = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    new: Object = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    assert strategic.diff(old, copy.deepcopy(old), crd) == {}
    with pytest.raises(APIError, match="data type is not struct, instead is: map"):
        strategic.diff(old, new, crd)


@pytest.mark.parametrize("case", named("strategic/three_way"))
def test_a_three_way_patch_carries_the_change_over(case: Object) -> None:
    before = copy.deepcopy(case)
    three = case["original"], case["modified"], case["current"], schema(case["kind"])
    assert exactly(strategic.three_way(*three)) == exactly(case["patch"])
    if case.get("conflict"):
        with pytest.raises(PatchConflictError, match="conflicts with changes made from original to current"):
            strategic.three_way(*three, overwrite=False)
    else:
        assert exactly(strategic.three_way(*three, overwrite=False)) == exactly(case["patch"])
    assert exactly(case) == exactly(before)


def test_a_conflict_shows_both_sides_as_kubectl_does() -> None:
    original, modified, current = ({"metadata": {"labels": {"a": value}}} for value in ("1", "2", "y"))
    with pytest.raises(PatchConflictError) as failure:
        strategic.three_way(original, modified, current, POD, overwrite=False)
    assert str(failure.value) == (
        'patch:\nmetadata:\n  labels:\n    a: "2"\n\n'
        'conflicts with changes made from original to current:\nmetadata:\n  labels:\n    a: "y"\n\n'
    )


def unique(item: Any, key: str = "name") -> st.SearchStrategy[list[Any]]:
    return st.lists(item, max_size=4, unique_by=lambda found: found[key])


NAMES = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.sampled_from(["x", "y"])
LABELS = st.dictionaries(NAMES, VALUES, max_size=3)
ENV = st.fixed_dictionaries({"name": NAMES}, optional={"value": VALUES})
PORTS = st.fixed_dictionaries({"containerPort": st.sampled_from([1, 80, 443])}, optional={"name": NAMES})
CONTAINERS = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "image": VALUES,
        "tty": st.booleans(),
        "args": st.lists(NAMES, max_size=3),
        "env": unique(ENV),
        "ports": unique(PORTS, "containerPort"),
        "resources": st.fixed_dictionaries({}, optional={"limits": LABELS}),
    },
)
VOLUMES = st.fixed_dictionaries({"name": NAMES}, optional={"emptyDir": st.just({}), "hostPath": st.just({"path": "/"})})
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": LABELS, "finalizers": st.lists(NAMES, max_size=4, unique=True)}
        ),
        "spec": st.fixed_dictionaries(
            {"containers": unique(CONTAINERS)},
            optional={
                "volumes": unique(VOLUMES),
                "nodeSelector": LABELS,
                "hostNetwork": st.booleans(),
                "tolerations": st.lists(st.fixed_dictionaries({"key": NAMES}), max_size=2),
            },
        ),
    }
)


@given(PODS, PODS)
def test_a_difference_makes_the_one_the_other(original: Object, modified: Object) -> None:
    before = exactly([original, modified])
    patch = strategic.diff(original, modified, POD)
    assert exactly(strategic.merge(original, patch, POD)) == exactly(modified)
    assert exactly([original, modified]) == before


@given(PODS)
def test_between_equal_objects_there_is_no_difference(pod: Object) -> None:
    assert strategic.diff(pod, copy.deepcopy(pod), POD) == {}
    assert exactly(strategic.merge(pod, {}, POD)) == exactly(pod)


@given(PODS)
def test_an_object_merged_into_itself_stays_as_it_is(pod: Object) -> None:
    assert exactly(strategic.merge(pod, pod, POD)) == exactly(pod)


@given(PODS, PODS)
def test_a_patch_applied_twice_is_a_patch_applied_once(original: Object, patch: Object) -> None:
    once = strategic.merge(original, patch, POD)
    assert exactly(strategic.merge(once, patch, POD)) == exactly(once)


@settings(max_examples=40)
@given(PODS, PODS)
def test_a_three_way_patch_of_an_untouched_object_makes_it_the_configuration(
    original: Object, modified: Object
) -> None:
    patch = strategic.three_way(original, modified, original, POD, overwrite=False)
    assert exactly(strategic.merge(original, patch, POD)) == exactly(modified)


def decoded(tree: Json) -> Any:
    """The tree as the server then reads it: an item that a patch adds comes with its nulls and directives."""
    if type(tree) is dict:
        return {key: decoded(value) for key, value in tree.items() if value is not None and key[:1] != "$"}
    return [decoded(item) for item in tree] if type(tree) is list else tree


@settings(max_examples=40)
@given(PODS, PODS, PODS)
def test_after_a_three_way_patch_there_is_nothing_left_to_carry_over(
    original: Object, modified: Object, current: Object
) -> None:
    before = exactly([original, modified, current])
    patched = decoded(strategic.merge(current, strategic.three_way(original, modified, current, POD), POD))
    again = strategic.three_way(modified, modified, patched, POD)
    assert exactly(strategic.merge(patched, again, POD)) == exactly(patched)
    assert exactly([original, modified, current]) == before


def test_the_text_of_an_invalid_patch_names_its_field() -> None:
    error = BadPatch("expected a list").within("[1]").within("containers").within("spec")
    assert str(error) == error.message == "spec.containers[1]: expected a list"
    assert [(cause.message, cause.field) for cause in error.causes] == [("expected a list", "spec.containers[1]")]
