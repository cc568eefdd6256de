"""Restores scalars as written in the file, if YAML would convert them: `1.10`, `yes`, a key `on`."""

from collections.abc import Collection
from typing import Any

import yaml

from setpoint.objects.tree import Json
from setpoint.objects.typedyaml import pairs


def as_written(tree: Json, text: str, maps: Collection[str]) -> None:
    """Replaces all keys in a tree, and the values in maps with the given names, by their texts in the file."""
    if tree:
        _walk(tree, yaml.compose(text, Loader=yaml.CSafeLoader), False, maps)


def _walk(tree: Any, node: Any, texts: bool, maps: Collection[str]) -> None:
    if isinstance(tree, list) and isinstance(node, yaml.SequenceNode):
        for item, inner in zip(tree, node.value, strict=False):
            _walk(item, inner, False, maps)
    if not isinstance(tree, dict) or not isinstance(node, yaml.MappingNode):
        return
    found = pairs(node)
    # Two keys that are different texts of the same value are one key of the tree.
    if len(found) == len(tree):
        values = list(tree.values())
        tree.clear()
        tree.update(zip(found, values, strict=True))
    for key, (_, inner) in found.items():
        if texts and isinstance(inner, yaml.ScalarNode) and isinstance(tree.get(key), int | float):
            tree[key] = inner.value
        else:
            _walk(tree.get(key), inner, key in maps, maps)
