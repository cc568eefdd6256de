"""Definitions for tests: a plain one, and changes to it in the short form of the case tables.

A change may have `metadata`, `spec` and `status` (merged into the definition), `version` (merged into its first
version), `schema` (merged into the schema of that version) and `versions` (each a copy of the first version, changed).
A null removes what it stands for.
"""

from setpoint.objects.tree import Json, Object, copy

PLAIN: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.ex.com"},
    "spec": {
        "group": "ex.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"a": {"type": "string"}, "n": {"type": "integer"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def merge(target: Json, change: Json) -> Json:
    """A merge patch: objects are merged, nulls remove, everything else replaces."""
    if not isinstance(change, dict):
        return copy(change)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def build(plain: Object, change: Object) -> Object:
    """The definition with the change."""
    tree: Object = copy(plain)
    first = tree["spec"]["versions"][0]
    first = merge(first, {"schema": {"openAPIV3Schema": change.get("schema", {})}})
    others = [merge(first, other) for other in change.get("versions", ())]
    tree["spec"]["versions"] = [merge(first, change.get("version", {})), *others]
    built: Object = merge(tree, {key: change[key] for key in ("metadata", "spec", "status") if key in change})
    return built
