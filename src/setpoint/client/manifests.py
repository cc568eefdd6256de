"""Objects as files: streams of YAML documents in, and out again without what the server added.

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
# What of the metadata is its author's.
_KEPT = ("name", "namespace", "labels", "annotations")
# Labels and annotations in which tools keep their own books; what is applied from elsewhere must not bear them.
_BOOKS = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "setpoint.dev/apply-set")


def load_yaml(path: str | Path) -> list[Object]:
    """The objects of a file, or of all files of a directory (`.yaml`, `.yml`, `.json`), by name and not below it.

    Raises OSError, and ValueError, which names the file, for what is no object.
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
    """The objects of a stream of documents. Empty documents are passed over, and lists are their items.

    Raises ValueError, which names the document, for what is no object.
    """
    found: list[Object] = []
    documents = yamltext.load_all(text)
    number = 0
    while True:
        number += 1
        try:
            document = next(documents, None)
        except BadRequest as error:
            raise ValueError(f"document {number} is no YAML: {error}") from None
        if document is None:
            return found
        if document.duplicates:
            raise ValueError(f"document {number} says something twice: {document.duplicates[0]}")
        found += _objects(document.tree, f"document {number}")


def _objects(tree: Json, where: str) -> Iterator[Object]:
    if tree is None:
        return
    if not isinstance(tree, dict) or not all(isinstance(tree.get(name), str) for name in ("apiVersion", "kind")):
        raise ValueError(f"{where} is no object: it needs apiVersion and kind")
    items = tree.get("items")
    if tree["kind"].endswith("List") and isinstance(items, list):
        for number, item in enumerate(items, 1):
            yield from _objects(item, f"item {number} of {where}")
        return
    yield tree


def dump_yaml(*objects: AnyObject) -> str:
    """Objects as a stream of documents that can be applied elsewhere."""
    return "---\n".join(yamltext.dump(exported(each)) for each in objects)


def exported(obj: AnyObject) -> Object:
    """A copy of an object without what the server added: its status, and of its metadata all but the names, labels and
    annotations, without those in which tools keep their own books."""
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
