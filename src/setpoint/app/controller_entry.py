"""Adds an entry to `controllers:` of an app file, without changing any other character. Has no side effects.

The position of the entry comes from the marks of the YAML nodes. The result is parsed again, and must equal the
original content plus the entry.
"""

import yaml


class AddingError(ValueError):
    """The entry must be added by hand. The message says why."""


def add_controller(text: str, module: str) -> str:
    """Returns the text of an app file with an added controller; the unchanged text if the controller is listed already.
    Raises AddingError."""
    before = _read(text)
    listed = before.get("controllers") or []
    if not isinstance(listed, list):
        raise AddingError("`controllers` is not a list")
    if any(module in (each, each.get("module") if isinstance(each, dict) else None) for each in listed):
        return text
    found = _edited(text, module)
    if _read(found) != {**before, "controllers": [*listed, module]}:
        raise AddingError("the notation of `controllers` is not supported")
    return found


def _read(text: str) -> dict[str, object]:
    try:
        tree = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise AddingError(f"invalid YAML: {error}") from None
    if tree is not None and not isinstance(tree, dict):
        raise AddingError("the file is not a mapping")
    return tree or {}


def _edited(text: str, module: str) -> str:
    root = yaml.compose(text, yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        raise AddingError("the file uses flow style (braces)")
    node = next((value for key, value in pairs if key.value == "controllers"), None)
    if node is None:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}controllers:\n  - {module}\n"
    if isinstance(node, yaml.SequenceNode) and node.flow_style:
        return _in_brackets(text, node, module)
    if isinstance(node, yaml.SequenceNode):
        return _below(text, _last(node), f"{' ' * node.start_mark.column}- {module}")
    # The value is empty, or an explicit null.
    written = text[: node.start_mark.index] + text[node.end_mark.index :]
    return _below(written, node.start_mark.index, f"  - {module}")


def _in_brackets(text: str, node: yaml.SequenceNode, module: str) -> str:
    if not node.value:
        end = node.end_mark.index - 1
        return f"{text[:end].rstrip()}{module}{text[end:]}"
    last = node.value[-1].end_mark.index
    return f"{text[:last]}, {module}{text[last:]}"


def _last(node: yaml.Node) -> int:
    """Returns the end of a node's last scalar: the end mark of a block is the start of the next token."""
    while isinstance(node, yaml.SequenceNode | yaml.MappingNode) and not node.flow_style and node.value:
        item = node.value[-1]
        node = item[1] if isinstance(item, tuple) else item
    end: int = node.end_mark.index
    return end


def _below(text: str, place: int, line: str) -> str:
    """Returns the text with a line inserted after the line at a position."""
    end = text.find("\n", place)
    if end < 0:
        return f"{text.rstrip()}\n{line}\n"
    return f"{text[:end].rstrip(' ')}\n{line}{text[end:]}"
