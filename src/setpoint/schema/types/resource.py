"""`Resource`: a class that is a kind of the API, and its settings beside the fields.

    class Widget(Resource, group="ex.com", version="v1", short_names=["wd"], columns=[Column("Size", ".spec.size")]):
        spec: WidgetSpec
        status: WidgetStatus | None = None

A subclass inherits all settings that are not overridden, so that several versions can share their names. The kind is
the name of the first class that has both a group and a version; a class without them is only a base. A kind of the core
group, which has no name, sets its `kind` instead.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import msgspec

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.names import dns1035_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.schema.types.meta import ObjectMeta
from setpoint.schema.types.model import Model, ModelError, set_field

ColumnType = Literal["string", "integer", "number", "boolean", "date"]


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`. The default type is that of the field; priority 1 appears only in wide output."""

    name: str
    path: str
    type: ColumnType | None = None
    format: str = ""
    description: str = ""
    priority: int = 0


class Scale(msgspec.Struct, frozen=True):
    """The paths of the replicas for `kubectl scale` and autoscalers."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str | None = None


class WebhookConversion(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook that converts between versions, given by URL or by service (`namespace/name`)."""

    url: str | None = None
    service: str | None = None
    path: str | None = None
    port: int | None = None
    ca_bundle: str = ""
    review_versions: tuple[str, ...] = ("v1",)


class ResourceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a class as a kind."""

    group: str = ""
    version: str = ""
    kind: str = ""
    plural: str = ""
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    # None: the kind has a status subresource if the class has a field `status`.
    status_subresource: bool | None = None
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    served: bool = True
    deprecated: bool | str = False
    conversion: WebhookConversion | None = None
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


# The groups of built-in kinds that are not domains.
_BUILTIN_GROUPS = ("", "apps", "autoscaling", "batch", "extensions", "policy")
_OWN = frozenset(ResourceConfig.__struct_fields__)


def _configured(name: str, inherited: ResourceConfig, own: dict[str, Any]) -> ResourceConfig:
    for key in ("short_names", "categories", "columns", "selectable_fields"):
        if isinstance(own.get(key), str):
            raise ModelError(f"{name}: {key} is a list; write {key}=[{own[key]!r}]")
    before = msgspec.structs.asdict(inherited)
    if "version" in own:
        # These settings apply to one version only.
        before |= {"deprecated": False, "served": True}
    try:
        config = msgspec.convert(before | own, ResourceConfig, from_attributes=True)
    except msgspec.ValidationError as error:
        raise ModelError(f"{name}: {error}") from None
    if not (config.version and (config.group or config.kind)):
        # Not a kind yet: a base for classes with further settings.
        return config
    config = config if config.kind else msgspec.structs.replace(config, kind=name)
    _check(name, config)
    return config


def _check(name: str, config: ResourceConfig) -> None:
    """Raises ModelError for invalid settings of a kind."""
    problems = [f"group {config.group!r}: {problem}" for problem in dns1123_subdomain(config.group) if config.group]
    if "." not in config.group and config.group not in _BUILTIN_GROUPS:
        problems = [f"group {config.group!r} should be a domain with at least one dot, such as 'example.com'"]
    if config.scope not in ("Namespaced", "Cluster"):
        problems.append(f"scope {config.scope!r} must be 'Namespaced' or 'Cluster'")
    labels = [("version", config.version), ("kind", config.kind.lower())]
    labels += [(key, value) for key, value in (("plural", config.plural), ("singular", config.singular)) if value]
    labels += [("short_names", value) for value in config.short_names]
    labels += [("categories", value) for value in config.categories]
    problems += [f"{key} {value!r}: {problem}" for key, value in labels for problem in dns1035_label(value)]
    if problems:
        raise ModelError(f"{name}: {problems[0]}")


class Resource(Model):
    """An object of the API. Its fields are the top level of the object, usually `spec` and `status`."""

    __resource__: ClassVar[ResourceConfig] = ResourceConfig()

    if not TYPE_CHECKING:
        # In JSON every object has its kind. The kind is checked when the object is read; afterwards the class defines
        # the kind.
        _api_version: str = msgspec.field(name="apiVersion", default="")
        _kind: str = msgspec.field(name="kind", default="")

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @classmethod
    def __configure__(cls, name: str, config: dict[str, Any]) -> dict[str, Any]:
        """Reads the settings of a subclass as a kind, and leaves all other arguments."""
        own = {key: config.pop(key) for key in list(config) if key in _OWN}
        return {"__resource__": _configured(name, cls.__resource__, own)}

    @classmethod
    def gvk(cls) -> GroupVersionKind:
        """Returns the group, version and kind of the class."""
        return _identity(cls)[0]

    @classmethod
    def crd(cls) -> Object:
        """Returns the CustomResourceDefinition of this class alone; `crd_of` combines several versions."""
        from setpoint.schema.types.crd import crd_of

        return crd_of(cls)

    @property
    def api_version(self) -> str:
        """The group and version of the object."""
        return self.gvk().api_version

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self.gvk().kind

    @classmethod
    def from_json(cls, tree: Object) -> Self:
        """Reads an object. Raises `msgspec.ValidationError` for another kind or a field of another type."""
        cls._check_kind(tree.get("apiVersion"), tree.get("kind"))
        return super().from_json({name: value for name, value in tree.items() if name not in ("apiVersion", "kind")})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Reads an object from JSON. The kind may be missing, as in the items of a list."""
        found = super().decode(data)
        if not TYPE_CHECKING:
            if found._kind or found._api_version:
                cls._check_kind(found._api_version, found._kind)
            set_field(found, "_api_version", "")
            set_field(found, "_kind", "")
        return found

    @classmethod
    def _check_kind(cls, api_version: Any, kind: Any) -> None:
        _, wanted, its_kind = _identity(cls)
        if api_version != wanted or kind != its_kind:
            raise msgspec.ValidationError(f"Expected `{wanted}, Kind={its_kind}`, got `{api_version}, Kind={kind}`")

    def to_json(self) -> Object:
        """Returns the object as a tree, with its apiVersion and kind."""
        _, api_version, kind = _identity(type(self))
        return {"apiVersion": api_version, "kind": kind} | super().to_json()


@lru_cache(maxsize=4096)
def _identity(cls: type[Resource]) -> tuple[GroupVersionKind, str, str]:
    """Returns the group, version and kind of a class, and the apiVersion and kind of its objects."""
    config = cls.__resource__
    if not config.kind:
        raise ModelError(f"{cls.__name__} is no kind yet: give it a group and a version, {_EXAMPLE}")
    gvk = GroupVersionKind(config.group, config.version, config.kind)
    return gvk, gvk.api_version, gvk.kind


_EXAMPLE = 'as in `class Widget(Resource, group="example.com", version="v1")`'
