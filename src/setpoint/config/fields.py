"""The fields of the configuration one by one, as the source of command-line flags and documentation."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from msgspec import NODEFAULT, inspect

from setpoint.config.settings import Config
from setpoint.objects.typedyaml import path_text

_SCALARS = {
    inspect.BoolType: "true or false",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.StrType: "a string",
}


class ConfigField(NamedTuple):
    """One field: its path in the file, its flag, its type and its default."""

    path: tuple[str, ...]
    flag: str
    type: inspect.Type
    default: Any
    description: str
    metavar: str = ""
    env: str = ""
    is_secret: bool = False

    @property
    def name(self) -> str:
        return path_text(self.path)

    @property
    def is_list(self) -> bool:
        return isinstance(self.type, inspect.VarTupleType)

    @property
    def is_dict(self) -> bool:
        return isinstance(self.type, inspect.DictType)

    @property
    def choices(self) -> Sequence[str]:
        """The permitted values of an enumerated field; empty for other types."""
        return [str(value) for value in self.type.values] if isinstance(self.type, inspect.LiteralType) else ()

    @property
    def is_bool(self) -> bool:
        return isinstance(self.type, inspect.BoolType)


class Section(NamedTuple):
    """The fields of one struct; nested structs follow as sections of their own."""

    path: tuple[str, ...]
    description: str
    fields: Sequence[ConfigField]


@cache
def sections() -> tuple[Section, ...]:
    """Returns the sections of the configuration."""
    info = inspect.type_info(Config)
    assert isinstance(info, inspect.StructType)
    return tuple(_sections(info, ()))


def all_fields() -> Iterator[ConfigField]:
    for section in sections():
        yield from section.fields


def _sections(info: inspect.StructType, path: tuple[str, ...]) -> Iterator[Section]:
    inner = []
    fields = []
    for field in info.fields:
        bare, meta = _bare(field.type)
        here = (*path, field.encode_name)
        if isinstance(bare, inspect.StructType):
            inner.append((bare, here))
            continue
        extra = meta.get("extra") or {}
        fields.append(
            ConfigField(
                path=here,
                flag=extra.get("flag") or f"--{'-'.join(map(_kebab, here))}",
                type=bare,
                default=field.default if field.default_factory is NODEFAULT else field.default_factory(),
                description=meta.get("description") or "",
                metavar=extra.get("metavar", ""),
                env=extra.get("env", ""),
                is_secret=extra.get("secret", False),
            )
        )
    yield Section(path, " ".join((info.cls.__doc__ or "").split()), fields)
    for bare, here in inner:
        yield from _sections(bare, here)


def _bare(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    """Returns a type without its metadata, and the metadata."""
    meta: dict[str, Any] = {}
    while isinstance(kind, inspect.Metadata):
        meta = {"extra": kind.extra, **(kind.extra_json_schema or {}), **meta}
        kind = kind.type
    return kind, meta


def allowed(kind: inspect.Type) -> str:
    """Describes the permitted values of a field for the documentation."""
    kind, _ = _bare(kind)
    if isinstance(kind, inspect.UnionType):
        [inner] = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return f"{allowed(inner)}, or null"
    if isinstance(kind, inspect.LiteralType):
        return ", ".join(f"`{value}`" for value in kind.values)
    if isinstance(kind, inspect.VarTupleType):
        item, _ = _bare(kind.item_type)
        if isinstance(item, inspect.StructType):
            return f"a list of structs: {', '.join(f'`{field.encode_name}`' for field in item.fields)}"
        return "a list of strings"
    if isinstance(kind, inspect.DictType):
        return "a map of strings"
    words = _SCALARS[type(kind)]
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        bounds = ((kind.ge, "{} or more"), (kind.gt, "more than {}"), (kind.le, "{} or less"))
        return ", ".join((words, *(text.format(bound) for bound, text in bounds if bound is not None)))
    return words


def _kebab(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
