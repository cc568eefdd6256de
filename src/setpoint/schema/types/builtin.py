"""The classes of the built-in kinds and their parts, built from the shipped definitions on first use.

`setpoint.api` exports them under their usual names. Only this module contains the rules that convert a definition to a
class: the stubs for editors and mypy (`tools/api_stubs.py`) use them too.

* A struct that Go always has (not a pointer: its default is `{}`) is always present; so are lists and maps, which may
  be empty.
* Any other field may be None, which means absent. The stubs make required fields mandatory when an object is
  constructed; when an object is read, a required field may be missing like any other, and then has Go's zero value.
"""

import importlib
import keyword
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, Union

import msgspec

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.schema import builtin
from setpoint.schema.types.meta import ObjectMeta, OwnerReference
from setpoint.schema.types.model import Model, ModelMeta
from setpoint.schema.types.resource import Resource
from setpoint.schema.types.scalars import MicroTime

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
# The prefixes before the group, version and name of a definition that has a class.
_PREFIXES = (
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
)
_EMPTY: Object = {}

# The description of the type of a field: `("list", of)`, `("dict", of)`, `("model", name of its definition)`,
# `("union", of, ...)`, or `("scalar", name)`.
Type: TypeAlias = tuple[Any, ...]
_ANY: Type = ("scalar", "Any")
_SCHEMA: Type = ("model", f"{_CRD}.JSONSchemaProps")

SCALARS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "datetime": datetime,
    "datetime | None": datetime | None,
    "MicroTime": MicroTime,
    "Quantity": Quantity,
    "int | str": int | str,
    "Any": Any,
}
_ZERO = ("str", "int", "float", "bool")
_KNOWN: dict[str, Type] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("scalar", "Quantity"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("scalar", "int | str"),
    f"{META}.Time": ("scalar", "datetime"),
    f"{META}.MicroTime": ("scalar", "MicroTime"),
    f"{_CRD}.JSONSchemaPropsOrArray": ("union", _SCHEMA, ("list", _SCHEMA)),
    f"{_CRD}.JSONSchemaPropsOrBool": ("union", _SCHEMA, ("scalar", "bool")),
    f"{_CRD}.JSONSchemaPropsOrStringArray": ("union", _SCHEMA, ("list", ("scalar", "str"))),
}
# The classes that are defined in Python.
_WRITTEN = {f"{META}.ObjectMeta": ObjectMeta, f"{META}.OwnerReference": OwnerReference}

_TAKEN = ("bool", "bytes", "dict", "float", "int", "list", "str")
_WORD = re.compile(r"[A-Z]+s(?![a-z0-9])|[A-Z]+(?![a-z0-9])|[A-Z]?[a-z0-9]+")

_CLUSTER_SCOPED = {
    *("APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding"),
    *("ClusterTrustBundle", "ComponentStatus", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule"),
    *("FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    *("MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass"),
    *("PriorityLevelConfiguration", "ResourcePoolStatusRequest", "ResourceSlice", "RuntimeClass"),
    *("SelfSubjectAccessReview", "SelfSubjectReview", "SelfSubjectRulesReview", "ServiceCIDR", "StorageClass"),
    *("StorageVersion", "StorageVersionMigration", "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy"),
    *(
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ),
}


class BuiltinField(NamedTuple):
    """A field of a definition, as its class declares the field."""

    name: str
    wire: str
    type: Type
    # True if the constructor requires the field.
    is_required: bool
    # True for a struct that Go always has.
    is_made: bool

    @property
    def is_optional(self) -> bool:
        """True if an absent field is None."""
        return not (self.is_made or self.is_required or self.type[0] in ("list", "dict"))


def snake_case(name: str) -> str:
    """Converts a JSON name to a Python name: `podCIDRs` is `pod_cidrs`; a reserved word gets a trailing `_`."""
    found = "_".join(_WORD.findall(name)).lower()
    return f"{found}_" if keyword.iskeyword(found) or found in _TAKEN else found


def module_of(name: str) -> str:
    """Returns the module of a definition: `apps.v1`; empty for definitions without a group."""
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
    return name.removeprefix(prefix).rpartition(".")[0] if prefix is not None else ""


def definitions_in(module: str) -> dict[str, str]:
    """Returns the classes of a module, with the names of their definitions."""
    found = (name for name in sorted(builtin.names()) if module_of(name) == module and has_class(name))
    return {name.rpartition(".")[2]: name for name in found}


def has_class(name: str) -> bool:
    """Returns True if a definition is a struct; all others are scalars or arbitrary values."""
    node = builtin.definition(name)
    return node.get("type") == "object" and "x-kubernetes-preserve-unknown-fields" not in node


def type_of(node: Object) -> Type:
    """Returns the type of a field."""
    if reference := node.get("$ref"):
        name = reference.removeprefix("#/definitions/")
        if name in _KNOWN:
            return _KNOWN[name]
        return ("model", name) if has_class(name) else type_of(builtin.definition(name))
    match node.get("type"):
        case "array":
            return ("list", type_of(node["items"]))
        case "object":
            inner = type_of(node.get("additionalProperties", _EMPTY))
            # Go encodes a zero time as null, which a map cannot omit.
            return ("dict", ("scalar", "datetime | None") if inner == ("scalar", "datetime") else inner)
        case "string" if node.get("format") in ("byte", "date-time"):
            return ("scalar", "bytes" if node["format"] == "byte" else "datetime")
        case "string" | "integer" | "number" | "boolean" as kind:
            return ("scalar", {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind])
    return _ANY


def fields_of(name: str) -> Iterator[BuiltinField]:
    """Yields the fields of a definition, except those that the class of a kind already has."""
    node = builtin.definition(name)
    required = node.get("required", ())
    for wire, field in node.get("properties", _EMPTY).items():
        if is_kind(name) and wire in ("apiVersion", "kind", "metadata"):
            continue
        is_made = field.get("default") == {} and "$ref" in field
        yield BuiltinField(snake_case(wire), wire, type_of(field), wire in required and not is_made, is_made)


def is_kind(name: str) -> bool:
    """Returns True if a definition is an object with metadata, and thus a Resource."""
    node = builtin.definition(name)
    metadata = node.get("properties", _EMPTY).get("metadata", _EMPTY).get("$ref", "")
    return "x-kubernetes-group-version-kind" in node and str(metadata).endswith(".ObjectMeta")


def gvk_of(name: str) -> GroupVersionKind:
    """Returns the group, version and kind of a definition."""
    entry = builtin.definition(name)["x-kubernetes-group-version-kind"][0]
    return GroupVersionKind(entry["group"], entry["version"], entry["kind"])


@lru_cache(maxsize=4096)
def class_of(name: str) -> Any:
    """Returns the class of a definition, and creates the classes of its parts as well."""
    if name in _WRITTEN:
        return _WRITTEN[name]
    module, class_name = f"setpoint.api.{module_of(name)}", name.rpartition(".")[2]
    fields = list(fields_of(name))
    annotations = {field.name: _annotation(field, name) for field in fields}
    namespace: dict[str, Any] = {field.name: _default(field, annotations[field.name]) for field in fields}
    namespace |= {
        "__module__": module,
        "__qualname__": class_name,
        "__annotations__": annotations,
        "__definition__": name,
    }
    rename = {field.name: field.wire for field in fields}
    if is_kind(name):
        made = ModelMeta(class_name, (Resource,), namespace, rename=rename, **_config(gvk_of(name)))
    else:
        made = ModelMeta(class_name, (Model,), namespace, rename=rename)
    if any(isinstance(annotation, str) for annotation in annotations.values()):
        # The class is looked up by name.
        vars(importlib.import_module(module))[class_name] = made
    return made


def _config(kind: GroupVersionKind) -> dict[str, Any]:
    scope = "Cluster" if kind.kind in _CLUSTER_SCOPED else "Namespaced"
    plural = {"plural": "endpoints"} if kind.kind == "Endpoints" else {}
    return {"group": kind.group, "version": kind.version, "kind": kind.kind, "scope": scope, **plural}


def _annotation(field: BuiltinField, owner: str) -> Any:
    has_none = field.is_optional or (field.is_required and _zero(field) is None)
    if _contains(field.type, owner):
        # A type that contains itself is referenced by name, because the class does not exist yet.
        text = type_text(field.type)
        return f"{text} | None" if field.is_optional else text
    found = _python_type(field.type)
    return found | None if has_none and found is not Any else found


def _contains(type_: Type, name: str) -> bool:
    if type_[0] == "model":
        return bool(type_[1] == name)
    return type_[0] != "scalar" and any(_contains(part, name) for part in type_[1:])


def _python_type(type_: Type) -> Any:
    match type_:
        case ("list", of):
            return list[_python_type(of)]  # type: ignore[misc]
        case ("dict", of):
            return dict[str, _python_type(of)]  # type: ignore[misc]
        case ("model", name):
            return class_of(name)
        case ("union", *parts):
            return Union[tuple(map(_python_type, parts))]  # noqa: UP007
    return SCALARS[type_[1]]


def type_text(type_: Type) -> str:
    """Formats a type as Python source."""
    match type_:
        case ("list", of):
            return f"list[{type_text(of)}]"
        case ("dict", of):
            return f"dict[str, {type_text(of)}]"
        case ("model", name):
            return str(name).rpartition(".")[2]
        case ("union", *parts):
            return " | ".join(map(type_text, parts))
    return str(type_[1])


def _zero(field: BuiltinField) -> Any:
    """Returns the type of Go's zero value, if that is a scalar."""
    return SCALARS[field.type[1]] if field.type[0] == "scalar" and field.type[1] in _ZERO else None


def _default(field: BuiltinField, annotation: Any) -> Any:
    if field.type[0] in ("list", "dict"):
        return msgspec.field(default_factory=list if field.type[0] == "list" else dict)
    if field.is_made:
        return msgspec.field(default_factory=annotation)
    # A factory, because fields that Go writes even if zero must be written here too.
    if field.is_required and (zero := _zero(field)) is not None:
        return msgspec.field(default_factory=zero)
    return None


def lookup(module: str, name: str) -> Any:
    """Returns the attribute of a module of the API. Raises AttributeError."""
    place = module.removeprefix("setpoint.api.")
    if name == "__all__":
        return list(definitions_in(place))
    for prefix in _PREFIXES:
        definition = f"{prefix}{place}.{name}"
        if definition in builtin.names() and has_class(definition):
            found = vars(sys.modules[module])[name] = class_of(definition)
            return found
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
