"""Custom resources: builds the served resources of a CustomResourceDefinition."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

from setpoint.merge.equality import equal
from setpoint.merge.strategic import PatchSchema, PatchSchemas
from setpoint.merge.typed.any import DEDUCED
from setpoint.merge.typed.node import Type
from setpoint.merge.types import Types
from setpoint.objects import objectmeta
from setpoint.objects.errors import APIError
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.lazy import lazy
from setpoint.objects.names import path_segment
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin
from setpoint.schema.compile import CompiledSchema, compile_schema
from setpoint.schema.compile.schema_cache import shared_schema
from setpoint.schema.crd.definition import CustomResourceDefinition, Scale, Version
from setpoint.schema.crd.scale_subresource import integer_at, text_at
from setpoint.schema.crd.selectable import SelectableFields
from setpoint.schema.defaulting import default
from setpoint.schema.numbers import has_untyped, normalize_all
from setpoint.schema.validation import Verdict, evaluate_rules
from setpoint.schema.weight import HEAVY
from setpoint.server.registry.conversion.converters import NOTHING_BUT_THE_VERSION
from setpoint.server.registry.conversion.pending import Converter
from setpoint.server.registry.resource import Resource, Subresource
from setpoint.server.registry.storage import Storage
from setpoint.server.registry.strategy import Strategy
from setpoint.server.request.extension import Extension, subresources

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
SCALE_KIND = GroupVersionKind("autoscaling", "v1", "Scale")
_INT32_MAX = 2**31 - 1
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


# The types of compiled schemas: both are immutable, and released together.
_types: WeakKeyDictionary[CompiledSchema, Type] = WeakKeyDictionary()


class CustomShape:
    """The shape of one version of a custom resource, from its schema."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._scale: Scale | None = version.subresources.scale if version.subresources else None
        # The first object of a large schema is slow, because the schema must be read and compiled.
        self._cold = version.has_large_schema

    @property
    def weight(self) -> int:
        return HEAVY if self._cold else self.compiled.weight

    @lazy
    def compiled(self) -> CompiledSchema:
        return shared_schema(self._version.stored_schema or {"type": "object"})

    @lazy
    def type(self) -> Type:
        if self._version.stored_schema is None:
            return DEDUCED
        found = _types.get(self.compiled)
        if found is None:
            found = _types[self.compiled] = Types(builtin.definition).custom_resource(self._version.openapi_schema)
        return found

    def empty(self) -> Object:
        return {}

    def normalize(self, tree: Object) -> list[str]:
        # Unlike for built-in kinds, an empty list of managers is dropped, and does not reset the managers.
        tree["metadata"], unknown = objectmeta.coerce(tree.get("metadata"))
        dropped = self.compiled.normalize(tree)
        return [*sorted(unknown), *dropped] if unknown else dropped

    def complete(self, tree: Object) -> None:
        tree["metadata"] = objectmeta.coerce(tree.get("metadata")).metadata
        default(tree, self.compiled.schema)
        self.compiled.normalize_numbers(tree)

    @lazy
    def _has_untyped(self) -> bool:
        return has_untyped(self.compiled.schema)

    def normalize_stored(self, tree: Object) -> None:
        # The numbers of known types are normalized with the body.
        if self._has_untyped:
            normalize_all(tree)

    def renormalize(self, tree: Object) -> None:
        tree["metadata"] = objectmeta.coerce(tree.get("metadata"), drop_malformed=True).metadata
        self.compiled.prune(tree)
        self.compiled.default(tree)

    def trim(self, tree: Object) -> None:
        self.compiled.prune(tree)

    @lazy
    def _status(self) -> CompiledSchema | None:
        schema = self.compiled.schema.properties.get("status")
        return None if schema is None else compile_schema(schema, root=False)

    def validate(
        self,
        tree: Object,
        old: Object | None,
        before: list[FieldError],
        subresource: str = "",
        *,
        quick: bool = False,
        is_other_kind: bool = False,
    ) -> Verdict:
        if is_other_kind:
            errors = [*before, *self.compiled.validate_invariants(tree, old)]
            return evaluate_rules(self.compiled, tree, old, errors, quick=quick)
        if subresource != "status" or old is None:
            compiled = self.compiled
            errors = [*before, *compiled.validate(tree, old)]
            if self._scale is not None:
                errors += _replica_errors(tree, self._scale.spec_replicas_path)
                errors += _status_errors(tree, self._scale)
            if compiled.rules is None:
                verdict = Verdict(errors, [])
            else:
                verdict = evaluate_rules(compiled, tree, old, errors, quick=quick)
            if self._cold:
                # Computed here, because the computation is slow too and the next request would do so in the event loop.
                _ = self.compiled.weight
                self._cold = False
            return verdict
        # Fields outside the status cannot change through this endpoint and are not validated again.
        found = before
        if self._status is not None and "status" in tree:
            found = [*before, *self._status.validate(tree["status"], old.get("status"), path="status")]
        if self._scale is not None:
            found = [*found, *_status_errors(tree, self._scale)]
        return evaluate_rules(self.compiled, tree, old, found, quick=quick)


class UndefaultedShape(CustomShape):
    """The shape of a custom resource whose defaults are those of its controllers: the server validates an object as if
    the defaults were set, but does not write them."""

    @lazy
    def _bare(self) -> CompiledSchema:
        return shared_schema(_without_defaults(self._version.openapi_schema) or {"type": "object"})

    def normalize(self, tree: Object) -> list[str]:
        tree["metadata"], unknown = objectmeta.coerce(tree.get("metadata"))
        dropped = self._bare.normalize(tree)
        return [*sorted(unknown), *dropped] if unknown else dropped

    def complete(self, tree: Object) -> None:
        tree["metadata"] = objectmeta.coerce(tree.get("metadata")).metadata
        self._bare.normalize_numbers(tree)

    def renormalize(self, tree: Object) -> None:
        tree["metadata"] = objectmeta.coerce(tree.get("metadata"), drop_malformed=True).metadata
        self._bare.prune(tree)

    def validate(
        self,
        tree: Object,
        old: Object | None,
        before: list[FieldError],
        subresource: str = "",
        *,
        quick: bool = False,
        is_other_kind: bool = False,
    ) -> Verdict:
        tree, old = self._defaulted(tree), None if old is None else self._defaulted(old)
        return super().validate(tree, old, before, subresource, quick=quick, is_other_kind=is_other_kind)

    def _defaulted(self, tree: Object) -> Object:
        # A schema cannot have defaults in the metadata, which is most of a small object.
        found = {name: part if name == "metadata" else copy(part) for name, part in tree.items()}
        self.compiled.default(found)
        return found


def _without_defaults(schema: Json) -> Json:
    """Returns a schema without its defaults; a property may have the name `default`."""
    if isinstance(schema, list):
        return [_without_defaults(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _without_defaults(each) for name, each in schema.items() if name not in ("default", "properties")}
    if "properties" in schema:
        found["properties"] = {name: _without_defaults(each) for name, each in schema["properties"].items()}
    return found


class CustomStrategy(Strategy):
    """The rules of custom resources; each version has a strategy with its own subresources and selectable fields."""

    keeps_generation = True
    allows_unconditional_update = False
    status_writes_metadata = False
    make_shape: ClassVar[type[CustomShape]] = CustomShape

    def __init__(self, version: Version) -> None:
        subresources = version.subresources
        self._has_status = subresources is not None and subresources.status is not None
        self._fields = version.selectable_fields

    @lazy
    def status_fields(self) -> Sequence[str]:
        return ("status",) if self._has_status else ()

    @property
    def reset_fields(self) -> Mapping[str, Sequence[str]]:  # type: ignore[override]
        return {"": ("status",), "status": ("metadata", "spec")} if self._has_status else {}

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        # Unlike for built-in kinds, null differs from an absent field.
        apart = ("metadata", *self.status_fields)
        new, before = ({name: part[name] for name in part if name not in apart} for part in (tree, old))
        return not equal(new, before)

    @lazy
    def selectable_fields(self) -> Mapping[str, Callable[[Object], str]]:
        fields = SelectableFields(self._fields)
        return {name: partial(_selected, fields, name) for name in fields.names}


class CompiledInStrategy(CustomStrategy):
    """The rules of a custom resource that other servers have compiled in, as DCP's server has its kinds: strategic
    merge patches are accepted, and replace lists; a DELETE answers with the object, and has no propagation policy,
    because such a server has no garbage collector; defaults are those of the controllers; a name may be any segment
    of a path."""

    returns_deleted_object = True
    has_dependents = False
    make_shape = UndefaultedShape

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self._version = version

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return path_segment(name, prefix)

    @lazy
    def patch_schema(self) -> PatchSchema:
        schema = self._version.openapi_schema or {}
        metadata = {"$ref": f"#/definitions/{_OBJECT_META}"}
        named = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": metadata}
        node = {**schema, "properties": {**(schema.get("properties") or {}), **named}}
        return PatchSchema("Object", node, PatchSchemas(builtin.resolve))


def _replica_errors(tree: Object, path: str) -> list[FieldError]:
    """Returns an error for a replica count outside 0 to 2147483647."""
    try:
        number = integer_at(tree, path) or 0
    except APIError as error:
        return [invalid(path, 0, error.message)]
    if number < 0:
        return [invalid(path, number, "should be a non-negative integer")]
    too_many = f"should be less than or equal to {_INT32_MAX}"
    return [invalid(path, number, too_many)] if number > _INT32_MAX else []


def _status_errors(tree: Object, scale: Scale) -> list[FieldError]:
    """Returns the errors of the parts of the status that the scale subresource shows."""
    errors = _replica_errors(tree, scale.status_replicas_path)
    if path := scale.label_selector_path:
        try:
            text_at(tree, path)
        except APIError as error:
            errors.append(invalid(path, "", error.message))
    return errors


def _selected(fields: SelectableFields, name: str, tree: Object) -> str:
    return fields.values(tree)[name]


def resources_of(
    crd: CustomResourceDefinition,
    since: int,
    converter: Converter = NOTHING_BUT_THE_VERSION,
    extensions: Sequence[Extension] = (),
    strategies: Mapping[str, type[CustomStrategy]] = {},
) -> list[Resource]:
    """Returns the resources of an established definition, one for each version. `since` is the revision of the
    definition. `extensions` are additional subresources of these or all objects. `strategies` are the rules of groups
    with rules of their own."""
    names, group = crd.status.accepted_names, crd.spec.group
    stored = str(GroupVersion(group, crd.storage_version() or ""))
    storage = Storage(group, names.plural, crd.spec.scope == "Namespaced", stored, names.kind)
    extended = subresources(extensions, group, names.plural)
    family: dict[str, Resource] = {}
    strategy = strategies.get(group, CustomStrategy)
    for version in crd.spec.versions:
        resource = Resource(
            group=group,
            version=version.name,
            resource=names.plural,
            kind=names.kind,
            namespaced=storage.namespaced,
            storage=storage,
            make_strategy=partial(strategy, version),
            make_shape=partial(strategy.make_shape, version),
            singular=names.singular,
            list_kind=names.list_kind,
            short_names=names.short_names,
            categories=names.categories,
            verbs=VERBS,
            subresources=_subresources(version) | extended,
            crd=crd,
            convert=converter.convert,
            fetch=converter.fetch,
            since=since,
            family=family,
            deprecation_warning=crd.deprecation_warning(version.name) or "",
        )
        family[resource.api_version] = resource
    served = set(crd.served_versions())
    return [resource for resource in family.values() if resource.version in served]


def _subresources(version: Version) -> dict[str, Subresource]:
    found: dict[str, Subresource] = {}
    if version.subresources and version.subresources.status is not None:
        found["status"] = Subresource("status")
    if version.subresources and version.subresources.scale is not None:
        found["scale"] = Subresource("scale", kind=SCALE_KIND)
    return found
