"""A CustomResourceDefinition as typed parts, read from its JSON tree and written back in canonical form.

Canonical is what the API answers with: fields that say nothing are left out, those it always shows are there. The
schema of a version stays a JSON tree here, because its keywords are the business of `setpoint.schema.openapi`.
"""

from collections.abc import Callable
from typing import Any, Self

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupKind, GroupResource, version_priority
from setpoint.objects.tree import Json, Object
from setpoint.schema.openapi import Schema

# A schema with fewer containers, or bytes, than this is read, compiled and used within a few milliseconds.
LARGE_SCHEMA = 500
LARGE_SCHEMA_BYTES = 16 * 1024

GROUP_KIND = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def _shown(default: Callable[[], Any]) -> Any:
    """A field that is written even when it is empty: of the factories, msgspec knows only the plain ones as empty."""
    return msgspec.field(default_factory=lambda: default())


def _none() -> None:
    return None


class _Part(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    pass


class Names(_Part):
    """What a resource is called, in every form a client may use."""

    plural: str = _shown(str)
    singular: str = ""
    short_names: list[str] = []
    kind: str = _shown(str)
    list_kind: str = ""
    categories: list[str] = []


class Column(_Part):
    """One `additionalPrinterColumns` entry."""

    name: str = _shown(str)
    type: str = _shown(str)
    format: str = ""
    description: str = ""
    priority: int = 0
    json_path: str = _shown(str)


class SelectableField(_Part):
    """A path that field selectors may use."""

    json_path: str = _shown(str)


class Scale(_Part):
    """Where the scale subresource finds its numbers."""

    spec_replicas_path: str = _shown(str)
    status_replicas_path: str = _shown(str)
    label_selector_path: str | None = None


class Subresources(_Part):
    """Which subresources a version has; `status` is an empty object when it does."""

    status: Object | None = None
    scale: Scale | None = None


class VersionSchema(_Part):
    """The schema of a version, as it was sent."""

    open_apiv3_schema: Json = msgspec.field(name="openAPIV3Schema", default=None)


class Version(_Part):
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
        """The JSON of `schema.openAPIV3Schema`, None where there is none. In an outline it is decoded each time."""
        found = self.schema.open_apiv3_schema if self.schema else None
        return msgspec.json.decode(found) if type(found) is msgspec.Raw else found

    @property
    def has_large_schema(self) -> bool:
        """Tells whether the schema has so much in it that it takes long to read. Counted without reading it whole."""
        found = self.schema.open_apiv3_schema if self.schema else None
        if type(found) is msgspec.Raw:
            return len(memoryview(found)) > LARGE_SCHEMA_BYTES
        return weight(found, LARGE_SCHEMA) >= LARGE_SCHEMA


class ServiceReference(_Part):
    """A webhook inside the cluster."""

    namespace: str = _shown(str)
    name: str = _shown(str)
    path: str | None = None
    port: int | None = None


class WebhookClientConfig(_Part):
    """How to reach a conversion webhook: by URL or by service. `ca_bundle` is base64."""

    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: str = ""


class WebhookConversion(_Part):
    """A conversion webhook and the reviews it understands."""

    client_config: WebhookClientConfig | None = None
    conversion_review_versions: list[str] = _shown(list)


class Conversion(_Part):
    """How objects get from one version to another."""

    strategy: str = _shown(str)
    webhook: WebhookConversion | None = None


class Spec(_Part):
    """What the definition asks for."""

    group: str = _shown(str)
    names: Names = msgspec.field(default_factory=Names)
    scope: str = _shown(str)
    versions: list[Version] = _shown(list)
    conversion: Conversion | None = None
    preserve_unknown_fields: bool = False


class Condition(_Part):
    """One condition of the status."""

    type: str = _shown(str)
    status: str = _shown(str)
    last_transition_time: str | None = _shown(_none)
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class Status(_Part):
    """What the definition got."""

    conditions: list[Condition] | None = _shown(_none)
    accepted_names: Names = msgspec.field(default_factory=Names)
    stored_versions: list[str] = _shown(list)
    observed_generation: int = 0


class CustomResourceDefinition(_Part):
    """A whole definition. `metadata` stays a JSON tree."""

    metadata: Object = _shown(dict)
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    @classmethod
    def parse(cls, tree: Json) -> Self:
        """Reads a definition. A null counts as absent. Raises `BadRequest` where a field has the wrong type."""
        try:
            return msgspec.convert(_without_nulls(tree), cls)
        except msgspec.ValidationError as error:
            raise _unreadable(str(error)) from None
        except RecursionError:
            raise _unreadable("it is nested too deeply") from None

    @classmethod
    def outline(cls, data: bytes) -> "CustomResourceDefinition":
        """Reads a stored definition, with its schemas left encoded: for those who keep many, and need few schemas."""
        try:
            return _read_outline(data)
        except msgspec.ValidationError:
            return cls.parse(msgspec.json.decode(data))

    def to_json(self) -> Object:
        """The definition in canonical form."""
        tree: Object = {"apiVersion": f"{GROUP_KIND.group}/v1", "kind": GROUP_KIND.kind}
        try:
            # Schemas are copied once, as they become canonical, and not before.
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
        """The version of that name."""
        return next((version for version in self.spec.versions if version.name == name), None)

    def storage_version(self) -> str | None:
        """The name of the version objects are stored in."""
        return next((version.name for version in self.spec.versions if version.storage), None)

    def served_versions(self) -> list[str]:
        """The names of the versions clients may ask for, the preferred one first."""
        return sorted((version.name for version in self.spec.versions if version.served), key=version_priority)

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type."""
        for found in self.status.conditions or ():  # a loop, for every new instance asks
            if found.type == kind:
                return found
        return None

    def is_true(self, kind: str) -> bool:
        """Whether the condition of that type is True."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    def deprecation_warning(self, version: str) -> str | None:
        """The text of the `Warning` header for requests to a deprecated version."""
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
    """Returns how many containers and list items there are in a tree, counted up to `most`."""
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


# Where nulls mean something: inside a schema (`enum: [null]`, `default`) and in metadata, which has its own rules.
_KEPT = frozenset({"openAPIV3Schema", "metadata"})


def _without_nulls(tree: Json) -> Json:
    if type(tree) is dict:
        return {key: item if key in _KEPT else _without_nulls(item) for key, item in tree.items() if item is not None}
    return list(map(_without_nulls, tree)) if type(tree) is list else tree


# Keywords that are not written when they are empty or false. All others are written when they are not null.
_EMPTY_IS_ABSENT = frozenset(
    {
        *("id", "$schema", "description", "type", "format", "title", "pattern", "nullable", "exclusiveMaximum"),
        *("exclusiveMinimum", "uniqueItems", "enum", "required", "allOf", "oneOf", "anyOf", "properties"),
        *("patternProperties", "dependencies", "definitions", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-validations"),
    }
)
# Fields that are no keywords are dropped like unknown fields anywhere; two belong to the built-in kinds only.
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
