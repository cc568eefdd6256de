"""Objects as files: loads streams of YAML documents, and dumps objects without server-set fields.

for obj in load_yaml("addons/"): ...
print(dump_yaml(*(await client.list("v1/ConfigMap")).items))
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from setpoint.client.kinds import AnyObject, tree_of
from setpoint.objects import meta, yamltext
from setpoint.objects.errors import BadRequest
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object

SUFFIXES = (".yaml", ".yml", ".json")
# The metadata fields that authors set.
_KEPT = ("name", "namespace", "labels", "annotations")
# Prefixes of labels and annotations with the internal state of tools; exported objects must not have them.
_BOOKS = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "setpoint.dev/apply-set")


def load_yaml(path: str | Path) -> list[Object]:
    """Loads the objects of a file, or of all `.yaml`, `.yml` and `.json` files of a directory, in the order of their
    names, without subdirectories.

    Raises OSError, and ValueError with the file's name for a document that is not an object.
    """
    found: list[Object] = []
    place = Path(path)
    files = sorted(each for each in place.iterdir() if each.suffix in SUFFIXES) if place.is_dir() else [place]
    for file in files:
        try:
            found += parse_yaml(file.read_bytes())
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    return found


def parse_yaml(text: str | bytes) -> list[Object]:
    """Parses the objects of a stream of YAML documents. Skips empty documents, and returns the items of lists.

    Raises ValueError with the number of the document for a document that is not an object.
    """
    found: list[Object] = []
    documents = yamltext.load_all(text)
    number = 0
    while True:
        number += 1
        try:
            document = next(documents, None)
        except BadRequest as error:
            raise ValueError(f"document {number} is not valid YAML: {error}") from None
        if document is None:
            return found
        if document.duplicates:
            raise ValueError(f"document {number} has a duplicate key: {document.duplicates[0]}")
        found += _objects(document.tree, f"document {number}")


def _objects(tree: Json, where: str) -> Iterator[Object]:
    if tree is None:
        return
    if not isinstance(tree, dict) or not all(isinstance(tree.get(name), str) for name in ("apiVersion", "kind")):
        raise ValueError(f"{where} is not an object: apiVersion or kind is missing")
    items = tree.get("items")
    if tree["kind"].endswith("List") and isinstance(items, list):
        for number, item in enumerate(items, 1):
            yield from _objects(item, f"item {number} of {where}")
        return
    yield tree


def dump_yaml(*objects: AnyObject) -> str:
    """Returns objects as a stream of YAML documents that can be applied to another cluster."""
    return "---\n".join(yamltext.dump(exported(each)) for each in objects)


def exported(obj: AnyObject) -> Object:
    """Returns a copy of an object without status and server-set metadata. Of the metadata, keeps the name, namespace,
    labels and annotations, without the labels and annotations of tools."""
    tree: Object = thaw(tree_of(obj))
    tree.pop("status", None)
    known = meta.of(tree)
    tree["metadata"] = {name: known[name] for name in _KEPT if known.get(name)}
    for name in ("labels", "annotations"):
        kept = dict(_of_author(known.get(name) or {}))
        tree["metadata"].pop(name, None)
        if kept:
            tree["metadata"][name] = kept
    return tree


def _of_author(marks: dict[str, str]) -> Iterable[tuple[str, str]]:
    return ((name, value) for name, value in marks.items() if not name.startswith(_BOOKS))
