"""A CustomResourceDefinition as typed parts, read from its JSON tree and written back in canonical form.

The canonical form is that of the API's responses: empty optional fields are omitted, mandatory fields are present. The
schema of a version stays a JSON tree here, because `setpoint.schema.openapi` handles its keywords.
"""

from collections.abc import Callable
from typing import Any, Self

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupKind, GroupResource, version_priority
from setpoint.objects.tree import Json, Object
from setpoint.schema.openapi import Schema

# A schema with fewer containers, or bytes, is read, compiled and used within a few milliseconds.
LARGE_SCHEMA = 500
LARGE_SCHEMA_BYTES = 16 * 1024

GROUP_KIND = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def _shown(default: Callable[[], Any]) -> Any:
    """Declares a field that is written even if empty: msgspec omits only empty values of the plain factories."""
    return msgspec.field(default_factory=lambda: default())


def _none() -> None:
    return None


class _DefinitionPart(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    pass


class Names(_DefinitionPart):
    """The names of a resource, in every form that a client may use."""

    plural: str = _shown(str)
    singular: str = ""
    short_names: list[str] = []
    kind: str = _shown(str)
    list_kind: str = ""
    categories: list[str] = []


class Column(_DefinitionPart):
    """One `additionalPrinterColumns` entry."""

    name: str = _shown(str)
    type: str = _shown(str)
    format: str = ""
    description: str = ""
    priority: int = 0
    json_path: str = _shown(str)


class SelectableField(_DefinitionPart):
    """A path that field selectors may use."""

    json_path: str = _shown(str)


class Scale(_DefinitionPart):
    """The paths of the scale subresource."""

    spec_replicas_path: str = _shown(str)
    status_replicas_path: str = _shown(str)
    label_selector_path: str | None = None


class Subresources(_DefinitionPart):
    """The subresources of a version; `status` is an empty object if enabled."""

    status: Object | None = None
    scale: Scale | None = None


class VersionSchema(_DefinitionPart):
    """The schema of a version, as sent by the client."""

    open_apiv3_schema: Json = msgspec.field(name="openAPIV3Schema", default=None)


class Version(_DefinitionPart):
    """One version of the resource."""

    name: str = _shown(str)
    served: bool = _shown(bool)
    storage: bool = _shown(bool)
    deprecated: bool = False
    deprecation_warning: str | None = None
    schema: VersionSchema | None = None
    subresources: Subresources | None = None
    additional_printer_columns: list[Column] = []
    selectable_fields: list[SelectableField] = []

    @property
    def openapi_schema(self) -> Json:
        """The JSON of `schema.openAPIV3Schema`, or None. In an outline, decoded on each access."""
        found = self.stored_schema
        return msgspec.json.decode(found) if type(found) is msgspec.Raw else found

    @property
    def stored_schema(self) -> "Json | msgspec.Raw":
        """The tree or, in an outline, the JSON of `schema.openAPIV3Schema`; None without a schema."""
        return self.schema.open_apiv3_schema if self.schema else None

    @property
    def has_large_schema(self) -> bool:
        """True if reading the schema takes long because of its size. Determined without reading the whole schema."""
        found = self.stored_schema
        if type(found) is msgspec.Raw:
            return len(memoryview(found)) > LARGE_SCHEMA_BYTES
        return weight(found, LARGE_SCHEMA) >= LARGE_SCHEMA


class ServiceReference(_DefinitionPart):
    """A webhook inside the cluster."""

    namespace: str = _shown(str)
    name: str = _shown(str)
    path: str | None = None
    port: int | None = None


class WebhookClientConfig(_DefinitionPart):
    """The address of a conversion webhook: a URL or a service. `ca_bundle` is base64."""

    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: str = ""


class WebhookConversion(_DefinitionPart):
    """A conversion webhook and its supported review versions."""

    client_config: WebhookClientConfig | None = None
    conversion_review_versions: list[str] = _shown(list)


class Conversion(_DefinitionPart):
    """The conversion of objects between versions."""

    strategy: str = _shown(str)
    webhook: WebhookConversion | None = None


class Spec(_DefinitionPart):
    """The desired state of the definition."""

    group: str = _shown(str)
    names: Names = msgspec.field(default_factory=Names)
    scope: str = _shown(str)
    versions: list[Version] = _shown(list)
    conversion: Conversion | None = None
    preserve_unknown_fields: bool = False


class CustomResourceDefinitionCondition(_DefinitionPart):
    """One condition of the status."""

    type: str = _shown(str)
    status: str = _shown(str)
    last_transition_time: str | None = _shown(_none)
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class Status(_DefinitionPart):
    """The observed state of the definition."""

    conditions: list[CustomResourceDefinitionCondition] | None = _shown(_none)
    accepted_names: Names = msgspec.field(default_factory=Names)
    stored_versions: list[str] = _shown(list)
    observed_generation: int = 0


class CustomResourceDefinition(_DefinitionPart):
    """A whole definition. `metadata` stays a JSON tree."""

    metadata: Object = _shown(dict)
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    @classmethod
    def parse(cls, tree: Json) -> Self:
        """Parses a definition. A null counts as absent. Raises `BadRequest` if a field has the wrong type."""
        try:
            return msgspec.convert(_without_nulls(tree), cls)
        except msgspec.ValidationError as error:
            raise _unreadable(str(error)) from None
        except RecursionError:
            raise _unreadable("it is nested too deeply") from None

    @classmethod
    def outline(cls, data: bytes) -> "CustomResourceDefinition":
        """Parses a stored definition, with encoded schemas: for holders of many definitions that need few schemas."""
        try:
            return _read_outline(data)
        except msgspec.ValidationError:
            return cls.parse(msgspec.json.decode(data))

    def to_json(self) -> Object:
        """Returns the definition in canonical form."""
        tree: Object = {"apiVersion": f"{GROUP_KIND.group}/v1", "kind": GROUP_KIND.kind}
        try:
            # Schemas are copied only once, when they are converted to canonical form.
            versions = [
                version if version.schema is None else msgspec.structs.replace(version, schema=VersionSchema())
                for version in self.spec.versions
            ]
            outline = msgspec.structs.replace(self, spec=msgspec.structs.replace(self.spec, versions=versions))
            tree.update(msgspec.to_builtins(outline))
            for shown, version in zip(tree["spec"]["versions"], self.spec.versions, strict=True):
                if version.openapi_schema is not None:
                    shown["schema"]["openAPIV3Schema"] = _canonical_schema(version.openapi_schema)
        except RecursionError:
            raise _unreadable("its schema is nested too deeply") from None
        return tree

    @property
    def name(self) -> str:
        name = self.metadata.get("name")
        return name if isinstance(name, str) else ""

    @property
    def annotations(self) -> dict[str, str]:
        found = self.metadata.get("annotations")
        return found if isinstance(found, dict) else {}

    @property
    def resource(self) -> GroupResource:
        return GroupResource(self.spec.group, self.spec.names.plural)

    def version(self, name: str) -> Version | None:
        """Returns the version of that name."""
        return next((version for version in self.spec.versions if version.name == name), None)

    def storage_version(self) -> str | None:
        """Returns the name of the storage version."""
        return next((version.name for version in self.spec.versions if version.storage), None)

    def served_versions(self) -> list[str]:
        """Returns the names of the served versions, the preferred one first."""
        return sorted((version.name for version in self.spec.versions if version.served), key=version_priority)

    def condition(self, kind: str) -> CustomResourceDefinitionCondition | None:
        """Returns the condition of that type."""
        for found in self.status.conditions or ():  # a loop, because every new instance calls this method
            if found.type == kind:
                return found
        return None

    def is_true(self, kind: str) -> bool:
        """Returns True if the condition of that type is True."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    def deprecation_warning(self, version: str) -> str | None:
        """Returns the text of the `Warning` header for requests to a deprecated version."""
        found = self.version(version)
        if found is None or not found.deprecated:
            return None
        if found.deprecation_warning is not None:
            return found.deprecation_warning
        return f"{self.spec.group}/{version} {self.spec.names.kind} is deprecated"


class _EncodedSchema(VersionSchema):
    open_apiv3_schema: msgspec.Raw = msgspec.field(name="openAPIV3Schema", default=msgspec.Raw(b"null"))


class _OutlinedVersion(Version):
    schema: _EncodedSchema | None = None


class _OutlinedSpec(Spec):
    versions: list[_OutlinedVersion] = _shown(list)  # type: ignore[assignment]  # read-only here


class _Outline(CustomResourceDefinition):
    spec: _OutlinedSpec = msgspec.field(default_factory=_OutlinedSpec)


_read_outline = msgspec.json.Decoder(_Outline).decode


def weight(tree: Json, most: int) -> int:
    """Returns the number of containers and list items in a tree, counted up to `most`."""
    count = 0
    waiting = [tree]
    while waiting and count < most:
        here = waiting.pop()
        if type(here) is dict:
            count += 1
            waiting.extend(here.values())
        elif type(here) is list:
            count += 1 + len(here)
            waiting.extend(here)
    return count


def _unreadable(why: str) -> BadRequest:
    kind = GROUP_KIND.kind
    return BadRequest(f'{kind} in version "v1" cannot be handled as a {kind}: {why}')


# The fields in which nulls are significant: schemas (`enum: [null]`, `default`), and metadata, which has its own rules.
_KEPT = frozenset({"openAPIV3Schema", "metadata"})


def _without_nulls(tree: Json) -> Json:
    if type(tree) is dict:
        return {key: item if key in _KEPT else _without_nulls(item) for key, item in tree.items() if item is not None}
    return list(map(_without_nulls, tree)) if type(tree) is list else tree


# Keywords that are omitted if empty or false. All others are written unless null.
_EMPTY_IS_ABSENT = frozenset(
    {
        *("id", "$schema", "description", "type", "format", "title", "pattern", "nullable", "exclusiveMaximum"),
        *("exclusiveMinimum", "uniqueItems", "enum", "required", "allOf", "oneOf", "anyOf", "properties"),
        *("patternProperties", "dependencies", "definitions", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-validations"),
    }
)
# Unknown keywords are dropped like all unknown fields; two belong to the built-in kinds only.
_KEYWORDS = frozenset(Schema.__struct_encode_fields__) - {"x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"}
_SCHEMAS = frozenset({"not", "items", "additionalProperties", "additionalItems"})
_SCHEMA_LISTS = frozenset({"allOf", "oneOf", "anyOf", "items"})
_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependencies", "definitions"})


def _canonical_schema(tree: Json) -> Json:
    if type(tree) is not dict:
        return tree
    found: Object = {}
    for key, value in tree.items():
        if value is None or key not in _KEYWORDS or (not value and key in _EMPTY_IS_ABSENT):
            continue
        if type(value) is dict and key in _SCHEMAS:
            value = _canonical_schema(value)
        elif type(value) is list and key in _SCHEMA_LISTS:
            value = list(map(_canonical_schema, value))
        elif type(value) is dict and key in _SCHEMA_MAPS:
            value = {name: _canonical_schema(item) for name, item in value.items()}
        elif type(value) is list and key == "x-kubernetes-validations":
            value = list(map(_canonical_rule, value))
        found[key] = value
    return found


def _canonical_rule(tree: Json) -> Json:
    if type(tree) is not dict:
        return tree
    return {
        key: value
        for key, value in tree.items()
        if value is not None and (value or key not in ("message", "messageExpression", "fieldPath"))
    }
