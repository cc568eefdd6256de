"""`Model`: the base of the classes that describe parts of an object.

A model is a msgspec struct: fast to read and write, snake_case in Python and camelCase on the wire, fields by keyword
only, what has its default value left out. Fields the class does not know are dropped on reading; a client that must
give an object back unharmed keeps the tree it came from and changes only what the model changed.
"""

from typing import Any, ClassVar, Self, dataclass_transform

import msgspec

from setpoint.objects.tree import Object
from setpoint.schema.types.markers import MapType, Rule
from setpoint.schema.types.scalars import decode_scalar, encode_scalar


class ModelError(TypeError):
    """A class cannot become a definition. The text names the class, the field and a way out."""


class ModelMeta(msgspec.StructMeta):
    """Takes what a class says about itself beside its bases, and makes every field keyword-only."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        map_type: MapType | None = None,
        preserve_unknown_fields: bool | None = None,
        **config: Any,
    ) -> Any:
        namespace.setdefault("__rules__", ())
        for base in bases:
            if configure := getattr(base, "__configure__", None):
                namespace |= configure(name, config)
        if map_type is not None:
            namespace["__map_type__"] = map_type
        if preserve_unknown_fields is not None:
            namespace["__preserve_unknown_fields__"] = preserve_unknown_fields
        try:
            return super().__new__(mcls, name, bases, namespace, kw_only=True, **config)
        except TypeError as error:
            raise ModelError(f"{name}: {error}") from None


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(msgspec.Struct, metaclass=ModelMeta, rename="camel", omit_defaults=True):
    """A part of an object. `map_type` and `preserve_unknown_fields` may be given beside the base class."""

    __rules__: ClassVar[tuple[Rule, ...]] = ()
    __map_type__: ClassVar[MapType | None] = None
    __preserve_unknown_fields__: ClassVar[bool] = False

    @classmethod
    def __configure__(cls, name: str, config: dict[str, Any]) -> dict[str, Any]:
        """What a subclass gets from the keywords beside its bases; those that are understood here are taken out."""
        return {}

    @classmethod
    def from_json(cls, tree: Object) -> Self:
        """Reads a tree. Raises `msgspec.ValidationError` where a field has another type."""
        return msgspec.convert(tree, cls, dec_hook=decode_scalar)

    def to_json(self) -> Object:
        """The tree of this object."""
        tree: Object = msgspec.to_builtins(self, enc_hook=encode_scalar)
        return tree
