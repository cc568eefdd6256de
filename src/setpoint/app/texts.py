"""What a file says, letter by letter, where YAML would make something else of it: `1.10`, `yes`, a key that is `on`."""

from collections.abc import Collection
from typing import Any

import yaml

from setpoint.objects.tree import Json


def as_written(tree: Json, text: str, maps: Collection[str]) -> None:
    """Puts the texts of a file into its tree: of all keys, and of the values in the maps that are called so."""
    if tree:
        _walk(tree, yaml.compose(text, Loader=yaml.CSafeLoader), False, maps)


def _walk(tree: Any, node: Any, texts: bool, maps: Collection[str]) -> None:
    if isinstance(tree, list) and isinstance(node, yaml.SequenceNode):
        for item, inner in zip(tree, node.value, strict=False):
            _walk(item, inner, False, maps)
    if not isinstance(tree, dict) or not isinstance(node, yaml.MappingNode):
        return
    keys = [str(key.value) for key, _ in node.value]
    # What is merged in from elsewhere has keys that do not stand here.
    if len(keys) == len(tree) and "<<" not in keys:
        values = list(tree.values())
        tree.clear()
        tree.update(zip(keys, values, strict=True))
    for key, (_, inner) in zip(keys, node.value, strict=True):
        if texts and isinstance(inner, yaml.ScalarNode) and isinstance(tree.get(key), int | float):
            tree[key] = inner.value
        else:
            _walk(tree.get(key), inner, key in maps, maps)
