"""Reads YAML files to typed structs, for configuration that people write: every mistake is reported with its line.

The type defines the format: the structs of msgspec, with their constraints. Unknown fields, wrong types and invalid
values are all found in one pass, each with the line, the path of the field, the allowed values, and a suggestion.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.tree import Json

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")

Path = tuple[str | int, ...]

_MAX_BYTES = 1 << 20
_MAX_SHOWN = 60
_MAX_LISTED = 32
_STRUCTS = (inspect.StructType, inspect.DictType)
_LISTS = (inspect.ListType, inspect.VarTupleType)
# The types that a value of each Python type can have, for fields with several allowed types.
_FORMS: Mapping[type, tuple[type, ...]] = {
    str: (inspect.StrType, inspect.LiteralType),
    bool: (inspect.BoolType,),
    int: (inspect.IntType, inspect.FloatType),
    float: (inspect.FloatType,),
    list: _LISTS,
    dict: _STRUCTS,
}
_WORDS: Sequence[tuple[type | tuple[type, ...], str]] = (
    (inspect.BoolType, "true or false"),
    ((inspect.IntType, inspect.FloatType), "a number"),
    (_LISTS, "a list"),
    (_STRUCTS, "fields"),
    (object, "a text"),
)
_BOUNDS = (("ge", "{} or more"), ("gt", "more than {}"), ("le", "{} or less"), ("lt", "less than {}"))


class Mistake(NamedTuple):
    """The fault of one field. `where` is its source: a line of a file, or a flag."""

    where: str
    path: str
    message: str

    def __str__(self) -> str:
        # The name of a flag already identifies the field.
        path = "" if self.where.startswith("--") else self.path
        return ": ".join(part for part in (self.where, path, self.message) if part)


class Mistakes(ValueError):  # noqa: N818 - it is several
    """All mistakes of a file."""

    def __init__(self, found: Sequence[Mistake]) -> None:
        super().__init__("\n".join(map(str, found)))
        self.found = tuple(found)


class ParsedFile(NamedTuple):
    """The tree of a file, and its text, for line numbers."""

    tree: Json
    file: str = ""
    text: str = ""

    def where(self, path: Path) -> str:
        """Returns the file and line of a field, or of its nearest parent."""
        return f"{self.file}:{_mark(self.text, path).line + 1}" if self.text.strip() else self.file

    def place(self, path: Path) -> str:
        """Returns the file, line and column of a field, or of its nearest parent."""
        if not self.text.strip():
            return self.file
        mark = _mark(self.text, path)
        return f"{self.file}:{mark.line + 1}:{mark.column + 1}"


def read(text: str, file: str) -> ParsedFile:
    """Parses a file with one document. Raises Mistakes."""
    from setpoint.objects import yamltext  # imported here, so that callers of the plain reader do not load the library

    try:
        documents = list(yamltext.load_all(text, _MAX_BYTES, own_keys_win=True))
    except (BadRequest, RequestEntityTooLarge) as error:
        raise Mistakes([_syntax(text, file, error.message)]) from None
    if len(documents) > 1:
        raise Mistakes([Mistake(file, "", "there is more than one document: leave out what follows the first ---")])
    tree, repeated = documents[0] if documents else (None, ())
    if repeated:
        raise Mistakes([Mistake(file, "", text) for text in repeated])
    return ParsedFile(tree, file, text)


def convert(tree: Json, kind: type[T], where: Callable[[Path], str], *, unknown: list[Mistake] | None = None) -> T:
    """Converts a tree to a value of a type; `where` returns the source of a field. With `unknown`, unknown fields are
    added to that list instead of being raised with the other mistakes. Raises Mistakes."""
    found: list[Mistake] = []
    made: T = _TreeReader(where, found, unknown).value(tree, inspect.type_info(kind), ())
    if found:
        raise Mistakes(found)
    return made


def load(text: str, file: str, kind: type[T]) -> T:
    """Converts the text of a file to a value of a type. Raises Mistakes."""
    source = read(text, file)
    return convert({} if source.tree is None else source.tree, kind, source.where)


def path_text(path: Path) -> str:
    """Formats a path: `audit.rules[0].level`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def choices(name: str, allowed: Sequence[str]) -> str:
    """Returns the allowed names and the closest match for a name, as the end of a message."""
    from difflib import get_close_matches  # needed only for mistakes

    lower = {each.lower(): each for each in allowed}
    close = get_close_matches(name.lower(), lower, 1, 0.6)
    listed = ", ".join(allowed)
    if not close:
        return f"; allowed are {listed}"
    # A long list would hide the suggestion.
    return f"; did you mean {lower[close[0]]}?{f' Allowed are {listed}' if len(allowed) <= _MAX_LISTED else ''}"


class _TreeReader:
    """Traverses a tree along its type, and collects the mistakes. The result is valid only without mistakes."""

    def __init__(
        self, where: Callable[[Path], str], found: list[Mistake], unknown: list[Mistake] | None = None
    ) -> None:
        self._where = where
        self._found = found
        self._unknown = found if unknown is None else unknown

    def value(self, tree: Json, kind: inspect.Type, path: Path) -> Any:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        if isinstance(kind, inspect.UnionType):
            if tree is None:
                return None
            return self._either(tree, [each for each in kind.types if not isinstance(each, inspect.NoneType)], path)
        if isinstance(kind, inspect.StructType):
            return self._struct(tree, kind, path)
        if isinstance(kind, inspect.ListType | inspect.VarTupleType):
            return self._list(tree, kind, path)
        if isinstance(kind, inspect.DictType):
            return self._dict(tree, kind, path)
        if isinstance(kind, inspect.LiteralType):
            return self._literal(tree, kind.values, path)
        return self._scalar(tree, kind, path)

    def _either(self, tree: Json, kinds: Sequence[inspect.Type], path: Path) -> Any:
        """Converts to one of several types: the one that matches the form of the tree."""
        if len(kinds) == 1:
            return self.value(tree, kinds[0], path)
        bare = [kind.type if isinstance(kind, inspect.Metadata) else kind for kind in kinds]
        for kind in bare:
            if isinstance(kind, _FORMS[type(tree)]):
                return self.value(tree, kind, path)
        *some, last = (next(words for form, words in _WORDS if isinstance(kind, form)) for kind in bare)
        return self._wrong(tree, f"{', '.join(some)} or {last}", path)

    def _struct(self, tree: Json, kind: inspect.StructType, path: Path) -> Any:
        if type(tree) is not dict:
            return self._wrong(tree, "fields", path)
        fields = {field.encode_name: field for field in kind.fields}
        made = {}
        for name, inner in tree.items():
            field = fields.get(name)
            if field is None:
                message = f"there is no such field{choices(name, list(fields))}"
                self._unknown.append(self._mistake((*path, name), message))
            elif inner is not None:
                made[field.name] = self.value(inner, field.type, (*path, name))
        for name, field in fields.items():
            if field.required and tree.get(name) is None:
                self._note(path, f"{name} is missing")
        return None if self._found else kind.cls(**made)

    def _list(self, tree: Json, kind: inspect.ListType | inspect.VarTupleType, path: Path) -> Any:
        if type(tree) is not list:
            return self._wrong(tree, "a list", path)
        items = [self.value(item, kind.item_type, (*path, index)) for index, item in enumerate(tree)]
        if kind.min_length and len(items) < kind.min_length:
            self._note(path, f"there should be at least {kind.min_length}")
        return items if isinstance(kind, inspect.ListType) else tuple(items)

    def _dict(self, tree: Json, kind: inspect.DictType, path: Path) -> Any:
        if type(tree) is not dict:
            return self._wrong(tree, "names with values", path)
        return {name: self.value(value, kind.value_type, (*path, name)) for name, value in tree.items()}

    def _literal(self, tree: Json, values: Sequence[Any], path: Path) -> Any:
        if tree not in values or type(tree) is bool:
            self._note(path, f"{_shown(tree)} is not allowed{choices(str(tree), [str(value) for value in values])}")
        return tree

    def _scalar(self, tree: Json, kind: inspect.Type, path: Path) -> Any:
        if isinstance(kind, inspect.BoolType):
            return tree if type(tree) is bool else self._wrong(tree, "true or false", path)
        if isinstance(kind, inspect.StrType):
            if type(tree) is not str:
                return self._wrong(tree, "a text (in quotes, where it looks like something else)", path)
            if kind.pattern is not None:
                import re

                if not re.search(kind.pattern, tree):
                    self._note(path, f"{_shown(tree)} does not have the form {kind.pattern}")
            return tree
        if isinstance(kind, inspect.IntType | inspect.FloatType):
            whole = isinstance(kind, inspect.IntType)
            if type(tree) is not int and (whole or type(tree) is not float):
                return self._wrong(tree, "a whole number" if whole else "a number", path)
            self._bounds(tree, kind, path)
            return tree if whole else float(tree)
        return tree

    def _bounds(self, tree: Any, kind: inspect.IntType | inspect.FloatType, path: Path) -> None:
        allowed = [(name, getattr(kind, name), text) for name, text in _BOUNDS if getattr(kind, name) is not None]
        tests = {"ge": tree.__ge__, "gt": tree.__gt__, "le": tree.__le__, "lt": tree.__lt__}
        if any(tests[name](type(tree)(bound)) is False for name, bound, _ in allowed):
            words = " and ".join(text.format(bound) for _, bound, text in allowed)
            self._note(path, f"{tree} is not allowed: it should be {words}")

    def _wrong(self, tree: Json, wanted: str, path: Path) -> None:
        self._note(path, f"{_shown(tree)} is not allowed: it should be {wanted}")

    def _note(self, path: Path, message: str) -> None:
        self._found.append(self._mistake(path, message))

    def _mistake(self, path: Path, message: str) -> Mistake:
        return Mistake(self._where(path), path_text(path), message)


def _shown(tree: Json) -> str:
    text = msgspec.json.encode(tree).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _syntax(text: str, file: str, message: str) -> Mistake:
    """Returns the fault of a text that is not YAML, with the line as editors count lines."""
    import yaml

    try:
        for _ in yaml.compose_all(text, Loader=yaml.CSafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            return Mistake(f"{file}:{mark.line + 1}", "", f"this is not YAML: {error.problem}")
    except yaml.YAMLError:
        pass
    return Mistake(file, "", message)


def _mark(text: str, path: Path) -> "yaml.Mark":
    """Returns the position of a field, or of its parent if the field is missing."""
    import yaml

    node: Any = yaml.compose(text, Loader=yaml.CSafeLoader)
    mark: yaml.Mark = node.start_mark
    for part in path:
        if isinstance(node, yaml.MappingNode) and isinstance(part, str):
            found = pairs(node).get(part)
            if found is None:
                break
            key, node = found
            mark = key.start_mark
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
    return mark


def pairs(node: Any) -> "dict[str, tuple[yaml.Node, yaml.Node]]":
    """Returns the keys and values of the node of a map by the text of the key, with those of its merge keys, in the
    order of the tree."""
    import yaml

    made: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    own: set[str] = set()
    for key, value in node.value:
        if key.tag != "tag:yaml.org,2002:merge":
            made[key.value] = (key, value)
            own.add(key.value)
            continue
        for part in reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]:
            made.update({name: pair for name, pair in pairs(part).items() if name not in own})
    return made


def overlaid(tree: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Returns the tree with another value at a path of names."""
    first, *rest = path
    inner = tree.get(str(first))
    changed = overlaid(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value
    return {**tree, str(first): changed}
