"""Wanted objects: the marks of their set, and the fields that the set does not write."""

from typing import Any

import pytest

from setpoint.flow.desired_object import Desired, Marks, UserObject
from setpoint.flow.marks import (
    MANAGED_BY,
    OWNER_ANNOTATION,
    PRUNE_MARK,
    SET_LABEL,
    Owner,
    find_owner,
    is_kept,
    manager_label,
    set_id,
    set_of,
)
from setpoint.flow.policy import How
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

MARKS = Marks("main-123", "teams", "v1/ConfigMap:default/boss")


def tree(**more: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {"phase": "Running"}, **more}


def desired(given: Object, marks: Marks = MARKS, **how: Any) -> Desired:
    source = UserObject.of(given)
    return Desired(source, source.identity._replace(namespace="default"), How(), marks, **how)


def test_the_status_is_left_out_only_where_it_is_a_subresource() -> None:
    assert "status" not in desired(tree(), has_status=True).tree
    assert desired(tree(), has_status=False).tree["status"] == {"phase": "Running"}
    assert desired(tree()).tree["status"] == {"phase": "Running"}


def test_an_object_has_the_marks_of_its_set() -> None:
    assert desired(tree()).tree["metadata"] == {
        "name": "a",
        "namespace": "default",
        "labels": {SET_LABEL: "main-123", MANAGED_BY: "teams"},
        "annotations": {OWNER_ANNOTATION: "v1/ConfigMap:default/boss"},
    }
    assert "annotations" not in desired(tree(), MARKS._replace(owner="")).tree["metadata"]


def test_own_labels_and_annotations_stay() -> None:
    given = tree(metadata={"name": "a", "labels": {"x": "1", MANAGED_BY: "me"}, "annotations": {"y": "2"}})
    metadata = desired(given).tree["metadata"]
    assert metadata["labels"] == {"x": "1", MANAGED_BY: "me", SET_LABEL: "main-123"}
    assert metadata["annotations"] == {"y": "2", OWNER_ANNOTATION: MARKS.owner}
    assert given["metadata"]["labels"] == {"x": "1", MANAGED_BY: "me"}, "the given object is copied"


def test_fields_of_the_server_are_left_out_and_the_version_is_a_precondition() -> None:
    own = {"managedFields": [], "resourceVersion": "7", "creationTimestamp": "t", "generation": 1, "uid": "u"}
    found = desired(tree(metadata={"name": "a", "selfLink": "x", **own}))
    assert set(found.tree["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert found.precondition_version == "7"
    assert desired(tree()).precondition_version == ""


def test_equal_objects_have_equal_keys() -> None:
    assert desired(tree()).comparison_key == desired(tree()).comparison_key
    assert desired(tree()).comparison_key != desired(tree(spec={})).comparison_key


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        (None, "^a Pod of a set needs a name$"),
        ({"name": ""}, "^a Pod of a set needs a name$"),
        ({"generateName": "a-"}, "a generated name would differ in every run"),
    ],
)
def test_an_object_without_a_name_is_refused(metadata: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        UserObject.of(tree(metadata=metadata))


def test_the_identity_of_an_object_names_its_group_kind_and_place() -> None:
    given = UserObject.of({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}})
    assert given.identity == ("apps", "Deployment", "n", "a")
    assert given.gvk == GroupVersionKind("apps", "v1", "Deployment")


# Marks


OWNER = Owner(GroupVersionKind("apps", "v1", "Deployment"), "default", "boss")


def test_the_id_of_a_set_depends_on_its_owner_without_the_version() -> None:
    assert set_id("main", None) == "main"
    with_owner = set_id("main", OWNER)
    assert with_owner.startswith("main-")
    assert len(with_owner) == len("main-") + 16
    assert with_owner == set_id("main", OWNER._replace(gvk=GroupVersionKind("apps", "v2", "Deployment")))
    others = [
        OWNER._replace(name="x"),
        OWNER._replace(namespace="x"),
        OWNER._replace(gvk=GroupVersionKind("", "v1", "X")),
    ]
    assert len({with_owner, *(set_id("main", each) for each in others), set_id("other", OWNER)}) == 5
    assert set_id("x" * 40, None) == "x" * 40
    for name in ("", "Main", "a/b", "x" * 41):
        with pytest.raises(ValueError, match="use at most 40 lowercase letters"):
            set_id(name, None)


def test_a_manager_becomes_a_valid_label() -> None:
    assert manager_label("teams") == "teams"
    assert manager_label("my team/a@b") == "my-team-a-b"
    assert manager_label("-.x._") == "x"
    assert manager_label("x" * 70) == "x" * 63


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(OWNER), OWNER),
        ("v1/ConfigMap:/boss", Owner(GroupVersionKind("", "v1", "ConfigMap"), "", "boss")),
        ("", None),
        ("apps/v1/Deployment", None),
        ("apps/v1/Deployment:default", None),
        ("apps/v1/Deployment:default/", None),
        ("Deployment:default/boss", None),
        ("apps/v1/:default/boss", None),
    ],
)
def test_the_owner_is_found_by_the_annotation(text: str, expected: Owner | None) -> None:
    assert find_owner({"metadata": {"annotations": {OWNER_ANNOTATION: text}}}) == expected


def test_a_mark_keeps_an_object_from_being_pruned() -> None:
    assert set_of({"metadata": {"labels": {SET_LABEL: "main"}}}) == "main"
    assert set_of({"metadata": {}}) == ""
    for place in ("labels", "annotations"):
        assert is_kept({"metadata": {place: {PRUNE_MARK: "false"}}})
        assert not is_kept({"metadata": {place: {PRUNE_MARK: "true"}}})
    assert not is_kept({"metadata": {}})
