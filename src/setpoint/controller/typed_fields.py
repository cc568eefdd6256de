"""The fields of a status, with the types of their class.

The tree of the status stays the only state. A field is converted when it is read; the values are kept, so that changes
inside a list or a part (`ctx.status.parts.append(...)`) reach the tree when the status is written.
"""

from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from setpoint.merge import mergepatch
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object
from setpoint.schema.types.model import Model, read_value, value_to_json
from setpoint.schema.types.shape import fields_of


class _Converted(NamedTuple):
    """A converted field: its value, the JSON of the value at that time, and its source in the tree."""

    value: Any
    json: Json
    source: Json


class TypedFields:
    """The typed fields of one status."""

    def __init__(self, model: type[Model], tree: Object) -> None:
        self._model = model
        self._tree = tree
        self._converted: dict[str, _Converted] = {}

    def read(self, name: str) -> Any:
        """Returns the value of a field. Raises AttributeError for a required field that has no value yet, and TypeError
        if the stored value has another type."""
        self._flush_field(name)
        info = _infos(self._model)[name]
        source = self._tree.get(info.encode_name)
        known = self._converted.get(name)
        if known is not None and known.source == source:
            return known.value
        if info.encode_name in self._tree:
            value = self._convert(name, thaw(source))
        elif info.default is not msgspec.NODEFAULT:
            value = info.default
        elif info.default_factory is not msgspec.NODEFAULT:
            value = info.default_factory()
        else:
            raise missing_field(self._model, name)
        self._converted[name] = _Converted(value, value_to_json(value), thaw(source))
        return value

    def write(self, name: str, value: Any) -> None:
        """Sets a field; None removes the field. Raises TypeError for a value of another type."""
        wire = _infos(self._model)[name].encode_name
        json = value_to_json(value)
        self._convert(name, json)
        self._put(wire, json)
        self._converted[name] = _Converted(value, json, thaw(json))

    def flush(self) -> None:
        """Takes over changes inside lists and parts that were read."""
        for name in self._converted:
            self._flush_field(name)

    def _flush_field(self, name: str) -> None:
        known = self._converted.get(name)
        if known is None:
            return
        json = value_to_json(known.value)
        if json == known.json:
            return
        wire = _infos(self._model)[name].encode_name
        current = self._tree.get(wire)
        if isinstance(json, dict) and isinstance(known.json, dict) and isinstance(current, dict):
            # Only the changes, so that fields which equal their default stay as stored.
            self._put(wire, mergepatch.apply(current, mergepatch.diff(known.json, json)))
        else:
            self._put(wire, json)
        self._converted[name] = _Converted(known.value, json, thaw(self._tree.get(wire)))

    def _put(self, wire: str, json: Json) -> None:
        if json is None:
            self._tree.pop(wire, None)
        else:
            self._tree[wire] = json

    def _convert(self, name: str, json: Json) -> Any:
        field = fields_of(self._model).by_wire[_infos(self._model)[name].encode_name]
        try:
            return read_value(json, _infos(self._model)[name].type, field.shape)
        except msgspec.ValidationError as error:
            raise TypeError(f"{self._model.__name__}.{name}: {error}") from None


@lru_cache(maxsize=1024)
def _infos(model: type[Model]) -> dict[str, msgspec.structs.FieldInfo]:
    return {info.name: info for info in msgspec.structs.fields(model)}


def missing_field(model: type[Model], name: str) -> AttributeError:
    """Returns the error of a field that has no value, or that the class of a status does not declare."""
    known = list(_infos(model))
    if name in known:
        return AttributeError(f"{model.__name__}.{name} has no value yet: set the field, or declare a default")
    close = get_close_matches(name, known, 1)
    remedy = f"did you mean {close[0]}?" if close else f"the fields are {', '.join(known) or 'no fields'}"
    return AttributeError(f"{model.__name__} has no field {name}: {remedy}")
