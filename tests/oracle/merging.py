"""JSON merge patch and the JSON patch between two trees, for requests that change objects."""

from typing import Any


def merged(tree: Any, patch: Any) -> Any:
    """The tree after a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    found = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def merge_patch(old: Any, new: Any) -> Any:
    """The JSON merge patch that turns one tree into another."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old or old[key] != value:
            patch[key] = merge_patch(old.get(key), value)
    return patch


def json_patch(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """The JSON patch that turns one tree into another; lists are replaced as a whole."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [{"op": "replace", "path": path, "value": new}]
    gone = [key for key in old if key not in new]
    operations: list[dict[str, Any]] = [{"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in gone]
    for key, value in new.items():
        where = f"{path}/{_escaped(key)}"
        if key not in old:
            operations.append({"op": "add", "path": where, "value": value})
        elif old[key] != value:
            operations += json_patch(old[key], value, where)
    return operations


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
