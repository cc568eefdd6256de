"""JSON Patch (RFC 6902): a list of operations, applied in order, all or none.

`decode` parses a patch, `apply` returns the patched tree, `diff` makes the patch from one object to another. Inputs are
not changed: the result shares unchanged parts with them.

The behavior is that of the real server, which departs from the RFC in a few places: a `replace` of a missing key of an
object adds the key; a `copy` of a missing key copies a null; an operation without `value` has the value null; the text
before the first slash of a path is ignored; an index may count from the end (-1 is the last item); the whole document
can be replaced or tested, but not added, removed, moved or copied. Numbers are compared by value, as the RFC requires
(the real server compares their text).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from setpoint.merge.equality import equal, identical
from setpoint.merge.failure import PatchFailed, PatchTestFailed
from setpoint.objects import codec, tree
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.goformat import json_type
from setpoint.objects.gotext import parse_int, quote
from setpoint.objects.tree import Json, Object

MAX_OPERATIONS = 10_000
# The maximum bytes of JSON that all copies of a patch together may add.
MAX_COPIED_BYTES = 3 * 1024 * 1024
# The maximum number of list items that all operations together may shift: about one second of work.
MAX_SHIFTED_ITEMS = 1_000_000_000

_CONTAINERS = (dict, list)
_TEXTS = ("op", "path", "from")


class Operation(NamedTuple):
    """One operation of a patch. `path` and `source` (the field `from`) are None if the patch has no string for them."""

    op: str
    path: str | None
    source: str | None = None
    value: Json = None


def decode(patch: Json, *, strict: bool = True) -> list[Operation]:
    """Parses a patch from its JSON.

    Raises BadRequest if the patch is not a list of objects, and RequestEntityTooLarge if the patch is too long. With
    `strict` (field validation Warn or Strict), also checks the types of the fields of each operation.
    """
    if patch is None:
        return []
    if type(patch) is not list:
        raise _wrong_type(patch, "[]handlers.jsonPatchOp" if strict else "jsonpatch.Patch", strict)
    for item in patch:
        _check(item, strict)
    if len(patch) > MAX_OPERATIONS:
        raise RequestEntityTooLarge.of(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        )
    return [_operation(item or {}) for item in patch]


def _check(item: Json, strict: bool) -> None:
    if item is None:
        return
    if type(item) is not dict:
        raise _wrong_type(item, "handlers.jsonPatchOp" if strict else "jsonpatch.Operation", strict)
    if strict:
        for name, value in item.items():
            if name in _TEXTS and value is not None and type(value) is not str:
                raise BadRequest(
                    f"error decoding patch: json: cannot unmarshal {json_type(value)} "
                    f"into Go struct field jsonPatchOp.{name} of type string"
                )


def _operation(item: Object) -> Operation:
    return Operation(_text(item, "op") or "unknown", _text(item, "path"), _text(item, "from"), item.get("value"))


def _text(item: Object, name: str) -> str | None:
    value = item.get(name)
    return value if type(value) is str else None


def _wrong_type(value: Json, wanted: str, strict: bool) -> BadRequest:
    prefix = "error decoding patch: " if strict else ""
    return BadRequest(f"{prefix}json: cannot unmarshal {json_type(value)} into Go value of type {wanted}")


def unknown_fields(patch: Json) -> list[str]:
    """Returns the strict-validation messages for fields that no operation has."""
    return [
        f"json patch unknown field {quote(f'[{position}].{name}')}"
        for position, item in enumerate(patch if type(patch) is list else ())
        if type(item) is dict
        for name in item
        if name not in _TEXTS and name != "value"
    ]


def apply(document: Json, operations: Iterable[Operation]) -> Json:
    """Returns the document with the patch applied. Raises PatchFailed if an operation cannot be applied."""
    return _patched(_Document(document), operations).root


def apply_in_order(document: Json, operations: Iterable[Operation]) -> Json:
    """Returns the document with the patch applied, and with the keys in the order in which the real server writes
    them: sorted in the containers that a path names, unchanged in all others."""
    patched = _patched(_Document(document, owns_read_containers=True), operations)
    for container in patched.own.values():
        if type(container) is dict:
            items = sorted(container.items())
            container.clear()
            container.update(items)
    return patched.root


def _patched(patched: "_Document", operations: Iterable[Operation]) -> "_Document":
    try:
        for operation in operations:
            patched.run(operation)
        if patched.nested and codec.is_too_deep(patched.root):
            raise PatchFailed.because(codec.TOO_DEEP)
    except RecursionError:
        raise PatchFailed.because(codec.TOO_DEEP) from None
    return patched


class _Document:
    """A document during a patch. Containers are copied before their first change, and then belong to the document."""

    def __init__(self, root: Json, *, owns_read_containers: bool = False) -> None:
        self.root = root
        # True if containers are also copied where an operation only reads them.
        self.owns_read_containers = owns_read_containers
        # The containers created here, by identity. Kept alive, so that no other object can get the same identity.
        self.own: dict[int, Json] = {}
        self.copied = 0
        self.shifted = 0
        # True if a container was inserted, so that the document may be deeper now.
        self.nested = False
        self.operations: dict[str, Callable[[Operation], None]] = {
            "add": self.add,
            "remove": self.remove,
            "replace": self.replace,
            "move": self.move,
            "copy": self.copy,
            "test": self.test,
        }

    def run(self, operation: Operation) -> None:
        run = self.operations.get(operation.op)
        if run is None:
            raise PatchFailed.because(f"Unexpected kind: {operation.op}")
        try:
            run(operation)
        except _Nowhere as nowhere:
            raise PatchFailed.because(nowhere.text(operation)) from None

    def add(self, operation: Operation) -> None:
        self.put(self.change(operation, operation.path), operation.value)

    def remove(self, operation: Operation) -> None:
        self.pop(self.change(operation, operation.path))

    def replace(self, operation: Operation) -> None:
        if operation.path == "":
            if type(operation.value) not in _CONTAINERS:
                raise _failed(operation, "the whole document must be an object or a list")
            self.root = operation.value
            return
        place = self.change(operation, operation.path)
        self.nested = self.nested or type(operation.value) in _CONTAINERS
        if type(place.container) is dict:
            place.container[place.key] = operation.value
        else:
            place.container[place.index()] = operation.value

    def move(self, operation: Operation) -> None:
        value = self.pop(self.change(operation, operation.source, "from"))
        self.put(self.change(operation, operation.path), value)

    def copy(self, operation: Operation) -> None:
        value = self.find(operation, operation.source, "from").get()
        place = self.change(operation, operation.path)
        self.copied += len(msgspec.json.encode(value))
        if self.copied > MAX_COPIED_BYTES:
            raise _failed(operation, f"the copies of the patch exceed {MAX_COPIED_BYTES} bytes")
        self.put(place, tree.copy(value))

    def test(self, operation: Operation) -> None:
        found = self.root if operation.path == "" else self.find(operation, operation.path).get()
        if not equal(found, operation.value):
            raise PatchTestFailed.because(f"testing value {operation.path} failed: test failed")

    def find(self, operation: Operation, path: str | None, field: str = "path") -> "_PatchTarget":
        """Returns the place of a path, for reading."""
        if self.owns_read_containers:
            return self.change(operation, path, field)
        tokens = _tokens(operation, path, field)
        container = self.root
        for token in tokens[:-1]:
            container = _PatchTarget(operation, container, token, field).inner()
        return _PatchTarget(operation, container, tokens[-1], field)

    def change(self, operation: Operation, path: str | None, field: str = "path") -> "_PatchTarget":
        """Returns the place of a path, in containers that the document owns and may change."""
        tokens = _tokens(operation, path, field)
        container = self.root = self.owned(self.root)
        for token in tokens[:-1]:
            place = _PatchTarget(operation, container, token, field)
            inner = place.inner()
            container = self.owned(inner)
            if container is not inner:
                place.container[token if type(place.container) is dict else place.index()] = container
        return _PatchTarget(operation, container, tokens[-1], field)

    def owned(self, container: Json) -> Json:
        if type(container) not in _CONTAINERS or id(container) in self.own:
            return container
        fresh = container.copy()
        self.own[id(fresh)] = fresh
        return fresh

    def put(self, place: "_PatchTarget", value: Json) -> None:
        self.nested = self.nested or type(value) in _CONTAINERS
        if type(place.container) is dict:
            place.container[place.key] = value
        elif place.key == "-":
            place.container.append(value)
        else:
            index = place.index(beyond=1)
            self.shift(place, index)
            place.container.insert(index, value)

    def pop(self, place: "_PatchTarget") -> Json:
        if type(place.container) is dict:
            if place.key not in place.container:
                raise _Nowhere(place.field, f"Unable to remove nonexistent key: {place.key}: missing value", place.key)
            return place.container.pop(place.key)
        index = place.index()
        self.shift(place, index)
        return place.container.pop(index)

    def shift(self, place: "_PatchTarget", index: int) -> None:
        self.shifted += len(place.container) - index
        if self.shifted > MAX_SHIFTED_ITEMS:
            raise place.failed("the patch shifts too many list items")


class _Nowhere(Exception):  # noqa: N818 - a signal that ends where the operation is known
    """A path does not resolve: an intermediate value is missing, or, if `why` is set, the last token is invalid."""

    def __init__(self, field: str, why: str = "", key: str = "") -> None:
        super().__init__(why)
        self.field = field
        self.why = why
        self.key = key

    def text(self, operation: Operation) -> str:
        """Returns the exact message of Go's library, which webhooks and policies receive."""
        op, field = operation.op, self.field
        path = operation.source if field == "from" else operation.path
        if op == "replace" and self.why:
            return f"replace operation does not apply: doc is missing key: {path}: missing value"
        if not self.why:
            return f"{op} operation does not apply: {_MISSING[op, field].format(path)}: missing value"
        if op == "copy" and field == "path":
            return f"error while adding value during copy: {self.why}"
        shown = self.key if op == "move" and field == "from" else path
        return f"error in {op} for {'from' if op == 'copy' else 'path'}: '{shown}': {self.why}"


_MISSING = {
    ("add", "path"): 'doc is missing path: "{}"',
    ("remove", "path"): 'doc is missing path: "{}"',
    ("replace", "path"): "doc is missing path: {}",
    ("move", "from"): "doc is missing from path: {}",
    ("move", "path"): "doc is missing destination path: {}",
    ("copy", "from"): "doc is missing from path: {}",
    ("copy", "path"): "doc is missing destination path: {}",
    ("test", "path"): "is missing path: {}",
}


class _PatchTarget:
    """The target of the last token of a path: a key of an object or an index of a list."""

    __slots__ = ("container", "field", "key", "operation")

    def __init__(self, operation: Operation, container: Json, key: str, field: str) -> None:
        if type(container) not in _CONTAINERS:
            raise _Nowhere(field)
        self.operation = operation
        self.field = field
        self.container: Any = container
        self.key = key

    def get(self) -> Json:
        """Returns the value of the place; null for a missing key of an object."""
        return self.container.get(self.key) if type(self.container) is dict else self.container[self.index()]

    def inner(self) -> Json:
        """Returns the value of the place as a container for the next token."""
        try:
            return self.get()
        except _Nowhere:
            raise _Nowhere(self.field) from None

    def index(self, beyond: int = 0) -> int:
        """Returns the index into the list, which may be up to `beyond` after its end."""
        size = len(self.container) + beyond
        try:
            index = parse_int(self.key)
        except ValueError as error:
            why = f"value was not a proper array index: '{self.key}': {error}" if beyond else str(error)
            raise _Nowhere(self.field, why, self.key) from None
        if not -size <= index < size:
            raise _Nowhere(self.field, f"Unable to access invalid index: {index}: invalid index referenced", self.key)
        return index if index >= 0 else index + size

    def failed(self, why: str) -> PatchFailed:
        return _failed(self.operation, why)


def _failed(operation: Operation, why: str) -> PatchFailed:
    where = "" if operation.path is None else f" {quote(operation.path)}"
    return PatchFailed.because(f"{operation.op}{where}: {why}")


def _tokens(operation: Operation, path: str | None, field: str) -> Sequence[str]:
    """Returns the tokens of a JSON pointer, at least one."""
    if path is None:
        raise _failed(operation, f"it has no {field}")
    _, *tokens = path.split("/")
    if not tokens:
        raise _failed(operation, f"its {field} names the whole document")
    if "~" in path:
        return [token.replace("~1", "/").replace("~0", "~") for token in tokens]
    return tokens


def diff(old: Object, new: Object) -> list[Object]:
    """Returns a patch that changes `old` to `new`."""
    found: list[Object] = []
    _diff_objects("", old, new, found)
    return found


def _diff(path: str, old: Json, new: Json, found: list[Object]) -> None:
    if type(old) is type(new) is dict:
        _diff_objects(path, old, new, found)
    elif type(old) is type(new) is list:
        _diff_lists(path, old, new, found)
    elif not identical(old, new):
        found.append({"op": "replace", "path": path, "value": new})


def _diff_objects(path: str, old: Object, new: Object, found: list[Object]) -> None:
    found += [{"op": "remove", "path": f"{path}/{_escape(key)}"} for key in old if key not in new]
    for key, value in new.items():
        if key in old:
            _diff(f"{path}/{_escape(key)}", old[key], value, found)
        else:
            found.append({"op": "add", "path": f"{path}/{_escape(key)}", "value": value})


def _diff_lists(path: str, old: list[Json], new: list[Json], found: list[Object]) -> None:
    """Adds the difference of two lists: keeps the common prefix and suffix; between them, patches items in pairs, then
    adds or removes the rest."""
    common = min(len(old), len(new))
    start = 0
    while start < common and identical(old[start], new[start]):
        start += 1
    end = 0
    while end < common - start and identical(old[-1 - end], new[-1 - end]):
        end += 1
    old_end, new_end = len(old) - end, len(new) - end
    paired = min(old_end, new_end)
    for index in range(start, paired):
        _diff(f"{path}/{index}", old[index], new[index], found)
    found += [{"op": "remove", "path": f"{path}/{index}"} for index in reversed(range(paired, old_end))]
    found += [{"op": "add", "path": f"{path}/{index}", "value": new[index]} for index in range(paired, new_end)]


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
