"""The names of managers, what entries may say, and the way of the replicas between an object and its Scale."""

import pytest

from setpoint.merge import managedfields
from setpoint.merge.managedfields import Identifier
from setpoint.merge.scale_ownership import ScaleEntries, replicas_path
from setpoint.objects.metavalidation import validate_managed_fields
from setpoint.objects.tree import Object


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [
        ("mine", "kubectl/v1.37", "mine"),
        ("", "kubectl/v1.37 (linux/amd64)", "kubectl"),
        ("", "python-requests", "python-requests"),
        ("", "", ""),
        ("", "/v1", ""),
        ("", "a\x00b\tc/1", "abc"),
        ("", "x" * 200 + "/1", "x" * 128),
        ("", "é" * 100 + "/1", "é" * 64),
    ],
)
def test_a_write_is_recorded_under_its_field_manager_or_its_user_agent(
    field_manager: str, user_agent: str, name: str
) -> None:
    assert managedfields.manager_name(field_manager, user_agent) == name


def test_identifiers_sort_as_json_and_describe_themselves() -> None:
    assert Identifier("m", "Apply").text == '{"manager":"m","operation":"Apply"}'
    updater = Identifier('a"<b', "Update", "v1", "status")
    assert updater.text == ('{"manager":"a\\"\\u003cb","operation":"Update","apiVersion":"v1","subresource":"status"}')
    assert updater.describe() == '"a\\"<b" with subresource "status" using v1'


def test_entries_are_validated_field_by_field() -> None:
    entries = [
        {"operation": "Apply", "manager": "m", "fieldsType": "FieldsV1"},
        {"manager": "m"},
        {"operation": "Delete", "fieldsType": "FieldsV2", "manager": "x" * 129, "subresource": "s" * 257},
        {"operation": "Update", "manager": "a\tb"},
    ]
    assert [str(error) for error in validate_managed_fields(entries, "metadata.managedFields")] == [
        "metadata.managedFields[1].operation: Required value: must not be empty",
        'metadata.managedFields[2].operation: Unsupported value: "Delete": supported values: "Apply", "Update"',
        'metadata.managedFields[2].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
        "metadata.managedFields[2].manager: Too long: may not be more than 128 bytes",
        "metadata.managedFields[2].subresource: Too long: may not be more than 256 bytes",
        'metadata.managedFields[3].manager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)',
    ]


VERSION = "example.com/v1"
PATHS = {VERSION: replicas_path(".spec.size.replicas"), "example.com/v0": None}


def entry(manager: str, fields: Object, *, operation: str = "Apply", version: str = VERSION, **more: str) -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


REPLICAS: Object = {"f:spec": {"f:size": {"f:replicas": {}}}}
BOTH: Object = {"f:spec": {"f:other": {}, "f:size": {"f:replicas": {}}}}
IN_SCALE: Object = {"f:spec": {"f:replicas": {}}}


def test_a_scale_shows_who_owns_the_replicas() -> None:
    parent = [
        entry("owner", BOTH),
        entry("other", {"f:spec": {"f:other": {}}}),
        entry("old", REPLICAS, version="example.com/v0"),
        entry("gone", REPLICAS, version="example.com/v9"),
        entry("updater", REPLICAS, operation="Update"),
    ]
    assert ScaleEntries(parent, VERSION, PATHS).to_scale() == [
        entry("owner", IN_SCALE, version="autoscaling/v1"),
        entry("updater", IN_SCALE, operation="Update", version="autoscaling/v1"),
    ]
    assert ScaleEntries(None, VERSION, PATHS).to_scale() == []


def test_who_takes_the_replicas_in_the_scale_takes_them_in_the_object() -> None:
    parent = [entry("owner", BOTH), entry("only", REPLICAS), entry("gone", REPLICAS, version="example.com/v9")]
    taken = [entry("hpa", IN_SCALE, operation="Update", version="autoscaling/v1", subresource="scale")]
    found = ScaleEntries(parent, VERSION, PATHS).to_parent(taken)
    hpa = entry("hpa", REPLICAS, operation="Update", subresource="scale")
    del hpa["time"]
    assert found == [entry("owner", {"f:spec": {"f:other": {}}}), hpa]


def test_who_keeps_the_replicas_in_the_scale_keeps_them_in_the_object() -> None:
    parent = [entry("owner", BOTH), entry("old", REPLICAS, version="example.com/v0")]
    entries = ScaleEntries(parent, VERSION, PATHS)
    assert entries.to_parent(entries.to_scale()) == sorted(parent, key=lambda found: found["manager"])
