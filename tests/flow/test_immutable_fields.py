"""Immutable fields: the change that a server would refuse is predicted, and its refusal recognized."""

import pytest

from setpoint.flow.immutable_fields import is_refusal, must_replace
from setpoint.objects.errors import Invalid, StatusCause
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object

DEPLOYMENT = GroupKind("apps", "Deployment")
STATEFUL_SET = GroupKind("apps", "StatefulSet")
CONFIG_MAP, SECRET = GroupKind("", "ConfigMap"), GroupKind("", "Secret")


@pytest.mark.parametrize(
    ("kind", "wanted", "live", "field"),
    [
        (DEPLOYMENT, {"spec": {"selector": {"a": "1"}}}, {"spec": {"selector": {"a": "1"}}}, ""),
        (DEPLOYMENT, {"spec": {"selector": {"a": "2"}}}, {"spec": {"selector": {"a": "1"}}}, "spec.selector"),
        # A server may add fields to the one that was applied.
        (DEPLOYMENT, {"spec": {"selector": {"a": "1"}}}, {"spec": {"selector": {"a": "1", "b": "2"}}}, ""),
        (DEPLOYMENT, {"spec": {}}, {"spec": {"selector": {"a": "1"}}}, ""),
        (DEPLOYMENT, {}, {"spec": {"selector": {"a": "1"}}}, ""),
        (DEPLOYMENT, {"spec": {"selector": {"a": "1"}}}, {}, "spec.selector"),
        (DEPLOYMENT, {"spec": {"replicas": 2}}, {"spec": {"replicas": 1}}, ""),
        (STATEFUL_SET, {"spec": {"serviceName": "b"}}, {"spec": {"serviceName": "a"}}, "spec.serviceName"),
        (
            GroupKind("batch", "Job"),
            {"spec": {"template": {"x": 2}}},
            {"spec": {"template": {"x": 1}}},
            "spec.template",
        ),
        (GroupKind("apps", "Unknown"), {"spec": {"selector": 2}}, {"spec": {"selector": 1}}, ""),
        (SECRET, {"type": "b"}, {"type": "a"}, "type"),
        (CONFIG_MAP, {"data": {"a": "2"}}, {"data": {"a": "1"}}, ""),
        (CONFIG_MAP, {"data": {"a": "2"}}, {"data": {"a": "1"}, "immutable": False}, ""),
        (CONFIG_MAP, {"data": {"a": "2"}}, {"data": {"a": "1"}, "immutable": "true"}, ""),
        (CONFIG_MAP, {"data": {"a": "2"}}, {"data": {"a": "1"}, "immutable": True}, "data"),
        (CONFIG_MAP, {"data": {"a": "1"}}, {"data": {"a": "1"}, "immutable": True}, ""),
        (CONFIG_MAP, {}, {"data": {"a": "1"}, "immutable": True}, "data"),
        (CONFIG_MAP, {"data": {"a": "1"}}, {"immutable": True}, "data"),
        (CONFIG_MAP, {"data": {}}, {"immutable": True}, ""),
        (CONFIG_MAP, {"binaryData": {"a": "1"}}, {"binaryData": {"a": "2"}, "immutable": True}, "binaryData"),
        (SECRET, {"data": {"a": "2"}}, {"data": {"a": "1"}, "immutable": True}, "data"),
        (SECRET, {"stringData": {"a": "2"}}, {"immutable": True}, ""),
    ],
)
def test_a_change_of_an_immutable_field_is_predicted(kind: GroupKind, wanted: Object, live: Object, field: str) -> None:
    assert must_replace(kind, wanted, live) == field


@pytest.mark.parametrize(
    ("message", "causes", "expected"),
    [
        ("field is immutable", [], True),
        ("updates to statefulset spec for fields other than ... are forbidden", [], True),
        ("invalid", [], False),
        ("invalid", ["required"], False),
        ("invalid", ["required", "field is immutable"], True),
    ],
)
def test_a_refusal_because_of_an_immutable_field_is_recognized(message: str, causes: list[str], expected: bool) -> None:
    error = Invalid(message, causes=[StatusCause("FieldValueInvalid", text, "spec") for text in causes])
    assert is_refusal(error) is expected
