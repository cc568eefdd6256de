"""Converts classes to CustomResourceDefinitions: one class, or the versions of one kind.

The result has its defaults, has passed the validation of the API server, and is deterministic.
"""

import base64
from typing import Any

from setpoint.objects.gvk import version_priority
from setpoint.objects.tree import Json, Object
from setpoint.schema.types.model import ModelError
from setpoint.schema.types.resource import Column, Resource, ResourceConfig, WebhookConversion
from setpoint.schema.types.schemas import struct_schema

# The settings that all versions of a kind must share.
_SHARED = ("group", "kind", "plural", "singular", "list_kind", "scope")
_COLUMN_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean"}


def crd_of(*classes: type[Resource], storage: type[Resource] | str | None = None) -> Object:
    """Returns the definition of a kind. With several versions, `storage` selects the one in which objects are stored.

    By default that is the version the API prefers (stable before beta before alpha, the newest first) of those served.
    Raises `ModelError` if the classes do not make a definition that a server would accept.
    """
    # Imported here because these modules load all of schema validation, which a class alone does not need.
    from setpoint.schema.crd.defaults import default
    from setpoint.schema.crd.definition_validation import validate_create

    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, Resource)):
            raise ModelError(f"{cls!r} is no Resource: derive the class from Resource, with a group and a version")
        cls.gvk()
    if not classes:
        raise ModelError("crd_of needs at least one Resource class")
    ordered = sorted(classes, key=lambda cls: version_priority(cls.__resource__.version))
    newest = ordered[0].__resource__
    _check_versions(ordered)
    kept = _storage_version(ordered, storage)
    names = _names(newest, ordered)
    metadata: Object = {"name": f"{names['plural']}.{newest.group}"}
    for key in ("annotations", "labels"):
        if found := {name: text for cls in reversed(ordered) for name, text in getattr(cls.__resource__, key).items()}:
            metadata[key] = found
    spec: Object = {
        "group": newest.group,
        "names": names,
        "scope": newest.scope,
        "versions": [_version(cls, kept) for cls in ordered],
    }
    conversion = next((cls.__resource__.conversion for cls in ordered if cls.__resource__.conversion), None)
    if conversion is not None:
        spec["conversion"] = _conversion(ordered[0], conversion)
    tree = default(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": spec,
        }
    )
    if errors := validate_create(tree):
        lines = "\n".join(f"  {error}" for error in errors)
        if any(error.field == "spec.selectableFields" and not error.value for error in errors):
            lines += (
                "\nThe API does not take the same selectable fields for versions with different schemas: give them to "
                "one version only."
            )
        raise ModelError(f"{ordered[0].__name__}: the API would refuse its definition:\n{lines}")
    del tree["status"]
    sorted_tree: Object = _sorted(tree)
    return sorted_tree


def _sorted(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {key: _sorted(tree[key]) for key in sorted(tree)}
    return list(map(_sorted, tree)) if isinstance(tree, list) else tree


def _check_versions(classes: list[type[Resource]]) -> None:
    first = classes[0]
    seen: dict[str, str] = {}
    for cls in classes:
        config = cls.__resource__
        if config.version in seen:
            raise ModelError(f"{seen[config.version]} and {cls.__name__} are both version {config.version}; keep one")
        seen[config.version] = cls.__name__
        for key in _SHARED:
            mine, theirs = getattr(config, key), getattr(first.__resource__, key)
            if mine != theirs:
                raise ModelError(
                    f"{cls.__name__} and {first.__name__} are versions of one kind only if they agree on {key}, "
                    f"which is {mine!r} and {theirs!r}"
                )


def _storage_version(classes: list[type[Resource]], storage: type[Resource] | str | None) -> str:
    versions = [cls.__resource__.version for cls in classes]
    if storage is None:
        return next((cls.__resource__.version for cls in classes if cls.__resource__.served), versions[0])
    wanted = storage if isinstance(storage, str) else storage.__resource__.version
    if wanted not in versions:
        raise ModelError(f"storage={wanted!r} is none of the versions {', '.join(versions)}")
    return wanted


def _names(config: ResourceConfig, classes: list[type[Resource]]) -> Object:
    def union(key: str) -> list[str]:
        return list(dict.fromkeys(name for cls in classes for name in getattr(cls.__resource__, key)))

    singular = config.singular or config.kind.lower()
    return {
        "kind": config.kind,
        "listKind": config.list_kind or f"{config.kind}List",
        "plural": config.plural or plural_of(config.kind.lower()),
        "singular": singular,
        "shortNames": union("short_names"),
        "categories": union("categories"),
    }


def plural_of(word: str) -> str:
    """Returns the plural of an English word, by its ending; irregular plurals must be given explicitly."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{word[:-1]}ies"
    return f"{word}s"


def _version(cls: type[Resource], storage: str) -> Object:
    config = cls.__resource__
    schema = _root_schema(cls)
    version: Object = {
        "name": config.version,
        "served": config.served,
        "storage": config.version == storage,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [_column(cls, column, schema) for column in config.columns],
        "selectableFields": [{"jsonPath": path} for path in config.selectable_fields],
    }
    if config.deprecated:
        version["deprecated"] = True
        if isinstance(config.deprecated, str):
            version["deprecationWarning"] = config.deprecated
    if subresources := _subresources(cls, schema):
        version["subresources"] = subresources
    return version


def _root_schema(cls: type[Resource]) -> Object:
    schema = struct_schema(cls)
    # The server defines these three fields for every object, and allows only their types here.
    schema["properties"] = schema["properties"] | {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    return schema


def _subresources(cls: type[Resource], schema: Object) -> Object:
    config = cls.__resource__
    found: Object = {}
    has_status = config.status_subresource
    if has_status is None:
        has_status = "status" in schema["properties"]
    elif has_status and "status" not in schema["properties"]:
        raise ModelError(f"{cls.__name__}: status_subresource=True needs a field `status`")
    if has_status:
        found["status"] = {}
    if config.scale is not None:
        for path in (config.scale.spec, config.scale.status, config.scale.selector):
            if path is not None:
                _field_at(cls, path, schema, "scale")
        found["scale"] = {
            "specReplicasPath": config.scale.spec,
            "statusReplicasPath": config.scale.status,
            "labelSelectorPath": config.scale.selector,
        }
    return found


def _column(cls: type[Resource], column: Column, schema: Object) -> Object:
    kind = column.type
    if kind is None:
        kind = _column_type(_lookup(column.path, schema))
    return {
        "name": column.name,
        "type": kind,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
        "jsonPath": _checked_path(cls, column, schema),
    }


def _checked_path(cls: type[Resource], column: Column, schema: Object) -> str:
    if _is_plain(column.path) and not column.path.startswith(".metadata."):
        _field_at(cls, column.path, schema, f"column {column.name!r}")
    return column.path


def _column_type(field: Object | None) -> Any:
    if field is None:
        return "string"
    if field.get("format") == "date-time":
        return "date"
    return _COLUMN_TYPES.get(field.get("type", ""), "string")


def _is_plain(path: str) -> bool:
    """Returns True if a path consists only of fields, whose existence the schema can verify."""
    return path.startswith(".") and not set(path) & set("[]*?\\ ") and ".." not in path


def _lookup(path: str, schema: Object) -> Object | None:
    """Returns the schema of the field at a path of plain fields; None without such a field, or for another path."""
    if path == ".metadata.creationTimestamp":
        return {"type": "string", "format": "date-time"}
    here: Any = schema
    for name in path.removeprefix(".").split(".") if _is_plain(path) else ("",):
        if not isinstance(here, dict):
            return None
        if name in here.get("properties", {}):
            here = here["properties"][name]
        else:
            here = here.get("additionalProperties")
    return here if isinstance(here, dict) else None


def _field_at(cls: type[Resource], path: str, schema: Object, user: str) -> None:
    here: Any = schema
    walked = ""
    for name in path.removeprefix(".").split("."):
        if here.get("x-kubernetes-preserve-unknown-fields") and name not in here.get("properties", {}):
            return
        below = here.get("properties", {}).get(name, here.get("additionalProperties"))
        if not isinstance(below, dict):
            known = ", ".join(sorted(here.get("properties", {}))) or "no fields"
            raise ModelError(f"{cls.__name__}: {user} reads {path}, but {walked or 'the object'} has {known}")
        here, walked = below, f"{walked}.{name}"


def _conversion(cls: type[Resource], webhook: WebhookConversion) -> Object:
    if (webhook.url is None) == (webhook.service is None):
        raise ModelError(f"{cls.__name__}: a conversion webhook has either a url or a service ('namespace/name')")
    config: Object = {"url": webhook.url}
    if webhook.service is not None:
        namespace, slash, name = webhook.service.partition("/")
        if not slash:
            raise ModelError(f"{cls.__name__}: service={webhook.service!r} should read 'namespace/name'")
        config = {"service": {"namespace": namespace, "name": name, "path": webhook.path, "port": webhook.port}}
    if webhook.ca_bundle:
        bundle = webhook.ca_bundle
        is_pem = bundle.lstrip().startswith("-----BEGIN")
        config["caBundle"] = base64.b64encode(bundle.encode()).decode() if is_pem else bundle
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": config, "conversionReviewVersions": list(webhook.review_versions)},
    }
