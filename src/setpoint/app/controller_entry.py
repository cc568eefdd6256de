"""Adds an entry to `controllers:` of an app file, and leaves every other character of it as it is. Pure.

Where the entry belongs is read off the positions of YAML's own nodes; what comes out is read again, and must say what
the file said before, and the entry.
"""

import yaml


class AddingError(ValueError):
    """The entry must be written by hand; says why."""


def add_controller(text: str, module: str) -> str:
    """The text of an app file with one controller more; the same text where it has that already. Raises AddingError."""
    before = _read(text)
    listed = before.get("controllers") or []
    if not isinstance(listed, list):
        raise AddingError("`controllers` is no list")
    if any(module in (each, each.get("module") if isinstance(each, dict) else None) for each in listed):
        return text
    found = _edited(text, module)
    if _read(found) != {**before, "controllers": [*listed, module]}:
        raise AddingError("its `controllers` are written in a way that is not understood")
    return found


def _read(text: str) -> dict[str, object]:
    try:
        tree = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise AddingError(f"it is no YAML: {error}") from None
    if tree is not None and not isinstance(tree, dict):
        raise AddingError("it is no mapping")
    return tree or {}


def _edited(text: str, module: str) -> str:
    root = yaml.compose(text, yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        raise AddingError("it is written in braces")
    node = next((value for key, value in pairs if key.value == "controllers"), None)
    if node is None:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}controllers:\n  - {module}\n"
    if isinstance(node, yaml.SequenceNode) and node.flow_style:
        return _in_brackets(text, node, module)
    if isinstance(node, yaml.SequenceNode):
        return _below(text, _last(node), f"{' ' * node.start_mark.column}- {module}")
    # There is nothing, or a null that is written out.
    written = text[: node.start_mark.index] + text[node.end_mark.index :]
    return _below(written, node.start_mark.index, f"  - {module}")


def _in_brackets(text: str, node: yaml.SequenceNode, module: str) -> str:
    if not node.value:
        end = node.end_mark.index - 1
        return f"{text[:end].rstrip()}{module}{text[end:]}"
    last = node.value[-1].end_mark.index
    return f"{text[:last]}, {module}{text[last:]}"


def _last(node: yaml.Node) -> int:
    """Where the last word of a node ends: that of a block itself is where the next thing begins."""
    while isinstance(node, yaml.SequenceNode | yaml.MappingNode) and not node.flow_style and node.value:
        item = node.value[-1]
        node = item[1] if isinstance(item, tuple) else item
    end: int = node.end_mark.index
    return end


def _below(text: str, place: int, line: str) -> str:
    """The text with a line more, after the one that a place is in."""
    end = text.find("\n", place)
    if end < 0:
        return f"{text.rstrip()}\n{line}\n"
    return f"{text[:end].rstrip(' ')}\n{line}{text[end:]}"
