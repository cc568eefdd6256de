"""Annotations as schemas: every type and every marker, and the words for what cannot be said."""

# ruff: noqa: RUF012 -- msgspec makes a new list or dict for each object

from __future__ import annotations

import enum
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar
from uuid import UUID

import msgspec
import pytest

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object as Tree
from setpoint.schema.crd.definition_validation import validate_create
from setpoint.schema.types import (
    Default,
    Description,
    Duration,
    EmbeddedResource,
    Example,
    ExclusiveMaximum,
    ExclusiveMinimum,
    Float32,
    Float64,
    Format,
    Int32,
    Int64,
    IntOrString,
    KubernetesType,
    ListMap,
    ListType,
    MapType,
    Maximum,
    MaxItems,
    MaxLength,
    MaxProperties,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    Model,
    ModelError,
    MultipleOf,
    NoDefault,
    Nullable,
    Object,
    Pattern,
    PreserveUnknownFields,
    Resource,
    Rule,
    Title,
    crd_of,
    rule,
)
from setpoint.schema.types.model import ModelMeta


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Port(Model):
    """Where it listens."""

    name: str
    port_number: Int32
    """Between 1 and 65535."""
    protocol: Literal["TCP", "UDP"] = "TCP"


class Limits(Model):
    cpu: int = 1
    memory: int | None = None


class Ref(Model, map_type=MapType.ATOMIC):
    name: str


class Open(Model, preserve_unknown_fields=True):
    known: str = ""


@rule("self.low <= self.high", message="low may not exceed high", field_path=".low")
@rule("self.high < 100", reason="FieldValueForbidden")
class Range(Model):
    low: int
    high: int


Name = NewType("Name", str)
T = TypeVar("T")


def spec_of(annotation: Any, **defaults: Any) -> Tree:
    """The schema of a field of this type, out of a definition that a server would accept."""
    model = ModelMeta("Spec", (Model,), {"__annotations__": {"field": annotation}, "__module__": __name__, **defaults})
    kind = ModelMeta(
        "Thing",
        (Resource,),
        {"__annotations__": {"spec": model}, "__module__": __name__},
        group="ex.com",
        version="v1",
    )
    tree = crd_of(kind)
    assert validate_create(tree | {"status": {"storedVersions": ["v1"]}}) == []
    spec: Tree = tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec


def schema_of(annotation: Any) -> Tree:
    field: Tree = spec_of(annotation)["properties"]["field"]
    return field


TYPES: list[tuple[Any, Tree]] = [
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (Int32, {"type": "integer", "format": "int32"}),
    (Int64, {"type": "integer", "format": "int64"}),
    (Float32, {"type": "number", "format": "float"}),
    (Float64, {"type": "number", "format": "double"}),
    (bytes, {"type": "string", "format": "byte"}),
    (datetime, {"type": "string", "format": "date-time"}),
    (date, {"type": "string", "format": "date"}),
    (Duration, {"type": "string", "format": "duration"}),
    (UUID, {"type": "string", "format": "uuid"}),
    (Name, {"type": "string"}),
    (Any, {"x-kubernetes-preserve-unknown-fields": True}),
    (IntOrString, {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    (Literal["a", None], {"type": "string", "enum": ["a", None], "nullable": True}),
    (list[str], {"type": "array", "items": {"type": "string"}}),
    (list[str | None], {"type": "array", "items": {"type": "string", "nullable": True}}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
    (frozenset[int], {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (
        dict[str, list[str]],
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    ),
    (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    (
        Annotated[Object, EmbeddedResource()],
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    ),
    (
        Annotated[dict[str, str], PreserveUnknownFields()],
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
    (
        Ref,
        {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "x-kubernetes-map-type": "atomic",
        },
    ),
    (
        Open,
        {
            "type": "object",
            "properties": {"known": {"type": "string", "default": ""}},
            "x-kubernetes-preserve-unknown-fields": True,
        },
    ),
    (Annotated[int, Minimum(1), Maximum(10)], {"type": "integer", "minimum": 1, "maximum": 10}),
    (Annotated[int, Minimum(0)], {"type": "integer", "minimum": 0}),
    (
        Annotated[float, ExclusiveMinimum(0), ExclusiveMaximum(1.5)],
        {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1.5, "exclusiveMaximum": True},
    ),
    (Annotated[int, MultipleOf(5)], {"type": "integer", "multipleOf": 5}),
    (Annotated[str, MinLength(1), MaxLength(5)], {"type": "string", "minLength": 1, "maxLength": 5}),
    (Annotated[str, Pattern("^[a-z]+$")], {"type": "string", "pattern": "^[a-z]+$"}),
    (Annotated[str, Format("ipv4")], {"type": "string", "format": "ipv4"}),
    (
        Annotated[list[Annotated[str, MaxLength(9)]], MinItems(1), MaxItems(3), ListType.SET],
        {
            "type": "array",
            "items": {"type": "string", "maxLength": 9},
            "minItems": 1,
            "maxItems": 3,
            "x-kubernetes-list-type": "set",
        },
    ),
    (
        Annotated[list[str], ListType.ATOMIC],
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
    ),
    (
        Annotated[dict[str, str], MinProperties(1), MaxProperties(3), MapType.ATOMIC],
        {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "minProperties": 1,
            "maxProperties": 3,
            "x-kubernetes-map-type": "atomic",
        },
    ),
    (
        Annotated[str, Title("T"), Description("D"), Example("E")],
        {"type": "string", "title": "T", "description": "D", "example": "E"},
    ),
    (Annotated[str, Default("x")], {"type": "string", "default": "x"}),
    (Annotated[str | None, Nullable()], {"type": "string", "nullable": True}),
    (
        Annotated[str, Rule(rule="self == oldSelf", message="fixed"), MaxLength(9)],
        {
            "type": "string",
            "maxLength": 9,
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed"}],
        },
    ),
    (
        Annotated[int, msgspec.Meta(gt=0, le=9, multiple_of=3, title="T", description="D", examples=[3])],
        {
            "type": "integer",
            "minimum": 0,
            "exclusiveMinimum": True,
            "maximum": 9,
            "multipleOf": 3,
            "title": "T",
            "description": "D",
            "example": 3,
        },
    ),
    (
        Annotated[str, msgspec.Meta(min_length=1, max_length=5, pattern="^a")],
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
    ),
    (
        Annotated[list[int], msgspec.Meta(max_length=5)],
        {"type": "array", "items": {"type": "integer"}, "maxItems": 5},
    ),
    (
        Annotated[dict[str, int], msgspec.Meta(max_length=5)],
        {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 5},
    ),
]


@pytest.mark.parametrize(("annotation", "schema"), TYPES, ids=[str(annotation) for annotation, _ in TYPES])
def test_a_type_has_its_schema(annotation: Any, schema: Tree) -> None:
    assert schema_of(annotation) == schema


def test_a_quantity_is_a_number_or_a_text_with_a_suffix() -> None:
    schema = schema_of(Quantity)
    assert schema["x-kubernetes-int-or-string"] is True
    assert "[KMGTPE]i" in schema["pattern"]


def test_a_nested_model_brings_its_fields_descriptions_and_defaults() -> None:
    assert schema_of(Port) == {
        "type": "object",
        "description": "Where it listens.",
        "properties": {
            "name": {"type": "string"},
            "portNumber": {"type": "integer", "format": "int32", "description": "Between 1 and 65535."},
            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
        },
        "required": ["name", "portNumber"],
    }


def test_a_list_merged_by_key_names_its_keys_as_on_the_wire() -> None:
    schema = schema_of(Annotated[list[Port], ListMap("port_number", "protocol")])
    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["portNumber", "protocol"]


@pytest.mark.feature("E84")
def test_rules_of_a_class_come_in_the_order_they_are_written() -> None:
    assert schema_of(Range)["x-kubernetes-validations"] == [
        {"rule": "self.low <= self.high", "message": "low may not exceed high", "fieldPath": ".low"},
        {"rule": "self.high < 100", "reason": "FieldValueForbidden"},
    ]


def test_rules_are_inherited() -> None:
    @rule("self.low > 0")
    class Narrow(Range):
        pass

    rules = [found["rule"] for found in schema_of(Narrow)["x-kubernetes-validations"]]
    assert rules == ["self.low <= self.high", "self.high < 100", "self.low > 0"]


@pytest.mark.parametrize(
    ("annotation", "default", "required", "schema"),
    [
        pytest.param(int, 3, False, {"type": "integer", "default": 3}, id="a default is the server's default"),
        pytest.param(int, 0, False, {"type": "integer", "default": 0}, id="zero is a default"),
        pytest.param(bool, False, False, {"type": "boolean", "default": False}, id="false is a default"),
        pytest.param(int | None, None, False, {"type": "integer"}, id="None means it may be absent"),
        pytest.param(Optional[int], None, False, {"type": "integer"}, id="so does Optional"),  # noqa: UP045
        pytest.param(
            list[str], [], False, {"type": "array", "items": {"type": "string"}}, id="an empty list may be absent"
        ),
        pytest.param(
            dict[str, str],
            {},
            False,
            {"type": "object", "additionalProperties": {"type": "string"}},
            id="an empty map may be absent",
        ),
        pytest.param(
            list[str],
            msgspec.field(default_factory=lambda: ["a"]),
            False,
            {"type": "array", "items": {"type": "string"}, "default": ["a"]},
            id="what a factory makes is a default",
        ),
        pytest.param(
            set[str],
            msgspec.field(default_factory=lambda: {"b", "a"}),
            False,
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "default": ["a", "b"]},
            id="a set has its default in order",
        ),
        pytest.param(
            Color, Color.BLUE, False, {"type": "string", "enum": ["red", "blue"], "default": "blue"}, id="a member"
        ),
        pytest.param(
            Duration, Duration(minutes=90), False, {"type": "string", "format": "duration", "default": "1h30m0s"},
            id="a duration",
        ),
        pytest.param(
            Annotated[int | None, Default(1)], None, False, {"type": "integer", "default": 1},
            id="a default that only the server has",
        ),
        pytest.param(
            Annotated[int, NoDefault()], 3, False, {"type": "integer"}, id="a default that only Python has"
        ),
        pytest.param(int, msgspec.NODEFAULT, True, {"type": "integer"}, id="no default means required"),
        pytest.param(
            int | None, msgspec.NODEFAULT, True, {"type": "integer", "nullable": True},
            id="required but possibly None is nullable",
        ),
    ],
)  # fmt: skip
def test_defaults(annotation: Any, default: Any, required: bool, schema: Tree) -> None:
    spec = spec_of(annotation) if default is msgspec.NODEFAULT else spec_of(annotation, field=default)
    assert spec["properties"]["field"] == schema
    assert spec.get("required", []) == (["field"] if required else [])


def test_the_default_of_a_model_lets_the_server_fill_it_in() -> None:
    spec = spec_of(Limits, field=msgspec.field(default_factory=Limits))
    assert spec["properties"]["field"]["default"] == {}
    spec = spec_of(Limits, field=msgspec.field(default_factory=lambda: Limits(memory=5)))
    assert spec["properties"]["field"]["default"] == {"memory": 5}


@pytest.mark.parametrize(
    ("api_version", "name"),
    [("v1", "PodTemplateSpec"), ("v1", "Pod"), ("apps/v1", "DeploymentSpec"), ("v1", "Condition")],
)
def test_a_built_in_type_is_written_out(api_version: str, name: str) -> None:
    schema = schema_of(Annotated[Object, KubernetesType(api_version, name)])
    assert schema["type"] == "object"
    assert "$ref" not in str(schema)
    assert schema.get("x-kubernetes-embedded-resource", False) is (name == "Pod")


def test_a_resource_inside_another_is_an_embedded_resource() -> None:
    class Inner(Resource, group="ex.com", version="v1"):
        spec: Limits

    schema = schema_of(Inner)
    assert schema["x-kubernetes-embedded-resource"] is True
    assert sorted(schema["properties"]) == ["apiVersion", "kind", "spec"]


class Loop(Model):
    below: list[Loop] = []


class Tick(Model):
    tock: Tock | None = None


class Tock(Model):
    tick: dict[str, Tick] = {}


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        pytest.param(Loop, r"Loop\.below: Loop contains itself \(Loop -> Loop\).*PreserveUnknownFields", id="itself"),
        pytest.param(Tick, r"Tock\.tick: Tick contains itself \(Tick -> Tock -> Tick\)", id="itself through another"),
        pytest.param(timedelta, r"Spec\.field: .*use Duration", id="timedelta"),
        pytest.param(Decimal, r"Spec\.field: .*use Quantity", id="decimal"),
        pytest.param(list, r"Spec\.field: say what its items are: list\[str\]", id="bare list"),
        pytest.param(dict, r"Spec\.field: say what its values are", id="bare dict"),
        pytest.param(dict[int, str], r"Spec\.field: keys of a map are text", id="keys that are no text"),
        pytest.param(int | bool, r"Spec\.field: a field has one type", id="a union"),
        pytest.param(tuple[int, str], r"Spec\.field: items of a list have one type", id="a tuple of several types"),
        pytest.param(Literal["a", 1], r"Spec\.field: the values of an enum must be all text", id="a mixed enum"),
        pytest.param(range, r"Spec\.field: range has no schema; derive it from Model", id="any other class"),
        pytest.param(Annotated[str, Minimum(1)], r"Spec\.field: Minimum is for type integer or number", id="minimum"),
        pytest.param(Annotated[int, ListType.SET], r"Spec\.field: ListType is for type array", id="list type"),
        pytest.param(Annotated[str, Nullable], r"Spec\.field: write Nullable\(\)", id="a marker without parentheses"),
        pytest.param(
            Annotated[list[Port], ListMap("id")],
            r"Spec\.field: ListMap names the key id.*name, portNumber",
            id="no such key",
        ),
        pytest.param(
            Annotated[Object, KubernetesType("v1", "Podd")],
            r"Spec\.field: Kubernetes .* has no type Podd",
            id="no built-in",
        ),
    ],
)
def test_what_cannot_be_said_is_told_with_a_way_out(annotation: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        schema_of(annotation)


def test_an_annotation_that_names_nothing_is_told() -> None:
    class Lost(Model):
        field: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ModelError, match=r"Lost: an annotation cannot be understood: .*Nowhere"):
        schema_of(Lost)
