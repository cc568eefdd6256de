"""The text of a rejected change in errors: a diff of the internal Go structs.

kube-apiserver keeps pods and claims in internal structs, whose fields have other names and another order than in JSON,
and are all written. `tools/internal_fields.py` generates the table of them, which is loaded on first use.
"""

import difflib
import importlib.resources
import json
import zlib
from functools import cache

import msgspec

from setpoint.objects.tree import Json, Object

# The maximum number of compared lines: a typical Pod has some hundred.
_MOST_LINES = 2000


@cache
def _table() -> dict[str, list[tuple[str, str, str]]]:
    data = importlib.resources.files(__package__).joinpath("internal_fields.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=dict[str, list[tuple[str, str, str]]])


def difference(struct: str, old: Object, new: Object) -> str:
    """Returns the lines that differ between two values of a struct, with three lines of context. Of very many lines
    only the first are compared, from the first difference on, because the comparison takes quadratic time."""
    lines = difflib.unified_diff(*_compared(_lines(struct, old), _lines(struct, new)), n=3)
    return "".join(line for line in lines if not line.startswith(("--- \n", "+++ \n")))


def _compared(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    if max(len(old), len(new)) <= _MOST_LINES:
        return old, new
    pairs = zip(old, new, strict=False)
    start = next((number for number, (left, right) in enumerate(pairs) if left != right), min(len(old), len(new)))
    start = max(0, start - 3)
    return old[start : start + _MOST_LINES], new[start : start + _MOST_LINES]


def _lines(struct: str, tree: Object) -> list[str]:
    text = json.dumps(_shown(struct, tree), indent=1, ensure_ascii=False)
    for char, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(char, escaped)
    return [line + "\n" for line in text.split("\n")]


def _shown(kind: str, value: Json) -> Json:
    """Returns a value in the form that Go writes for a struct without JSON tags."""
    if kind.startswith("*"):
        return None if value is None else _shown(kind[1:], value)
    if kind.startswith("[]"):
        return None if value is None else [_shown(kind[2:], item) for item in value]
    if kind == "{}":
        return None if value is None else dict(sorted(value.items()))
    rows = _table().get(kind)
    if rows is not None:
        tree = value or {}
        return {name: _shown(inner, tree.get(json_name)) for name, json_name, inner in rows}
    return json.loads(kind) if value is None else value
