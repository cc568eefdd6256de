"""Converts the settings of a definition to the keyword arguments of a class statement."""

from typing import Any

from setpoint.objects.tree import Json, Object
from setpoint.schema.types.crd import plural_of
from setpoint.schema.types.layout import Bracketed, Keyword, Node, literal, quote


def config_of(definition: Object, version: Object, name: str, own: Object) -> list[Node]:
    """Returns the keyword arguments of a kind, without those that equal their defaults."""
    spec = definition["spec"]
    names = spec["names"]
    kind = names["kind"]
    metadata = definition.get("metadata", {})
    annotations = {
        key: text
        for key, text in metadata.get("annotations", {}).items()
        if not key.startswith("kubectl.kubernetes.io/")
    }
    subresources = version.get("subresources") or {}
    said: list[tuple[str, Json, Json]] = [
        ("kind", kind, name),
        ("plural", names["plural"], plural_of(kind.lower())),
        ("singular", names.get("singular") or kind.lower(), kind.lower()),
        ("list_kind", names.get("listKind") or f"{kind}List", f"{kind}List"),
        ("short_names", names.get("shortNames") or [], []),
        ("categories", names.get("categories") or [], []),
        ("scope", spec.get("scope", "Namespaced"), "Namespaced"),
        ("served", version.get("served", True), True),
        ("deprecated", version.get("deprecationWarning") or version.get("deprecated", False), False),
        ("selectable_fields", [each["jsonPath"] for each in version.get("selectableFields") or ()], []),
        ("annotations", annotations, {}),
        ("labels", metadata.get("labels", {}), {}),
    ]
    found: list[Node] = [Keyword("group", quote(spec["group"])), Keyword("version", quote(version["name"]))]
    found += [Keyword(key, literal(value)) for key, value, usual in said if value != usual]
    if "status" in own and "status" not in subresources:
        found.append(Keyword("status_subresource", "False"))
    if scale := subresources.get("scale"):
        found.append(Keyword("scale", Bracketed("Scale", _scale(scale))))
    if columns := version.get("additionalPrinterColumns"):
        found.append(Keyword("columns", Bracketed("", [Bracketed("Column", _column(each)) for each in columns], "[]")))
    if (conversion := spec.get("conversion") or {}).get("strategy") == "Webhook":
        found.append(Keyword("conversion", Bracketed("WebhookConversion", _conversion(conversion["webhook"]))))
    return found


def _scale(scale: Object) -> list[Node]:
    found: list[Node] = [
        Keyword("spec", quote(scale["specReplicasPath"])),
        Keyword("status", quote(scale["statusReplicasPath"])),
    ]
    if selector := scale.get("labelSelectorPath"):
        found.append(Keyword("selector", quote(selector)))
    return found


def _column(column: Object) -> list[Node]:
    found: list[Node] = [quote(column["name"]), quote(column["jsonPath"]), Keyword("type", quote(column["type"]))]
    optional = ("format", "description", "priority")
    return found + [Keyword(key, literal(column[key])) for key in optional if column.get(key)]


def _conversion(webhook: Object) -> list[Node]:
    config: Any = webhook.get("clientConfig") or {}
    service = config.get("service") or {}
    said = {
        "url": config.get("url"),
        "service": f"{service['namespace']}/{service['name']}" if service else None,
        "path": service.get("path"),
        "port": service.get("port"),
        "ca_bundle": config.get("caBundle"),
    }
    found: list[Node] = [Keyword(key, literal(value)) for key, value in said.items() if value]
    versions = webhook.get("conversionReviewVersions") or ["v1"]
    if versions != ["v1"]:
        trailing = "," if len(versions) == 1 else ""
        found.append(Keyword("review_versions", f"({', '.join(map(quote, versions))}{trailing})"))
    return found
