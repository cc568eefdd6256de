"""The OpenAPI documents that the Kubernetes project publishes with a release, and their differences to others.

The published documents are those of a server with all alpha features and all versions of all groups, without
enumerations, and with a directory of logs. `as_default` removes what a server with default settings does not have.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Tree = dict[str, Any]
MODULES = Path.home() / "go/pkg/mod/k8s.io"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def folder() -> Path | None:
    """Returns the folder of the documents in Go's module cache, of the newest release that is there."""
    found = sorted(MODULES.glob("kubernetes@v1.37.*/api/openapi-spec"))
    return found[-1] if found else None


def read(file: Path) -> Tree:
    found: Tree = json.loads(file.read_bytes())
    return found


def as_default(document: Tree) -> Tree:
    """Returns a published document without CBOR and logs."""
    tree: Tree = _without_cbor(document)
    tree["paths"] = {path: item for path, item in tree["paths"].items() if not path.startswith("/logs/")}
    return tree


def _without_cbor(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_cbor(entry) for entry in node if not (isinstance(entry, str) and _is_cbor(entry))]
    if isinstance(node, dict):
        return {name: _without_cbor(value) for name, value in node.items() if not _is_cbor(name)}
    return node


def _is_cbor(text: str) -> bool:
    return text.startswith("application/") and "cbor" in text


def without_enums(node: Any) -> Any:
    """Returns a schema without enumerations and the texts about them."""
    if isinstance(node, list):
        return [without_enums(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    found = {name: without_enums(value) for name, value in node.items() if not (name == "enum" and type(value) is list)}
    if isinstance(found.get("description"), str):
        found["description"] = found["description"].partition("Possible enum values:")[0].rstrip()
    return found


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Yields each place where two trees differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            if name not in ours:
                yield f"{place}/{name}: missing"
            elif name not in theirs:
                yield f"{place}/{name}: extra"
            else:
                yield from differences(ours[name], theirs[name], f"{place}/{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(mine, other, f"{place}[{number}]")
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{place}: {ours!r}, published: {theirs!r}"


def references(node: Any) -> Iterator[str]:
    """Yields the targets of all references in a tree."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def reachable(document: Tree, paths: Tree) -> Tree:
    """Returns the definitions of a document of version 2 that some of its paths refer to."""
    todo = [*references(paths), *references(document["parameters"])]
    found: Tree = {}
    while todo:
        _, section, name = todo.pop().split("/")
        if section == "definitions" and name not in found:
            found[name] = document["definitions"][name]
            todo += references(found[name])
    return found


def operations(document: Tree) -> Iterator[tuple[str, str, Tree]]:
    """Yields the path, the method and the content of each operation."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]
