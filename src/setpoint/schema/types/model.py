"""`Model`: the base of the classes that describe parts of an object.

A model is a msgspec struct: fast to read and write, snake_case in Python and camelCase in JSON, with keyword-only
fields. A field with its default value is written only if set by the author: as an argument of the constructor, or by an
assignment. Fields that the class does not declare are kept and written back (`unknown`). Objects from a cache are
frozen (`frozen`); `edit()` returns a mutable copy.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, dataclass_transform

import msgspec

import setpoint.schema.types.unknown as unknown
from setpoint.objects.tree import Json, Object
from setpoint.schema.types.markers import MapType, Rule
from setpoint.schema.types.scalars import decode_scalar, encode_scalar
from setpoint.schema.types.shape import Made, Shape, is_model

# The struct's own functions, without the handling of undeclared fields and of fields set by the author.
set_field: Callable[[Any, str, Any], None] = msgspec.Struct.__setattr__
_copy: Callable[[Any], Any] = msgspec.Struct.__copy__  # type: ignore[attr-defined]
_reduce: Callable[[Any], tuple[Any, ...]] = msgspec.Struct.__reduce__  # type: ignore[assignment]
_FIELD: Any = type(msgspec.field(default=None))
_decode_tree = msgspec.json.Decoder().decode


class ModelError(TypeError):
    """A class cannot become a definition. The message names the class, the field and a remedy."""


class ModelMeta(msgspec.StructMeta):
    """Reads the keyword arguments of a class statement, and makes every field keyword-only."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        map_type: MapType | None = None,
        preserve_unknown_fields: bool | None = None,
        omit_empty: bool | None = None,
        **config: Any,
    ) -> Any:
        namespace.setdefault("__rules__", ())
        for key, value in namespace.items():
            if isinstance(value, _FIELD) and is_model(value.default_factory):
                namespace[key] = msgspec.field(default_factory=Made(value.default_factory), name=value.name)
        for base in bases:
            if configure := getattr(base, "__configure__", None):
                namespace |= configure(name, config)
        if map_type is not None:
            namespace["__map_type__"] = map_type
        if preserve_unknown_fields is not None:
            namespace["__preserve_unknown_fields__"] = preserve_unknown_fields
        if omit_empty is not None:
            namespace["__omit_empty__"] = omit_empty
        try:
            return super().__new__(mcls, name, bases, namespace, kw_only=True, **config)
        except TypeError as error:
            raise ModelError(f"{name}: {error}") from None

    if not TYPE_CHECKING:  # type checkers would take this for the signature of every class

        def __call__(self, *args: Any, **fields: Any) -> Any:
            """Creates an object, and records which fields its author set. Decoding does not call this."""
            made = super().__call__(*args, **fields)
            if fields and not self.__omit_empty__:
                made.__dict__["__given__"] = dict.fromkeys(fields)
            return made


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(
    msgspec.Struct,
    metaclass=ModelMeta,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
    dict=True,
):
    """A part of an object. `map_type`, `preserve_unknown_fields` and `omit_empty` may be given as keyword arguments of
    the class. With `omit_empty`, a field with its default value is never written, as by Go's `omitempty`."""

    __rules__: ClassVar[tuple[Rule, ...]] = ()
    __map_type__: ClassVar[MapType | None] = None
    __preserve_unknown_fields__: ClassVar[bool] = False
    __omit_empty__: ClassVar[bool] = False
    # The undeclared fields of the object when read; an object that has some keeps them in its own dictionary.
    __unknown__: ClassVar[Object | None] = None
    # The names of the fields that the author set, in order; an object that has some keeps them in its own dictionary.
    __given__: ClassVar[dict[str, None] | None] = None
    # For a class of frozen objects, their original class.
    __thawed__: ClassVar[Any] = None

    @classmethod
    def __configure__(cls, name: str, config: dict[str, Any]) -> dict[str, Any]:
        """Returns the class attributes for the keyword arguments of a subclass, and removes these from `config`."""
        return {}

    @classmethod
    def from_json(cls, tree: Object) -> Self:
        """Reads a tree, without changing the tree. Raises `msgspec.ValidationError` if a field has another type."""
        cls = cls.__thawed__ or cls
        try:
            return msgspec.convert(tree, cls, dec_hook=decode_scalar)
        except msgspec.ValidationError:
            return cast(Self, _read_loosely(cls, tree))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Reads JSON, without an intermediate tree. Raises `msgspec.DecodeError`."""
        cls = cls.__thawed__ or cls
        try:
            found: Self = _decoder(cls)(data)
        except msgspec.ValidationError:
            return cast(Self, _read_loosely(cls, _decode_tree(data)))
        return found

    def to_json(self) -> Object:
        """Returns the object as a tree."""
        tree: Object = msgspec.to_builtins(self, enc_hook=encode_scalar)
        unknown.restore(self, tree)
        return tree

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __setattr__(self, name: str, value: Any) -> None:
            set_field(self, name, value)
            if not name.startswith("__") and not self.__omit_empty__:
                if self.__given__ is None:
                    self.__dict__["__given__"] = {}
                self.__given__[name] = None

    def edit(self) -> Self:
        """Returns a deep copy that may be changed."""
        from setpoint.schema.types.frozen import thaw

        found: Self = thaw(self)
        return found

    def __copy__(self) -> Self:
        made: Self = _copy(self)
        if self.__unknown__ is not None:
            made.__dict__["__unknown__"] = self.__unknown__
        if self.__given__ is not None:
            made.__dict__["__given__"] = dict(self.__given__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.edit()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (*_reduce(self), self.__unknown__, self.__given__)


def _rebuilt(
    rebuild: Callable[..., Any], arguments: tuple[Any, ...], rest: Object | None, given: dict[str, None] | None
) -> Any:
    """Rebuilds a pickled model."""
    made = rebuild(*arguments)
    state = {"__unknown__": rest, "__given__": given}
    made.__dict__.pop("__given__", None)  # `rebuild` passes all fields to the constructor
    made.__dict__.update({name: value for name, value in state.items() if value is not None})
    return made


@lru_cache(maxsize=4096)
def _decoder(cls: type) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(cls, dec_hook=decode_scalar).decode


def read_value(tree: Json, kind: Any, shape: Shape | None) -> Any:
    """Reads the value of a field from a tree. Raises `msgspec.ValidationError` for a value of another type."""
    try:
        return msgspec.convert(tree, kind, dec_hook=decode_scalar)
    except msgspec.ValidationError:
        if shape is None:
            raise
    known, rest = unknown.separate_value(tree, shape)
    made = msgspec.convert(known, kind, dec_hook=decode_scalar)
    unknown.attach(made, rest)
    return made


def value_to_json(value: Any) -> Json:
    """Returns the value of a field as a tree."""
    tree: Json = msgspec.to_builtins(value, enc_hook=encode_scalar)
    unknown.restore_value(value, tree)
    return tree


def _read_loosely(cls: Any, tree: Object) -> Any:
    """Reads a tree with fields that the class does not declare."""
    known, rest = unknown.separate(tree, cls)
    made = msgspec.convert(known, cls, dec_hook=decode_scalar)
    unknown.attach(made, rest)
    return made
