"""Metadata: its shape, its rules, and what the server does with it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import meta, names, objectmeta
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import BadRequest
from setpoint.objects.ids import SeededIds
from setpoint.objects.metavalidation import (
    finalizer_warnings,
    validate_annotations,
    validate_create,
    validate_field_manager,
    validate_labels,
    validate_update,
)
from setpoint.objects.objectmeta import coerce

from .tables import cases, refusal
from .test_codec import JSON


@cases("object_meta")
def test_object_meta(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(coerce, case["given"]) == case["error"]
    else:
        assert coerce(case["given"]) == (case["metadata"], case["unknown"])


FIELDS = st.sampled_from([*objectmeta._OBJECT_META, "bogus"])


@given(st.dictionaries(FIELDS, JSON, max_size=5))
def test_any_json_is_metadata_or_a_value_error_and_coercing_is_idempotent(given_meta: dict[str, Any]) -> None:
    if refusal(coerce, given_meta) is None:
        once = coerce(given_meta).metadata
        assert coerce(once) == (once, [])
    dropped = coerce(given_meta, drop_malformed=True).metadata
    assert coerce(dropped).metadata == dropped


def test_error_texts_name_the_field_of_the_whole_object_for_built_in_kinds() -> None:
    why = refusal(lambda value: coerce(value, within="metadata."), {"labels": {"a": 1}})
    assert why == "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"


def test_unknown_fields_of_embedded_metadata_have_their_own_path() -> None:
    found = coerce({"z": 1, "name": "x", "ownerReferences": [{"a": 1}]}, path="spec.e.metadata")
    assert found.unknown == ["spec.e.metadata.ownerReferences[0].a", "spec.e.metadata.z"]


def test_malformed_fields_can_be_dropped() -> None:
    assert coerce({"name": "a", "labels": 5, "x": 1}, drop_malformed=True) == ({"name": "a"}, ["metadata.x"])


def texts(meta_tree: dict[str, Any], **options: Any) -> list[str]:
    return [str(error) for error in validate_create(meta_tree, **({"namespaced": False} | options))]


def test_good_metadata_has_no_errors() -> None:
    good = {
        "name": "web-1",
        "namespace": "default",
        "labels": {"app.kubernetes.io/name": "web", "tier": ""},
        "annotations": {"Example.com/Note": "any text\n"},
        "finalizers": ["example.com/cleanup", "orphan"],
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
        ],
        "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1"}],
        "generation": 1,
    }
    assert validate_create(good, namespaced=True, needs_domains=True) == []
    assert validate_update(good | {"resourceVersion": "5"}, good) == []


@pytest.mark.parametrize(
    ("given_meta", "options", "expected"),
    [
        ({}, {}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "a"}, {"namespaced": True}, ["metadata.namespace: Required value"]),
        ({"name": "a", "namespace": "b"}, {}, ["metadata.namespace: Forbidden: not allowed on this type"]),
        (
            {"name": "a", "namespace": "b.c"},
            {"namespaced": True},
            ['metadata.namespace: Invalid value: "b.c": must not contain dots'],
        ),
        (
            {"name": "a/b", "generateName": "."},
            {"name_rule": names.path_segment},
            ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
        (
            {"name": "a", "generation": -1},
            {},
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"name": "a", "labels": {"/x": "y"}},
            {"path": "spec.template.metadata"},
            ['spec.template.metadata.labels: Invalid value: "/x": prefix part must be non-empty'],
        ),
        (
            {"name": "a", "annotations": {"a": "x" * 262144}},
            {},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        (
            {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
            {},
            [
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
                "foregroundDeletion cannot be both set"
            ],
        ),
        ({"name": "a", "finalizers": ["noslash"]}, {}, []),
        (
            {"name": "a", "finalizers": ["kubernetes", "noslash"]},
            {"needs_domains": True},
            [
                'metadata.finalizers[1]: Invalid value: "noslash": name is neither a standard finalizer name nor is it '
                "fully qualified"
            ],
        ),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]},
            {},
            [
                f"metadata.ownerReferences[0].{field}: Required value: must not be empty"
                for field in ("apiVersion", "kind", "name", "uid")
            ],
        ),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u"}]},
            {},
            ['metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>'],
        ),
        (
            {
                "name": "a",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u", "controller": False}
                ],
            },
            {},
            [
                'metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u",'
                '"controller":false}: /v1, Kind=Event is disallowed from being an owner'
            ],
        ),
        (
            {
                "name": "a",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": kind, "name": "n", "uid": kind, "controller": True} for kind in "AB"
                ],
            },
            {},
            [
                'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"A","name":"n","uid":"A",'
                '"controller":true},{"apiVersion":"v1","kind":"B","name":"n","uid":"B","controller":true}]: Only one '
                'reference can have Controller set to true. Found "true" in references for A/n and B/n'
            ],
        ),
        (
            {"name": "a", "managedFields": [{}, {"operation": "x", "fieldsType": "y", "subresource": "s" * 257}]},
            {},
            [
                "metadata.managedFields[0].operation: Required value: must not be empty",
                'metadata.managedFields[1].operation: Unsupported value: "x": supported values: "Apply", "Update"',
                'metadata.managedFields[1].fieldsType: Invalid value: "y": must be `FieldsV1`',
                "metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes",
            ],
        ),
    ],
)
def test_bad_metadata_gets_exact_errors(
    given_meta: dict[str, Any], options: dict[str, Any], expected: list[str]
) -> None:
    assert texts(given_meta, **options) == expected


def test_labels_are_reported_at_the_path_of_the_labels() -> None:
    errors = validate_labels({"a b": "c d", "ok": "fine", "": ""}, "metadata.labels")
    assert [(error.field, error.value) for error in errors] == [
        ("metadata.labels", "a b"),
        ("metadata.labels", "c d"),
        ("metadata.labels", ""),
        ("metadata.labels", ""),
    ]


def test_annotations_count_bytes_and_not_characters() -> None:
    assert validate_annotations({"a": "é" * 131_071}, "p") == []
    assert [str(error) for error in validate_annotations({"a": "é" * 131_072}, "p")] == [
        "p: Too long: may not be more than 262144 bytes"
    ]


def test_a_field_manager_is_printable_and_short() -> None:
    assert validate_field_manager("kubectl édit", "fieldManager") == []
    found = [str(error) for error in validate_field_manager("é\n" + "m" * 127, "fieldManager")]
    assert found[0] == "fieldManager: Too long: may not be more than 128 bytes"
    assert found[1].endswith("invalid character U+000A (at position 2)")


STORED = {
    "name": "a",
    "namespace": "d",
    "uid": "u",
    "resourceVersion": "5",
    "creationTimestamp": "2001-01-01T00:00:00Z",
    "generation": 3,
    "finalizers": ["x.io/a"],
}


@pytest.mark.parametrize(
    ("change", "stored", "expected"),
    [
        ({}, {}, []),
        ({"name": "b"}, {}, ['metadata.name: Invalid value: "b": field is immutable']),
        ({"uid": "v"}, {}, ['metadata.uid: Invalid value: "v": field is immutable']),
        ({"resourceVersion": ""}, {}, ['metadata.resourceVersion: Invalid value: "": must be specified for an update']),
        ({"generation": 2}, {}, ["metadata.generation: Invalid value: 2: must not be decremented"]),
        (
            {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5},
            {},
            [
                'metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable',
                "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
            ],
        ),
        ({}, {"deletionTimestamp": "t"}, ["metadata.deletionTimestamp: Invalid value: null: field is immutable"]),
        ({"finalizers": ["x.io/a", "x.io/b"]}, {}, []),
        (
            {"finalizers": ["x.io/c", "x.io/b"], "deletionTimestamp": "t"},
            {"deletionTimestamp": "t"},
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found "
                'new finalizers []string{"x.io/b", "x.io/c"}'
            ],
        ),
        ({"labels": {"/": ""}}, {}, 3),
    ],
)
def test_updates_keep_what_is_fixed(change: dict[str, Any], stored: dict[str, Any], expected: Any) -> None:
    found = [str(error) for error in validate_update(STORED | change, STORED | stored)]
    assert found == expected if isinstance(expected, list) else len(found) == expected


def test_finalizers_without_a_domain_get_a_warning_once_added() -> None:
    given_meta = {"finalizers": ["foo", "example.com", "example.com/x", "orphan", "kubernetes", "old"]}
    end = "to avoid accidental conflicts with other finalizer writers"
    assert finalizer_warnings(given_meta, {"finalizers": ["old"]}) == [
        f'metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/) {end}',
        f'metadata.finalizers: "foo": prefer a domain-qualified finalizer name {end}',
    ]


def test_a_new_object_loses_what_it_may_not_say_and_gets_what_is_its_own() -> None:
    fresh = {
        "name": "a",
        "uid": "mine",
        "creationTimestamp": "t",
        "deletionTimestamp": "t",
        "selfLink": "/",
        "generation": 5,
    }
    meta.wipe_system_fields(fresh)
    assert fresh == {"name": "a", "generation": 5}
    meta.fill_system_fields(fresh, ManualClock(datetime(2026, 1, 2, 3, 4, 5, 678, UTC)), SeededIds(1))
    assert fresh["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert fresh["uid"] == SeededIds(1).uid()


def test_an_update_cannot_change_or_leave_out_system_fields() -> None:
    new = {"name": "a", "generation": 9, "selfLink": "/", "creationTimestamp": "other", "labels": {"a": "b"}}
    old = STORED | {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}
    meta.restore_system_fields(new, old)
    assert new == {
        "name": "a",
        "uid": "u",
        "generation": 3,
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "t",
        "deletionGracePeriodSeconds": 0,
        "labels": {"a": "b"},
    }
    sent = {"uid": "other", "generation": 9}
    meta.restore_system_fields(sent, {})
    assert sent == {"uid": "other"}


def test_the_namespace_is_that_of_the_request() -> None:
    for given_meta, wanted, expected in [
        ({}, "d", {"namespace": "d"}),
        ({"namespace": "d"}, "d", {"namespace": "d"}),
        ({"namespace": "d"}, "", {}),
    ]:
        meta.fill_namespace(given_meta, wanted)
        assert given_meta == expected
    with pytest.raises(BadRequest, match="does not match the namespace sent on the request"):
        meta.fill_namespace({"namespace": "other"}, "d")


def test_readers_give_empty_values_where_there_is_nothing() -> None:
    trees: list[dict[str, Any]] = [{}, {"metadata": {}}]
    for tree in trees:
        empty = (meta.name(tree), meta.namespace(tree), meta.uid(tree), meta.resource_version(tree), meta.key(tree))
        assert empty == ("",) * 5
        assert (meta.generation(tree), meta.labels(tree), meta.annotations(tree)) == (0, {}, {})
        assert (meta.finalizers(tree), meta.owner_references(tree), meta.managed_fields(tree)) == ([], [], [])
        assert not meta.is_being_deleted(tree)
    full = {"metadata": STORED | {"deletionTimestamp": "t", "labels": {"a": "b"}}}
    assert (meta.key(full), meta.uid(full), meta.generation(full)) == ("d/a", "u", 3)
    assert meta.labels(full) == {"a": "b"}
    assert meta.is_being_deleted(full)
    assert meta.key({"metadata": {"name": "n"}}) == "n"


def test_finalizers_are_added_once() -> None:
    tree: dict[str, Any] = {}
    assert [meta.add_finalizer(tree, "x.io/a"), meta.add_finalizer(tree, "x.io/a")] == [True, False]
    assert tree == {"metadata": {"finalizers": ["x.io/a"]}}
