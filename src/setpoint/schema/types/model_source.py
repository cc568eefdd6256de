"""Converts a definition to Python source: the classes that describe the definition. The inverse of `crd_of`.

Keywords without a marker are kept unchanged, in `msgspec.Meta(extra_json_schema=...)`. Settings of the whole object
that a class cannot express are omitted, and listed in `Module.left_out`.
"""

import io
import re
import tokenize
from typing import NamedTuple

from setpoint.objects.gvk import version_priority
from setpoint.objects.tree import Object
from setpoint.schema.types.builtin import snake_case
from setpoint.schema.types.builtin_schemas import QUANTITY
from setpoint.schema.types.kind_source import config_of
from setpoint.schema.types.layout import (
    WIDTH,
    Bracketed,
    Keyword,
    Node,
    Union,
    docstring,
    lay_out,
    lay_out_field,
    line,
    literal,
    quote,
)
from setpoint.schema.types.model import ModelError

# The formats of strings that have a Python class.
_TEXTS = {"date-time": "datetime", "byte": "bytes", "duration": "Duration", "date": "date", "uuid": "UUID"}
_NUMBERS = {"int32": "Int32", "int64": "Int64", "float": "Float32", "double": "Float64"}
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_MARKERS = {
    "multipleOf": "MultipleOf",
    "minLength": "MinLength",
    "maxLength": "MaxLength",
    "pattern": "Pattern",
    "minItems": "MinItems",
    "maxItems": "MaxItems",
    "minProperties": "MinProperties",
    "maxProperties": "MaxProperties",
    "title": "Title",
    "example": "Example",
}
# The types that allow a marker, for markers that not all types allow.
_FOR = {
    "multipleOf": ("integer", "number"),
    "minimum": ("integer", "number"),
    "maximum": ("integer", "number"),
    "minLength": ("string",),
    "maxLength": ("string",),
    "pattern": ("string", "int-or-string"),
    "minItems": ("array",),
    "maxItems": ("array",),
    "minProperties": ("object",),
    "maxProperties": ("object",),
    "format": ("string", "integer", "number"),
}
_PRESERVE, _INT_OR_STRING = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
# The keywords that the type itself or other parts of the class express.
_SAID = {
    *("type", "properties", "items", "additionalProperties", "required", "description", "nullable", "default", "enum"),
    *("format", "exclusiveMinimum", "exclusiveMaximum", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-map-type", "x-kubernetes-validations", _PRESERVE, _INT_OR_STRING, _EMBEDDED),
}
_STANDARD = {"datetime": "datetime", "date": "datetime", "UUID": "uuid", "Annotated": "typing", "Any": "typing"}
_STANDARD |= {"Literal": "typing"}
_OURS = (
    *("Column", "Default", "Description", "Duration", "EmbeddedResource", "Example", "ExclusiveMaximum"),
    *(
        "ExclusiveMinimum",
        "Float32",
        "Float64",
        "Format",
        "Int32",
        "Int64",
        "ListMap",
        "ListType",
        "MapType",
        "MaxItems",
    ),
    *("MaxLength", "MaxProperties", "Maximum", "MinItems", "MinLength", "MinProperties", "Minimum", "Model"),
    *("MultipleOf", "Nullable", "Object", "Pattern", "PreserveUnknownFields", "Quantity", "Resource", "Rule", "Scale"),
    *("Title", "WebhookConversion", "rule"),
)
# Names of fields that would hide names that annotations need, or attributes of every model.
_TAKEN = {"date", "datetime", "msgspec", "rule", "edit", "decode", "to_json", "from_json", "kind", "api_version"}
_TAKEN |= {"gvk", "crd", "metadata", "mro"}


class Module(NamedTuple):
    """The source of the classes of definitions, and the settings that they omit."""

    source: str
    left_out: list[str]


def models(definitions: list[Object]) -> Module:
    """Returns the source of the classes of these definitions. Raises ModelError for an invalid definition."""
    writer = _Writer()
    for definition in definitions:
        writer.definition(definition)
    return Module(writer.text(), writer.left_out)


class _Writer:
    """Writes the classes, inner ones before the classes that use them."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.names: set[str] = {*_STANDARD, *_OURS}
        self.left_out: list[str] = []
        self.kinds: list[str] = []

    def text(self) -> str:
        body = "\n\n\n".join(self.classes)
        tokens = tokenize.generate_tokens(io.StringIO(body).readline)
        used = {token.string for token in tokens if token.type == tokenize.NAME}
        imports: dict[str, list[str]] = {}
        for name, module in sorted(_STANDARD.items(), key=lambda item: _import_key(item[0])):
            if name in used:
                imports.setdefault(module, []).append(name)
        groups = [[f"from {module} import {', '.join(names)}" for module, names in sorted(imports.items())]]
        groups.append(["import msgspec"] if "msgspec" in used else [])
        ours = sorted((name for name in _OURS if name in used), key=_import_key)
        flat = f"from setpoint.schema.types import {', '.join(ours)}"
        exploded = lay_out("from setpoint.schema.types import ", Bracketed("", ours), "", 0)
        groups.append([flat if len(flat) <= WIDTH else exploded])
        kinds = f"kinds {', '.join(self.kinds)}" if len(self.kinds) != 1 else f"kind {self.kinds[0]}"
        head = docstring(f"The {kinds}. Made by `setpoint models` of what defines it.", 0)
        sections = ["\n".join(head), *("\n".join(group) for group in groups if group)]
        return "\n\n".join(sections) + f"\n\n\n{body}\n"

    def definition(self, definition: Object) -> None:
        spec = definition.get("spec")
        if definition.get("kind") != "CustomResourceDefinition" or not isinstance(spec, dict):
            found = f"{definition.get('apiVersion')}, Kind={definition.get('kind')}"
            raise ModelError(f"{found} is no CustomResourceDefinition")
        if definition.get("apiVersion") != "apiextensions.k8s.io/v1":
            raise ModelError(f"{definition['apiVersion']} is too old: definitions are read in apiextensions.k8s.io/v1")
        try:
            versions = sorted(spec["versions"], key=lambda version: version_priority(version["name"]))
            self.kinds.append(f"{spec['names']['kind']} of {spec['group']}")
            for place, version in enumerate(versions):
                self.version(definition, version, is_first=place == 0)
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"the definition is not complete: {type(error).__name__} {error}") from None

    def version(self, definition: Object, version: Object, *, is_first: bool) -> None:
        spec = definition["spec"]
        kind = spec["names"]["kind"]
        suffix = "" if is_first else _camel(version["name"])
        name = self.class_name(f"{_camel(kind)}{suffix}", "Kind")
        schema = version.get("schema", {}).get("openAPIV3Schema", {})
        own = {key: value for key, value in schema.get("properties", {}).items() if key not in _EVERY}
        for key in _EVERY:
            if schema.get("properties", {}).get(key, {}).keys() - {"type", "description"}:
                self.left_out.append(f"{name}: what the schema says about {key}")
        for key in sorted(schema.keys() - _SAID_OF_ROOT):
            self.left_out.append(f"{name}: {key} of the whole object")
        config = config_of(definition, version, name, own)
        if "status" in version.get("subresources", {}) and "status" not in own:
            self.left_out.append(f"{name}: a status subresource without a field status in the schema")
        self.write_class(name, "Resource", config, schema | {"properties": own})

    def class_name(self, wanted: str, ending: str) -> str:
        """Returns a unique class name."""
        found, count = wanted, 1
        while found in self.names:
            count += 1
            found = f"{wanted}{ending}" if count == 2 and ending else f"{wanted}{count}"
        self.names.add(found)
        return found

    def write_class(self, name: str, base: str, config: list[Node], schema: Object) -> None:
        required = schema.get("required", ())
        taken: set[str] = set()
        fields: list[str] = []
        for wire, field in schema.get("properties", {}).items():
            fields += self.field(name, _field_name(wire, taken), wire, field, wire in required)
        if schema.get("x-kubernetes-map-type"):
            config = [*config, Keyword("map_type", _member("MapType", schema["x-kubernetes-map-type"]))]
        if schema.get(_PRESERVE):
            config = [*config, Keyword("preserve_unknown_fields", "True")]
        rules = [lay_out("@", Bracketed("rule", _rule(rule, first=False)), "", 0) for rule in _rules(schema)]
        text = schema.get("description", "").strip()
        body = docstring(text, 1) if text else []
        body += ["", *fields] if body and fields else fields
        header = lay_out("", Bracketed(f"class {name}", [base, *config]), ":", 0)
        self.classes.append("\n".join([*rules, header, *(body or ["    pass"])]))

    def field(self, owner: str, name: str, wire: str, schema: Object, is_required: bool) -> list[str]:
        base, markers = self.typed(f"{owner}{_camel(wire)}", schema)
        is_nullable = bool(schema.get("nullable"))
        default: Node | None = None
        if "default" in schema:
            if not is_nullable and _is_plain(base):
                default = literal(schema["default"])
            else:
                markers.append(Bracketed("Default", [literal(schema["default"])]))
                default = "None"
        elif not is_required:
            default = _empty(base, is_nullable)
        may_be_none = default == "None" or (is_nullable and default is None)
        if is_nullable and (default is not None or base == "Any"):
            markers.append(Bracketed("Nullable", []))
        if may_be_none and line(base) != "Any":
            base = Union([base, "None"])
        annotation = Bracketed("Annotated", [base, *markers], "[]") if markers else base
        text = schema.get("description", "").strip() if not schema.get("properties") else ""
        found = lay_out_field(name, annotation, _assigned(name, wire, default))
        return [found, *(docstring(text, 1) if text else ())]

    def typed(self, name: str, schema: Object) -> tuple[Node, list[Node]]:
        """Returns the type of a field, and its markers."""
        base, kind = self.base(name, schema)
        markers: list[Node] = []
        extra: Object = {}
        for side in ("minimum", "maximum"):
            exclusive = f"exclusive{side.capitalize()}"
            if kind not in _FOR[side]:
                extra |= {key: schema[key] for key in (side, exclusive) if key in schema}
            elif side in schema:
                marker = f"E{exclusive[1:]}" if schema.get(exclusive) else side.capitalize()
                markers.append(Bracketed(marker, [literal(schema[side])]))
        for key, marker in _MARKERS.items():
            if key in schema and kind in _FOR.get(key, (kind,)) and not _is_quantity(base):
                markers.append(Bracketed(marker, [literal(schema[key])]))
        if "format" in schema and not _has_format(base, schema):
            if kind in _FOR["format"]:
                markers.append(Bracketed("Format", [literal(schema["format"])]))
            else:
                extra["format"] = schema["format"]
        markers += _structure(base, schema)
        if not schema.get("properties"):
            markers += [Bracketed("Rule", _rule(rule, first=True)) for rule in _rules(schema)]
        said = {*_SAID, "minimum", "maximum", *(key for key in _MARKERS if kind in _FOR.get(key, (kind,)))}
        if kind == "int-or-string":
            said.add("anyOf")
        if _is_quantity(base):
            said.add("pattern")
        extra |= {key: schema[key] for key in schema if key not in said}
        if schema.get("additionalProperties") is False:
            extra["additionalProperties"] = False
        if set(schema.get("required", ())) - set(schema.get("properties", ())):
            extra["required"] = schema["required"]
        if "enum" in schema and not (isinstance(base, Bracketed) and base.head == "Literal"):
            extra["enum"] = schema["enum"]
        if extra:
            markers.append(Bracketed("msgspec.Meta", [Keyword("extra_json_schema", literal(extra))]))
        return base, markers

    def base(self, name: str, schema: Object) -> tuple[Node, str]:
        """Returns the Python type, and the name of the type in the schema."""
        kind = schema.get("type", "")
        if schema.get(_INT_OR_STRING):
            is_quantity = schema.get("pattern") == QUANTITY["pattern"]
            return ("Quantity" if is_quantity else Union(["int", "str"])), "int-or-string"
        if kind == "array":
            return Bracketed("list", [self.annotation(f"{name}Item", schema["items"])], "[]"), kind
        if kind == "object":
            return self.object(name, schema), kind
        if kind in _PLAIN and _is_enum(schema):
            return Bracketed("Literal", [literal(value) for value in schema["enum"]], "[]"), kind
        if kind == "string":
            return _TEXTS.get(schema.get("format", ""), "str"), kind
        if kind in _PLAIN:
            wide = _NUMBERS.get(schema.get("format", ""), "")
            fits = wide.startswith("Int") == (kind == "integer")
            return (wide if wide and fits and kind != "boolean" else _PLAIN[kind]), kind
        return "Any", "anything"

    def object(self, name: str, schema: Object) -> Node:
        if schema.get(_EMBEDDED):
            return "Object"
        if "properties" in schema or not (schema.get("additionalProperties") or schema.get(_PRESERVE)):
            found = self.class_name(name, "")
            self.write_class(found, "Model", [], schema)
            return found
        values = schema.get("additionalProperties")
        if values in (True, {_PRESERVE: True}):
            self.left_out.append(f"{name}: that its values are anything, or null; whatever is below is kept instead")
        inner = self.annotation(f"{name}Value", values) if isinstance(values, dict) else "Any"
        return Bracketed("dict", ["str", inner], "[]")

    def annotation(self, name: str, schema: Object) -> Node:
        """Returns the type of the items of a list, or of the values of a map."""
        base, markers = self.typed(name, schema)
        if "default" in schema:
            markers.append(Bracketed("Default", [literal(schema["default"])]))
        if (text := schema.get("description", "")) and not schema.get("properties"):
            markers.append(Bracketed("Description", [literal(text)]))
        if schema.get("nullable") and line(base) != "Any":
            base = Union([base, "None"])
        elif schema.get("nullable"):
            markers.append(Bracketed("Nullable", []))
        return Bracketed("Annotated", [base, *markers], "[]") if markers else base


_EVERY = ("apiVersion", "kind", "metadata")
_SAID_OF_ROOT = {
    *("type", "properties", "required", "description", "x-kubernetes-validations", _PRESERVE, "x-kubernetes-map-type"),
}


def _import_key(name: str) -> tuple[bool, bool, str]:
    """Returns the sort key of imported names: constants, classes, the rest."""
    return (not (name.isupper() and len(name) > 1), not name[0].isupper(), name.lower())


def _camel(wire: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", wire)
    found = "".join(word[0].upper() + word[1:] for word in words)
    return found if found and not found[0].isdigit() else f"N{found}"


def _field_name(wire: str, taken: set[str]) -> str:
    """Returns the Python name of a field, unique in its class."""
    if re.search(r'["\\\x00-\x1f]', wire):
        raise ModelError(f"no class can have a field that is called {wire!r} on the wire")
    found = snake_case(wire) or "field"
    if not found[0].isalpha():
        found = f"n_{found}"
    if found in _TAKEN:
        found += "_"
    wanted, count = found, 1
    while found in taken:
        count += 1
        found = f"{wanted}_{count}"
    taken.add(found)
    return found


def _assigned(name: str, wire: str, default: Node | None) -> Node | None:
    """Returns the value assigned to a field in its class."""
    head, *rest = name.split("_")
    is_plain = head + "".join(part.capitalize() for part in rest) == wire
    if is_plain and default not in ("list", "dict"):
        return default
    arguments: list[Node] = []
    if default in ("list", "dict"):
        arguments.append(f"default_factory={default}")
    elif default is not None:
        arguments.append(f"default={line(default)}")
    if not is_plain:
        arguments.append(f"name={quote(wire)}")
    return Bracketed("msgspec.field", arguments)


def _empty(base: Node, is_nullable: bool) -> Node:
    """Returns the default of an absent field: an empty list or map, or None."""
    head = base.head if isinstance(base, Bracketed) else ""
    return head if head in ("list", "dict") and not is_nullable else "None"


def _is_enum(schema: Object) -> bool:
    """Returns True if an enum can be a Literal: floats cannot, nor can values of a type other than the field's."""
    wanted = {"string": str, "integer": int, "boolean": bool}.get(schema["type"])
    values = schema.get("enum") or []
    return bool(values) and wanted is not None and all(type(value) is wanted for value in values)


def _is_plain(base: Node) -> bool:
    """Returns True if a default of the schema can be a default of the class unchanged."""
    return base in (*_PLAIN.values(), *_NUMBERS.values()) or (isinstance(base, Bracketed) and base.head == "Literal")


def _is_quantity(base: Node) -> bool:
    return base == "Quantity"


def _has_format(base: Node, schema: Object) -> bool:
    return base in (_TEXTS.get(schema["format"], "-"), _NUMBERS.get(schema["format"], "-"))


def _structure(base: Node, schema: Object) -> list[Node]:
    """Returns the markers for the merge rules of apply, and for preserved fields."""
    found: list[Node] = []
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "map":
        found.append(Bracketed("ListMap", [quote(key) for key in schema.get("x-kubernetes-list-map-keys", ())]))
    elif list_type:
        found.append(_member("ListType", list_type))
    if schema.get("x-kubernetes-map-type") and isinstance(base, Bracketed):
        found.append(_member("MapType", schema["x-kubernetes-map-type"]))
    if schema.get(_EMBEDDED):
        found.append(Bracketed("EmbeddedResource", []))
    return found


def _member(enum: str, word: str) -> str:
    """Returns a member of ListType or MapType."""
    if word not in ("atomic", "granular", "set"):
        raise ModelError(f"{word!r} is none of the ways in which lists and maps are merged")
    return f"{enum}.{word.upper()}"


def _rules(schema: Object) -> list[Object]:
    return list(schema.get("x-kubernetes-validations") or ())


def _rule(rule: Object, *, first: bool) -> list[Node]:
    """Returns the arguments of a rule; the expression is positional if `first`, otherwise a keyword argument."""
    expression = literal(rule["rule"])
    names = {
        "message": "message",
        "messageExpression": "message_expression",
        "reason": "reason",
        "fieldPath": "field_path",
        "optionalOldSelf": "optional_old_self",
    }
    given: list[Node] = [Keyword(name, literal(rule[key])) for key, name in names.items() if key in rule]
    return [Keyword("rule", expression) if first else expression, *given]
