"""The differences of two versions of an object, as readable paths: `spec.size`, `status.conditions[Ready].reason`.

Fields that the server changes with every write (resource version, managed fields, generation) are ignored.
"""

from collections.abc import Iterator

from setpoint.objects.tree import Json, Object

# The maximum number of paths; more would not help a reader.
MOST_PATHS = 8

_KEPT_BY_THE_SERVER = ("resourceVersion", "managedFields", "generation")
_MISSING = object()


def changed_paths(old: Object, new: Object, most: int = MOST_PATHS) -> tuple[str, ...]:
    """Returns the paths that differ, at most `most`, in the order of the fields."""
    found = []
    for path in _changed("", _own(old), _own(new)):
        found.append(path)
        if len(found) == most:
            break
    return tuple(found)


def _own(tree: Object) -> Object:
    """Returns an object without the fields that the server maintains."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return tree
    return {**tree, "metadata": {name: metadata[name] for name in metadata if name not in _KEPT_BY_THE_SERVER}}


def _changed(path: str, old: Json, new: Json) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from _changed(_below(path, name), old.get(name, _MISSING), new.get(name, _MISSING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changed(f"{path}[{_name(before, after, at)}]", before, after)
    elif old != new or type(old) is not type(new):
        yield path


def _below(path: str, name: str) -> str:
    if "." in name or "/" in name:
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _name(before: Json, after: Json, at: int) -> object:
    """Returns the label of a list element: its name or type, if both versions have the same; else its index."""
    if isinstance(before, dict) and isinstance(after, dict):
        for field in ("name", "type"):
            name = before.get(field)
            if isinstance(name, str) and name == after.get(field):
                return name
    return at


def parse_path(text: str) -> tuple[str, ...]:
    """Returns the steps of a path such as `spec.replicas` or `metadata.annotations[example.com/owner]`.

    Raises ValueError for an invalid path.
    """
    steps: list[str] = []
    rest = text.removeprefix(".")
    while rest:
        if rest.startswith("["):
            step, closed, rest = rest[1:].partition("]")
            if not closed:
                raise ValueError(f"invalid path {text!r}: `[` is not closed")
            rest = rest.removeprefix(".")
        else:
            end = min((at for at in (rest.find("."), rest.find("[")) if at >= 0), default=len(rest))
            step, rest = rest[:end], rest[end:].removeprefix(".")
        if not step:
            raise ValueError(f"invalid path {text!r}: empty step")
        steps.append(step)
    if not steps:
        raise ValueError("the path is empty: name a field, e.g. `spec.replicas`")
    return tuple(steps)


def value_at(tree: Json, path: tuple[str, ...]) -> Json:
    """Returns the value at a path; None if missing. A number is an index into a list."""
    for step in path:
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, list) and step.isdecimal() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return None
    return tree
