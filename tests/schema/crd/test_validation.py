"""Creating and changing definitions: errors, their order and their texts."""

import re
from typing import Any

import pytest
from tests.schema.crd.building import PLAIN, build
from tests.schema.crd.tables import named, recorded_creations, steps, table

from setpoint.objects.errors import BadRequest, Invalid
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema.crd.defaults import (
    default,
    prepare_for_create,
    prepare_for_status_update,
    prepare_for_update,
)
from setpoint.schema.crd.definition import GROUP_KIND
from setpoint.schema.crd.definition_validation import validate_create, validate_status_update, validate_update
from setpoint.schema.openapi import Schema


def create_errors(tree: Object) -> list[FieldError]:
    return validate_create(prepare_for_create(tree))


@pytest.mark.parametrize("case", named(table("create")))
def test_creating(case: Any) -> None:
    assert list(map(str, create_errors(build(PLAIN, case)))) == case["errors"]


@pytest.mark.parametrize("case", named(table("update")))
def test_updating(case: Any) -> None:
    old, new = build(PLAIN, case["old"]), build(PLAIN, case["new"])
    for tree in (old, new):
        tree["metadata"] |= {"generation": 3, "resourceVersion": "1", "uid": "u"}
    prepared = prepare_for_update(new, old)
    assert list(map(str, validate_update(prepared, default(old)))) == case["errors"]
    assert prepared["metadata"]["generation"] == case["generation"]
    assert prepared["status"]["storedVersions"] == case["storedVersions"]


@pytest.mark.parametrize("step", recorded_creations())
def test_recorded_creations_are_answered_alike(step: Any) -> None:
    answer = step["expect"].get("body") or {}
    errors = create_errors(step["body"])
    assert bool(errors) == (step["expect"]["status"] == 422)
    if "spec" in answer:
        assert prepare_for_create(step["body"])["spec"] == answer["spec"]
    if errors and answer:
        status = Invalid.of(GROUP_KIND, answer["details"]["name"], errors).to_status()
        # Recorded causes are sorted, because their order says nothing there.
        causes, recorded = (sorted(map(_told, found["details"].pop("causes"))) for found in (status, answer))
        assert causes == recorded
        assert status["details"] == answer["details"]
        if len(causes) == 1:
            assert _unnumbered(status["message"]) == answer["message"]


def _told(cause: Any) -> tuple[str, str, str]:
    return cause["field"], cause["reason"], _unnumbered(cause["message"])


def _unnumbered(message: str) -> str:
    return re.sub(r"selfType\d+", "selfType<n>", message)


def test_a_recorded_field_of_the_wrong_type_is_a_bad_request() -> None:
    *_, step = steps("crd-invalid-preserveunknown")
    with pytest.raises(BadRequest, match=r'^CustomResourceDefinition in version "v1" cannot be handled as a'):
        prepare_for_create(step["body"])


@pytest.mark.parametrize("scenario", ["crd-create-minimal", "crd-create-names-defaults"])
def test_a_new_definition_is_answered_with_a_fresh_status(scenario: str) -> None:
    step = steps(scenario)[0]
    answer, recorded = prepare_for_create(step["body"]), step["expect"]["body"]
    assert answer["status"] == recorded["status"]
    assert answer["metadata"]["generation"] == recorded["metadata"]["generation"] == 1


def test_a_status_keeps_the_spec_and_may_forget_stored_versions() -> None:
    old = prepare_for_create(build(PLAIN, {"metadata": {"resourceVersion": "1"}}))
    changed = copy(old)
    changed["spec"]["scope"] = "Cluster"
    changed["status"]["storedVersions"] = ["v9"]
    prepared = prepare_for_status_update(changed, old)
    assert prepared["spec"] == old["spec"]
    assert prepared["status"]["storedVersions"] == ["v9"]
    assert validate_status_update(prepared, old) == []


def test_an_empty_list_of_stored_versions_becomes_the_storage_version() -> None:
    old = prepare_for_create(PLAIN)
    changed = copy(old)
    changed["status"]["storedVersions"] = []
    assert prepare_for_status_update(changed, old)["status"]["storedVersions"] == ["v1"]


def test_accepted_names_of_a_status_must_be_legal() -> None:
    old = prepare_for_create(build(PLAIN, {"metadata": {"resourceVersion": "1"}}))
    changed = copy(old)
    changed["status"]["acceptedNames"]["plural"] = "Not A Label"
    assert [error.field for error in validate_status_update(changed, old)] == ["status.acceptedNames.plural"]


def test_errors_of_a_schema_stand_where_the_server_puts_them() -> None:
    def refuse(schema: Schema, path: str, *, old: Schema | None, status_subresource: bool) -> list[FieldError]:
        return [invalid(path, "", schema.description)]

    def paths(change: Object) -> list[str]:
        return [error.field for error in validate_create(prepare_for_create(build(PLAIN, change)), refuse)]

    same, other = {"name": "v2", "storage": False}, {"schema": {"openAPIV3Schema": {"description": "other"}}}
    assert paths({}) == ["spec.validation.openAPIV3Schema"]
    assert paths({"versions": [same]}) == ["spec.validation.openAPIV3Schema"]
    assert paths({"versions": [same | other]}) == [
        "spec.versions[0].schema.openAPIV3Schema",
        "spec.versions[1].schema.openAPIV3Schema",
    ]


def test_versions_with_equal_numbers_have_a_schema_in_common_and_a_boolean_is_no_number() -> None:
    def refuse(schema: Schema, path: str, *, old: Schema | None, status_subresource: bool) -> list[FieldError]:
        return [invalid(path, "", "no")]

    def paths(first: Json, second: Json) -> list[str]:
        versions = [
            {"name": name, "schema": {"openAPIV3Schema": {"type": "object", "default": said}}, "storage": name == "v1"}
            for name, said in (("v1", first), ("v2", second))
        ]
        tree = prepare_for_create(build(PLAIN, {}))
        tree["spec"]["versions"] = [tree["spec"]["versions"][0] | each for each in versions]
        return [error.field for error in validate_create(tree, refuse)]

    apart = ["spec.versions[0].schema.openAPIV3Schema", "spec.versions[1].schema.openAPIV3Schema"]
    assert paths(1, 1) == paths(1, 1.0) == ["spec.validation.openAPIV3Schema"]
    assert paths(1, True) == paths(1, 2) == apart


def test_a_validator_is_told_the_schema_before_and_whether_there_is_a_status() -> None:
    seen: dict[str, tuple[str, bool]] = {}

    def remember(schema: Schema, path: str, *, old: Schema | None, status_subresource: bool) -> list[FieldError]:
        seen[path] = (old.description if old else "none", status_subresource)
        return []

    def version(name: str, description: str) -> Object:
        return {"name": name, "storage": False, "schema": {"openAPIV3Schema": {"description": description}}}

    old = default(build(PLAIN, {"versions": [version("v2", "before")]}))
    with_status: Object = {"subresources": {"status": {}}}
    changed = build(PLAIN, {"versions": [version("v2", "after") | with_status, version("v3", "new")]})
    validate_update(prepare_for_update(changed, old), old, remember)
    assert seen == {
        "spec.versions[0].schema.openAPIV3Schema": ("", False),
        "spec.versions[1].schema.openAPIV3Schema": ("before", True),
        "spec.versions[2].schema.openAPIV3Schema": ("none", False),
    }


def test_a_schema_with_keywords_of_wrong_types_is_an_error_at_the_schema() -> None:
    errors = create_errors(build(PLAIN, {"schema": {"properties": {"spec": {"maxLength": "many"}}}}))
    assert [error.field for error in errors] == ["spec.validation.openAPIV3Schema"]
    assert "maxLength" in errors[0].detail


@pytest.mark.parametrize(
    "wrong", [None, 1, "text", [], {"spec": []}, {"spec": {"versions": {}}}, {"spec": {"names": 3}}]
)
def test_a_tree_of_another_shape_is_a_bad_request(wrong: Any) -> None:
    with pytest.raises(BadRequest):
        validate_create(wrong)


def test_a_schema_that_is_nested_too_deeply_is_refused_in_bounded_time() -> None:
    schema: Object = {"type": "object"}
    for _ in range(100_000):
        schema = {"type": "object", "properties": {"a": schema}}
    tree = copy(PLAIN)
    tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    with pytest.raises(BadRequest, match="nested too deeply"):
        prepare_for_create(tree)
    errors = validate_create(tree | {"status": {"storedVersions": ["v1"]}})
    assert [error.detail for error in errors] == ["the schema is nested too deeply"]


def test_fields_that_say_nothing_are_left_out_of_the_answer() -> None:
    change = {
        "spec": {"names": {"shortNames": [], "categories": []}},
        "version": {"additionalPrinterColumns": [], "deprecated": False},
        "schema": {"description": "", "required": [], "nullable": False, "minimum": 0, "default": {}},
    }
    version = default(build(PLAIN, change))["spec"]["versions"][0]
    assert sorted(version) == ["name", "schema", "served", "storage"]
    schema = version["schema"]["openAPIV3Schema"]
    assert sorted(schema) == ["default", "minimum", "properties", "type"]
