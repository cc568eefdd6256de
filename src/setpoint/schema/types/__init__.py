"""Python classes as kinds of the API: a class defines its CustomResourceDefinition.

class WidgetSpec(Model): \"\"\"The desired state of a widget.\"\"\"

    size: Annotated[int, Minimum(1), Maximum(10)]
    color: Literal["red", "blue"] = "red"
    ports: Annotated[list[Port], ListMap("name")] = []

@rule("self.spec.size < 5 || self.spec.color == 'red'", message="big widgets are red") class Widget(Resource,
group="ex.com", version="v1", columns=[Column("Size", ".spec.size")]): spec: WidgetSpec

Widget.crd()
"""

from typing import Any, TypeAlias

from setpoint.objects.quantity import Quantity
from setpoint.schema.types.crd import crd_of
from setpoint.schema.types.frozen import freeze, is_frozen, thaw
from setpoint.schema.types.markers import (
    Default,
    Description,
    EmbeddedResource,
    Example,
    ExclusiveMaximum,
    ExclusiveMinimum,
    Format,
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
    MultipleOf,
    NoDefault,
    Nullable,
    Pattern,
    PreserveUnknownFields,
    Rule,
    Title,
    rule,
)
from setpoint.schema.types.meta import ObjectMeta, OwnerReference
from setpoint.schema.types.model import Model, ModelError
from setpoint.schema.types.resource import Column, Resource, Scale, WebhookConversion
from setpoint.schema.types.scalars import Duration, Float32, Float64, Int32, Int64, IntOrString, MicroTime
from setpoint.schema.types.unknown import unknown_fields

# A JSON object of any shape.
Object: TypeAlias = dict[str, Any]

__all__ = [
    "Column",
    "Default",
    "Description",
    "Duration",
    "EmbeddedResource",
    "Example",
    "ExclusiveMaximum",
    "ExclusiveMinimum",
    "Float32",
    "Float64",
    "Format",
    "Int32",
    "Int64",
    "IntOrString",
    "KubernetesType",
    "ListMap",
    "ListType",
    "MapType",
    "MaxItems",
    "MaxLength",
    "MaxProperties",
    "Maximum",
    "MicroTime",
    "MinItems",
    "MinLength",
    "MinProperties",
    "Minimum",
    "Model",
    "ModelError",
    "MultipleOf",
    "NoDefault",
    "Nullable",
    "Object",
    "ObjectMeta",
    "OwnerReference",
    "Pattern",
    "PreserveUnknownFields",
    "Quantity",
    "Resource",
    "Rule",
    "Scale",
    "Title",
    "WebhookConversion",
    "crd_of",
    "freeze",
    "is_frozen",
    "rule",
    "thaw",
    "unknown_fields",
]
