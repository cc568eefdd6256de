"""What strategic merge knows about the fields of a kind: how each is merged, and by which key.

It is read from the OpenAPI definitions, field by field as patches reach them, and kept. The caller brings the
definitions as a function that resolves a `$ref`.
"""

from collections.abc import Callable
from typing import NamedTuple

from setpoint.merge.failure import BadPatch
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object

Resolve = Callable[[str], Object]

_GO_KINDS = {"string": "string", "boolean": "bool", "number": "float64", "array": "slice"}


class Field(NamedTuple):
    """How one field is merged. `schema` is that of its value, or of its items where it is a list."""

    merges: bool
    replaces: bool
    retains_keys: bool
    merge_key: str
    is_list: bool
    schema: "PatchSchema"


class PatchSchema:
    """One type: its fields by name, looked up when a patch first names them."""

    __slots__ = ("_node", "_schemas", "fields", "name")

    def __init__(self, name: str, node: Object, schemas: "PatchSchemas") -> None:
        self.name = name
        self.fields: dict[str, Field] = {}
        self._node = node
        self._schemas = schemas

    @property
    def kind(self) -> str:
        """What Go calls the type, which the errors name."""
        match self._node.get("type", "object"):
            case "object":
                return "map" if "additionalProperties" in self._node else "struct"
            case "integer":
                return str(self._node.get("format", "int64"))
            case kind:
                return _GO_KINDS[kind]

    def field(self, key: str) -> Field:
        """The field of that name. Raises BadPatch, in the words of the real server, where the type has none."""
        return self.fields.get(key) or self._look_up(key)

    def list_field(self, key: str) -> Field:
        """The field of that name, which must be a list."""
        field = self.field(key)
        if not field.is_list:
            raise BadPatch("expected slice or array type, but got: struct")
        return field

    def _look_up(self, key: str) -> Field:
        if self.kind != "struct":
            raise BadPatch(f"merging an object in json but data type is not struct, instead is: {self.kind}")
        node = self._node.get("properties", {}).get(key)
        if node is None:
            raise BadPatch(f"unable to find api field in struct {self.name} for the json field {quote(key)}")
        strategies = node.get("x-kubernetes-patch-strategy", "").split(",")
        is_list = node.get("type") == "array"
        field = self.fields[key] = Field(
            merges="merge" in strategies,
            replaces="replace" in strategies,
            retains_keys="retainKeys" in strategies,
            merge_key=node.get("x-kubernetes-patch-merge-key", ""),
            is_list=is_list,
            schema=self._schemas.at(node["items"] if is_list else node),
        )
        return field


class PatchSchemas:
    """The patch schemas of all kinds whose definitions `resolve` finds. Types that kinds share are read once."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._known: dict[str, PatchSchema] = {}

    def __getitem__(self, ref: str) -> PatchSchema:
        """The patch schema of the definition that a `$ref` points to."""
        schema = self._known.get(ref)
        if schema is None:
            schema = self._known[ref] = PatchSchema(ref.rpartition(".")[2], self._resolve(ref), self)
        return schema

    def at(self, node: Object) -> PatchSchema:
        """The patch schema of a node: that of its definition where it refers to one."""
        return self[node["$ref"]] if "$ref" in node else PatchSchema("", node, self)
