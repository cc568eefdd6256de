"""Coordinates of objects, and the scheme that gives kinds their types."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    version_priority,
)
from setpoint.objects.scheme import Scheme

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
    gvr = GroupVersion("apps", "v1").with_resource("deployments")
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


class Spec(msgspec.Struct):
    size: int = 0


class Widget(msgspec.Struct, omit_defaults=True):
    metadata: dict[str, str] = {}
    spec: Spec = msgspec.field(default_factory=Spec)


class OldWidget(Widget):
    pass


V1 = GroupVersionKind("ex.com", "v1", "Widget")
V1BETA1 = GroupVersionKind("ex.com", "v1beta1", "Widget")


@pytest.fixture
def scheme() -> Scheme:
    scheme = Scheme()
    scheme.register(V1BETA1, OldWidget)
    scheme.register(V1, Widget)
    return scheme


def test_a_registered_kind_becomes_its_type_and_back(scheme: Scheme) -> None:
    tree = {"apiVersion": "ex.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3}}
    widget = scheme.decode(tree)
    assert isinstance(widget, Widget)
    assert widget.spec.size == 3
    assert scheme.encode(widget) == tree


def test_an_unregistered_kind_stays_a_tree(scheme: Scheme) -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert scheme.decode(tree) is tree
    assert scheme.encode(tree) is tree
    assert scheme.type_of(GroupVersionKind.of(tree)) is None
    assert scheme.kind_of(tree) == GroupVersionKind("", "v1", "ConfigMap")


@pytest.mark.feature("E45")
def test_kinds_are_found_by_type_and_by_object(scheme: Scheme) -> None:
    assert scheme.kind_of(Widget) == scheme.kind_of(Widget()) == V1
    assert list(scheme.kinds()) == [V1, V1BETA1]
    assert scheme.preferred_version(V1.group_kind) == "v1"
    assert scheme.preferred_version(GroupKind("", "Pod")) is None


def test_a_type_and_a_kind_belong_to_each_other(scheme: Scheme) -> None:
    scheme.register(V1, Widget)
    with pytest.raises(ValueError, match="registered already, as Widget"):
        scheme.register(V1, OldWidget)
    with pytest.raises(ValueError, match=r"registered already, for ex\.com/v1, Kind=Widget"):
        scheme.register(GroupVersionKind("", "v1", "Other"), Widget)
    with pytest.raises(ValueError, match="no kind is registered for the type Spec"):
        scheme.kind_of(Spec())


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"apiVersion": "a/b/c", "kind": "X"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": "X"}, "does not say its apiVersion and kind"),
        (
            {"apiVersion": "ex.com/v1", "kind": "Widget", "spec": {"size": "big"}},
            r"does not decode as Widget: Expected `int`, got `str` - at `\$.spec.size`",
        ),
    ],
)
def test_an_object_that_does_not_decode_is_a_bad_request(scheme: Scheme, tree: dict[str, object], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        scheme.decode(tree)


@pytest.mark.feature("E45")
def test_schemes_know_nothing_of_each_other(scheme: Scheme) -> None:
    assert list(Scheme().kinds()) == []
