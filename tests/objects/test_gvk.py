"""Coordinates of objects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.gvk import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    version_priority,
)

from .tables import refusal


@pytest.mark.parametrize(
    ("text", "group", "version"),
    [("v1", "", "v1"), ("apps/v1", "apps", "v1"), ("", "", ""), ("/", "", ""), ("a/", "a", ""), ("/v1", "", "v1")],
)
def test_an_api_version_is_a_group_and_a_version(text: str, group: str, version: str) -> None:
    assert GroupVersion.parse(text) == GroupVersion(group, version)


def test_an_api_version_has_at_most_one_slash() -> None:
    assert refusal(GroupVersion.parse, "a/b/c") == "unexpected GroupVersion string: a/b/c"


def test_coordinates_print_as_go_prints_them() -> None:
    printed = [
        str(GroupVersion("", "v1")),
        str(GroupVersion("apps", "v1")),
        str(GroupKind("ex.com", "Widget")),
        str(GroupKind("", "Pod")),
        str(GroupResource("ex.com", "widgets")),
        str(GroupVersionKind("", "v1", "Secret")),
        str(GroupVersionResource("apps", "v1", "deployments")),
    ]
    assert printed == [
        "v1",
        "apps/v1",
        "Widget.ex.com",
        "Pod",
        "widgets.ex.com",
        "/v1, Kind=Secret",
        "apps/v1, Resource=deployments",
    ]


def test_coordinates_convert_into_one_another() -> None:
    gvk = GroupVersion("apps", "v1").with_kind("Deployment")
    gvr = GroupVersionResource("apps", "v1", "deployments")
    assert (gvk.api_version, gvk.group_kind) == ("apps/v1", GroupKind.parse("Deployment.apps"))
    assert (gvr.group_resource, gvr.group_version) == (GroupResource.parse("deployments.apps"), gvk.group_version)
    assert len({GroupKind("a", "b"), GroupResource("a", "b")}) == 2
    assert len({gvk, GroupVersionKind("apps", "v1", "Deployment")}) == 1


def test_an_object_says_what_it_is() -> None:
    assert GroupVersionKind.of({"apiVersion": "a/v1", "kind": "B"}) == GroupVersionKind("a", "v1", "B")
    assert GroupVersionKind.of({"apiVersion": 5, "kind": []}) == GroupVersionKind("", "", "")


def test_versions_are_sorted_by_stability_then_age() -> None:
    given_order = ["foo", "v1alpha1", "v10", "v1", "v2beta1", "v1beta2", "v11alpha2", "bar", "v2", "v1beta1", "v1\n"]
    assert sorted(given_order, key=version_priority) == [
        "v10",
        "v2",
        "v1",
        "v2beta1",
        "v1beta2",
        "v1beta1",
        "v11alpha2",
        "v1alpha1",
        "bar",
        "foo",
        "v1\n",
    ]


@given(st.text())
def test_every_version_has_a_place(version: str) -> None:
    assert version_priority(version) == version_priority(version)
    assert version_priority("v1") <= version_priority(version) or version.startswith("v")
