"""The merge rules of the fields of a kind: the strategy of each field, and its merge key.

The rules are read from the OpenAPI definitions when a patch first uses a field, and cached. The caller provides the
definitions as a function that resolves a `$ref`.
"""

from collections.abc import Callable
from typing import NamedTuple

from setpoint.merge.failure import BadPatch
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object

Resolve = Callable[[str], Object]

_GO_KINDS = {"string": "string", "boolean": "bool", "number": "float64", "array": "slice"}


class MergeField(NamedTuple):
    """The merge rule of one field. `schema` is that of its value, or of its items for a list."""

    merges: bool
    replaces: bool
    retains_keys: bool
    merge_key: str
    is_list: bool
    schema: "PatchSchema"


class PatchSchema:
    """One type: its fields by name, looked up on their first use."""

    __slots__ = ("_node", "_schemas", "fields", "name")

    def __init__(self, name: str, node: Object, schemas: "PatchSchemas") -> None:
        self.name = name
        self.fields: dict[str, MergeField] = {}
        self._node = node
        self._schemas = schemas

    @property
    def kind(self) -> str:
        """The Go name of the type, for error messages."""
        match self._node.get("type", "object"):
            case "object":
                return "map" if "additionalProperties" in self._node else "struct"
            case "integer":
                return str(self._node.get("format", "int64"))
            case kind:
                return _GO_KINDS[kind]

    def field(self, key: str) -> MergeField:
        """Returns the field of that name. Raises BadPatch, with the real server's message, for an unknown field."""
        return self.fields.get(key) or self._resolve(key)

    def list_field(self, key: str) -> MergeField:
        """Returns the field of that name, which must be a list."""
        field = self.field(key)
        if not field.is_list:
            raise BadPatch("expected slice or array type, but got: struct")
        return field

    def _resolve(self, key: str) -> MergeField:
        if self.kind != "struct":
            raise BadPatch(f"merging an object in json but data type is not struct, instead is: {self.kind}")
        node = self._node.get("properties", {}).get(key)
        if node is None:
            raise BadPatch(f"unable to find api field in struct {self.name} for the json field {quote(key)}")
        strategies = node.get("x-kubernetes-patch-strategy", "").split(",")
        is_list = node.get("type") == "array"
        field = self.fields[key] = MergeField(
            merges="merge" in strategies,
            replaces="replace" in strategies,
            retains_keys="retainKeys" in strategies,
            merge_key=node.get("x-kubernetes-patch-merge-key", ""),
            is_list=is_list,
            schema=self._schemas.at(node["items"] if is_list else node),
        )
        return field


class PatchSchemas:
    """The patch schemas of all kinds with definitions in `resolve`. Shared types are read once."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._cached: dict[str, PatchSchema] = {}

    def __getitem__(self, ref: str) -> PatchSchema:
        """Returns the patch schema of the definition of a `$ref`."""
        schema = self._cached.get(ref)
        if schema is None:
            schema = self._cached[ref] = PatchSchema(ref.rpartition(".")[2], self._resolve(ref), self)
        return schema

    def at(self, node: Object) -> PatchSchema:
        """Returns the patch schema of a node, or of the definition that the node refers to."""
        return self[node["$ref"]] if "$ref" in node else PatchSchema("", node, self)
