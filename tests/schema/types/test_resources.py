"""Classes as definitions: names, versions, columns, subresources, and objects in and out."""

# ruff: noqa: RUF012 -- msgspec makes a new list or dict for each object

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object as Tree
from setpoint.schema.types import (
    Column,
    Duration,
    Int32,
    ListMap,
    Maximum,
    MaxLength,
    Minimum,
    Model,
    ModelError,
    ObjectMeta,
    Resource,
    Rule,
    Scale,
    WebhookConversion,
    crd_of,
    rule,
)
from setpoint.schema.types.model import ModelMeta


class Part(Model):
    name: str
    count: int = 1


class WidgetSpec(Model):
    """What a widget should be."""

    size: Annotated[int, Minimum(1), Maximum(10)]
    """How big."""
    color: Literal["red", "blue"] = "red"
    parts: Annotated[list[Part], ListMap("name")] = []
    replicas: Int32 = 1
    wait_for: Duration | None = None
    memory: Quantity | None = None
    owner: Annotated[str | None, MaxLength(9), Rule(rule="self == oldSelf", message="owner is fixed")] = None


class WidgetStatus(Model):
    replicas: Int32 = 0
    selector: str = ""
    ready_since: datetime | None = None


@rule("self.spec.size < 5 || self.spec.color == 'red'", message="big widgets are red")
class Widget(
    Resource,
    group="ex.com",
    version="v1",
    short_names=["wd"],
    categories=["all"],
    columns=[
        Column("Size", ".spec.size"),
        Column("Ready", ".status.readySince", priority=1),
        Column("First", ".spec.parts[0].name"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
    scale=Scale(selector=".status.selector"),
    selectable_fields=[".spec.color"],
):
    """A thing that does something."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


class WidgetV2(Widget, version="v2beta1", deprecated="use v1", selectable_fields=[]):
    spec: WidgetSpec
    note: str | None = None


def version_of(tree: Tree, name: str = "v1") -> Tree:
    return next(version for version in tree["spec"]["versions"] if version["name"] == name)


@pytest.mark.feature("E45", "E84")
def test_a_class_says_everything_about_its_kind() -> None:
    tree = Widget.crd()
    assert tree["metadata"] == {"name": "widgets.ex.com"}
    spec = tree["spec"]
    assert spec["group"] == "ex.com"
    assert spec["scope"] == "Namespaced"
    assert spec["conversion"] == {"strategy": "None"}
    assert spec["names"] == {
        "kind": "Widget",
        "listKind": "WidgetList",
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["wd"],
        "categories": ["all"],
    }
    version = version_of(tree)
    assert version["additionalPrinterColumns"] == [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "date", "jsonPath": ".status.readySince", "priority": 1},
        {"name": "First", "type": "string", "jsonPath": ".spec.parts[0].name"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert version["selectableFields"] == [{"jsonPath": ".spec.color"}]


def test_the_root_of_the_schema_has_what_every_object_has() -> None:
    schema = version_of(Widget.crd())["schema"]["openAPIV3Schema"]
    assert schema["description"] == "A thing that does something."
    assert schema["required"] == ["spec"]
    assert sorted(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert schema["properties"]["metadata"] == {"type": "object"}
    assert schema["properties"]["spec"]["properties"]["size"]["description"] == "How big."
    assert schema["x-kubernetes-validations"][0]["message"] == "big widgets are red"


def test_a_definition_is_the_same_text_in_every_process() -> None:
    code = "import json; from tests.schema.types.test_resources import Widget; print(json.dumps(Widget.crd()))"
    here = json.dumps(Widget.crd())
    assert here == json.dumps(Widget.crd())
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == here


def test_versions_of_one_kind_make_one_definition() -> None:
    tree = crd_of(WidgetV2, Widget)
    assert [(v["name"], v["served"], v["storage"]) for v in tree["spec"]["versions"]] == [
        ("v1", True, True),
        ("v2beta1", True, False),
    ]
    old = version_of(tree, "v2beta1")
    assert (old["deprecated"], old["deprecationWarning"]) == (True, "use v1")
    assert "note" in old["schema"]["openAPIV3Schema"]["properties"]
    assert [rule["message"] for rule in old["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]] == [
        "big widgets are red"
    ]


@pytest.mark.parametrize("storage", [WidgetV2, "v2beta1"])
def test_the_storage_version_can_be_chosen(storage: Any) -> None:
    tree = crd_of(WidgetV2, Widget, storage=storage)
    assert [version["name"] for version in tree["spec"]["versions"] if version["storage"]] == ["v2beta1"]


def test_selectable_fields_that_the_api_cannot_take_are_told_with_a_way_out() -> None:
    class Again(Widget, version="v3"):
        note: str | None = None

    with pytest.raises(ModelError, match="give them to one version only"):
        crd_of(Widget, Again)


def test_the_storage_version_must_be_one_of_them() -> None:
    with pytest.raises(ModelError, match="storage='v9' is none of the versions v1"):
        crd_of(Widget, storage="v9")


def test_names_can_be_given() -> None:
    class Policy(Resource, group="ex.com", version="v1", scope="Cluster", singular="rule", list_kind="Policies"):
        spec: dict[str, str] = {}

    tree = Policy.crd()
    assert tree["spec"]["scope"] == "Cluster"
    assert tree["spec"]["names"] == {
        "kind": "Policy",
        "listKind": "Policies",
        "plural": "policies",
        "singular": "rule",
    }
    assert "subresources" not in version_of(tree)


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Widget", "widgets"), ("Policy", "policies"), ("Gateway", "gateways"), ("Box", "boxes"), ("Bus", "buses")],
)
def test_plurals_follow_the_ending(kind: str, plural: str) -> None:
    class Thing(Resource, group="ex.com", version="v1", kind=kind):
        spec: dict[str, str] = {}

    assert Thing.crd()["spec"]["names"]["plural"] == plural


def test_a_status_field_need_not_be_a_subresource() -> None:
    class Plain(Widget, kind="Plain", status_subresource=False, scale=None):
        pass

    assert "subresources" not in version_of(Plain.crd())


@pytest.mark.parametrize(
    ("webhook", "config"),
    [
        (WebhookConversion(url="https://hook.ex.com/convert"), {"url": "https://hook.ex.com/convert"}),
        (
            WebhookConversion(service="ops/hook", path="/convert", ca_bundle="-----BEGIN CERTIFICATE-----"),
            {
                "service": {"namespace": "ops", "name": "hook", "path": "/convert", "port": 443},
                "caBundle": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
            },
        ),
    ],
)
def test_a_webhook_converts_between_versions(webhook: WebhookConversion, config: Tree) -> None:
    class Converted(Widget, kind="Converted", conversion=webhook):
        pass

    assert Converted.crd()["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]},
    }


def test_an_approval_for_a_protected_group_goes_into_the_metadata() -> None:
    class Official(
        Resource, group="x.k8s.io", version="v1", annotations={"api-approved.kubernetes.io": "unapproved, a test"}
    ):
        spec: dict[str, str] = {}

    assert Official.crd()["metadata"]["annotations"] == {"api-approved.kubernetes.io": "unapproved, a test"}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"group": "nodots"}, "Bad: group 'nodots' should be a domain with at least one dot"),
        ({"version": "V1"}, "Bad: version 'V1': a DNS-1035 label"),
        ({"scope": "Galaxy"}, "Bad: .*scope"),
        ({"short_names": "wd"}, r"Bad: short_names is a list; write short_names=\['wd'\]"),
        ({"short_names": ["W D"]}, "Bad: short_names 'W D': a DNS-1035 label"),
        ({"plural": "Bads"}, "Bad: plural 'Bads': a DNS-1035 label"),
        ({"columns": ["Size"]}, "Bad: .*columns"),
        ({"sope": "Cluster"}, "Bad: .*sope"),
    ],
)
def test_what_is_wrong_about_a_kind_is_told_where_the_class_is_written(config: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        ModelMeta("Bad", (Resource,), {}, **({"group": "ex.com", "version": "v1"} | config))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            {"columns": [Column("X", ".spec.sise")]},
            r"Wrong: column 'X' reads \.spec\.sise, but \.spec has color, memory",
        ),
        ({"columns": [Column("X", "spec.size")]}, "must be a simple json path starting with"),
        ({"scale": Scale(spec=".spec.nope")}, r"Wrong: scale reads \.spec\.nope"),
        ({"selectable_fields": [".spec.nope"]}, r"selectableFields\[0\].jsonPath: .*does not refer to a valid field"),
        ({"group": "x.k8s.io"}, "the API would refuse its definition:\n.*approval annotation"),
        ({"conversion": WebhookConversion()}, "a conversion webhook has either a url or a service"),
        ({"conversion": WebhookConversion(service="hook")}, "should read 'namespace/name'"),
    ],
)
def test_what_is_wrong_about_a_definition_is_told_when_it_is_made(config: Any, words: str) -> None:
    wrong: Any = ModelMeta("Wrong", (Widget,), {}, **config)
    with pytest.raises(ModelError, match=words):
        wrong.crd()


def test_a_default_that_its_own_schema_refuses_is_told() -> None:
    class Spec(Model):
        size: Annotated[int, Minimum(1)] = 0

    class Bad(Resource, group="ex.com", version="v1"):
        spec: Spec

    with pytest.raises(ModelError, match=r"Bad: the API would refuse.*\n.*spec\]?\.properties\[size\]\.default"):
        Bad.crd()


def test_a_rule_that_does_not_compile_is_told() -> None:
    @rule("self.nope > 1")
    class Bad(Resource, group="ex.com", version="v1"):
        spec: dict[str, str] = {}

    with pytest.raises(ModelError, match=r"x-kubernetes-validations\[0\]\.rule"):
        Bad.crd()


def test_versions_must_agree_on_their_names() -> None:
    class Other(Resource, group="ex.com", version="v2", kind="Other"):
        spec: dict[str, str] = {}

    with pytest.raises(ModelError, match="versions of one kind only if they agree on kind"):
        crd_of(Widget, Other)


def test_a_version_comes_once() -> None:
    class Again(Widget):
        pass

    with pytest.raises(ModelError, match="Widget and Again are both version v1"):
        crd_of(Widget, Again)


def test_a_class_without_a_group_is_no_kind_yet() -> None:
    class Base(Resource):
        spec: dict[str, str] = {}

    with pytest.raises(ModelError, match="Base is no kind yet: give it a group and a version"):
        Base.crd()
    with pytest.raises(ModelError, match="is no Resource"):
        crd_of(Model)  # type: ignore[arg-type]


def test_a_base_may_say_what_its_kinds_share() -> None:
    class Ours(Resource, group="ours.com", categories=["ours"]):
        pass

    class Lamp(Ours, version="v1"):
        spec: dict[str, str] = {}

    assert Lamp.crd()["metadata"]["name"] == "lamps.ours.com"
    assert Lamp.crd()["spec"]["names"]["categories"] == ["ours"]


def test_a_new_version_is_not_deprecated_because_the_old_one_is() -> None:
    class Lamp(Resource, group="ours.com", version="v1", deprecated=True, served=False):
        spec: dict[str, str] = {}

    class LampV2(Lamp, version="v2"):
        pass

    new, old = crd_of(Lamp, LampV2)["spec"]["versions"]
    assert (new["name"], new["served"], "deprecated" in new) == ("v2", True, False)
    assert (old["name"], old["served"], old["deprecated"]) == ("v1", False, True)


def test_a_rule_belongs_on_a_model() -> None:
    with pytest.raises(TypeError, match="belongs on a class that derives from Model"):

        @rule("true")
        class Other:
            pass


def test_objects_are_read_and_written() -> None:
    tree = {
        "apiVersion": "ex.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {"a": "b"}, "creationTimestamp": "2026-01-31T12:00:00Z"},
        "spec": {
            "size": 3,
            "parts": [{"name": "p", "count": 2}],
            "waitFor": "1m30s",
            "memory": "512Mi",
        },
        "status": {"replicas": 2, "readySince": "2026-01-31T12:00:00Z"},
    }
    widget = Widget.from_json(tree)
    assert widget.spec.wait_for == Duration(seconds=90)
    assert widget.spec.memory == Quantity.parse("512Mi")
    assert widget.spec.color == "red"
    assert widget.status is not None
    assert widget.status.ready_since == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert widget.to_json() == tree


def test_an_object_is_made_by_keywords_alone() -> None:
    widget = Widget(metadata=ObjectMeta(name="w"), spec=WidgetSpec(size=3))
    assert widget.to_json() == {
        "apiVersion": "ex.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"size": 3},
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "Gadget"}, "Expected `ex.com/v1, Kind=Widget`, got `ex.com/v1, Kind=Gadget`"),
        ({"spec": {}}, "missing required field `size`"),
        ({"spec": {"size": "big"}}, r"Expected `int`, got `str` - at `\$.spec.size`"),
        ({"spec": {"size": 1, "waitFor": "soon"}}, "invalid duration"),
    ],
)
def test_an_object_that_does_not_fit_is_refused(change: Tree, words: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=words):
        Widget.from_json({"apiVersion": "ex.com/v1", "kind": "Widget", "spec": {"size": 1}} | change)
