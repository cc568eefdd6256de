"""The text of a rejected value or change in errors: an internal Go struct, or a diff of two.

kube-apiserver keeps pods and claims in internal structs, whose fields have other names and another order than in JSON,
and are all written. `tools/internal_fields.py` generates the table of them, which is loaded on first use.
"""

import difflib
import importlib.resources
import json
import zlib
from collections.abc import Sequence
from functools import cache

import msgspec

from setpoint.objects.gotext import RawJson
from setpoint.objects.tree import Json, Object

# The maximum number of compared lines: a typical Pod has some hundred.
_MOST_LINES = 2000


# Structs with JSON names, which omit empty fields.
_PUBLISHED = {
    "LabelSelector": ("matchLabels", "matchExpressions"),
    "ObjectMeta": (
        *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations"),
        *("ownerReferences", "finalizers", "managedFields"),
    ),
}
# The fields of the structs in their lists.
_ITEMS = {
    "matchExpressions": ("key", "operator", "values"),
    "ownerReferences": ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"),
    "managedFields": ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"),
}


@cache
def _table() -> dict[str, list[tuple[str, str, str]]]:
    data = importlib.resources.files(__package__).joinpath("internal_fields.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=dict[str, list[tuple[str, str, str]]])


def difference(struct: str, old: Object, new: Object) -> str:
    """Returns the lines that differ between two values of a struct, with three lines of context. Of very many lines
    only the first are compared, from the first difference on, because the comparison takes quadratic time."""
    lines = difflib.unified_diff(*_compared(_lines(struct, old), _lines(struct, new)), n=3)
    return "".join(line for line in lines if not line.startswith(("--- \n", "+++ \n")))


def struct_value(kind: str, value: Json) -> RawJson:
    """Returns the text of a value of a kind of the table, such as `*batch.PodFailurePolicy` or `[]ObjectReference`."""
    return RawJson(_escaped(json.dumps(_shown(kind, value), separators=(",", ":"), ensure_ascii=False)))


def _escaped(text: str) -> str:
    for char, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(char, escaped)
    return text


def _compared(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    if max(len(old), len(new)) <= _MOST_LINES:
        return old, new
    pairs = zip(old, new, strict=False)
    start = next((number for number, (left, right) in enumerate(pairs) if left != right), min(len(old), len(new)))
    start = max(0, start - 3)
    return old[start : start + _MOST_LINES], new[start : start + _MOST_LINES]


def _lines(struct: str, tree: Object) -> list[str]:
    text = _escaped(json.dumps(_shown(struct, tree), indent=1, ensure_ascii=False))
    return [line + "\n" for line in text.split("\n")]


def _shown(kind: str, value: Json) -> Json:
    """Returns a value in the form that Go writes for a struct without JSON tags."""
    if kind.startswith("*"):
        return None if value is None else _shown(kind[1:], value)
    if kind.startswith("[]"):
        return None if value is None else [_shown(kind[2:], item) for item in value]
    if kind == "{}":
        return None if value is None else dict(sorted(value.items()))
    if kind in _PUBLISHED:
        tree = value or {}
        return {name: _ordered(tree[name], _ITEMS.get(name, ())) for name in _PUBLISHED[kind] if tree.get(name)}
    rows = _table().get(kind)
    if rows is not None:
        tree = value or {}
        found: Object = {}
        for name, json_name, inner in rows:
            shown = _shown(inner, tree.get(json_name))
            # Go writes the fields of an embedded struct among those of the struct around it.
            found |= {name: shown} if name else shown
        return found
    return json.loads(kind) if value is None else value


def _ordered(value: Json, first: Sequence[str] = ()) -> Json:
    """Returns a value with sorted maps. `first` are the fields of the structs in a list, in their order."""
    if isinstance(value, dict):
        names = [*(name for name in first if name in value), *sorted(value.keys() - {*first})]
        return {name: _ordered(value[name]) for name in names}
    return [_ordered(item, first) for item in value] if isinstance(value, list) else value
