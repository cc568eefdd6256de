"""Reads the shipped definitions: each file once, on the first call, and each definition on its first use.

`tools/builtin_schemas.py` generates the files: compressed JSON of the release, the kinds and the definitions by name,
and separately the descriptions, which are larger than the rest and rarely used. `tools/openapi_texts.py` adds the
enumerations, which only the published documents contain: the rules of the kinds check their values.
"""

import importlib.resources
import lzma
import zlib
from collections.abc import Mapping, Set
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.openapi import Schema

RELEASE = "v1.37.0"
_PREFIX = "#/definitions/"
# The values of an enumeration, and a text about each of them, which follows the description of the field.
Enum: TypeAlias = tuple[list[str], str]


class _Catalogue(msgspec.Struct):
    release: str
    kinds: list[tuple[str, str, str, str]]
    # Still encoded: finding the end of a definition is about ten times cheaper than decoding the definition.
    definitions: dict[str, msgspec.Raw]


@cache
def _catalogue() -> _Catalogue:
    data = importlib.resources.files(__package__).joinpath("definitions.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=_Catalogue)


@cache
def kinds() -> Mapping[GroupVersionKind, str]:
    """Returns every built-in kind, with the name of its definition.

    Every group has its own `DeleteOptions` and `WatchEvent`, also in versions that are no longer served.
    """
    return MappingProxyType({GroupVersionKind(*kind): name for *kind, name in _catalogue().kinds})


def names() -> Set[str]:
    """Returns the names of all definitions."""
    return _catalogue().definitions.keys()


@cache
def definition(name: str) -> Object:
    """Returns the definition of that name as plain OpenAPI. Raises `KeyError` if there is none."""
    found: Object = msgspec.json.decode(_catalogue().definitions[name])
    return found


@cache
def _descriptions() -> dict[str, msgspec.Raw]:
    data = importlib.resources.files(__package__).joinpath("descriptions.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(data), type=dict[str, msgspec.Raw])


def descriptions(name: str) -> dict[str, str]:
    """Returns the descriptions of a definition: its own under "", and those of its fields under their names."""
    found = _descriptions().get(name)
    return msgspec.json.decode(found, type=dict[str, str]) if found is not None else {}


@cache
def _enums() -> dict[str, msgspec.Raw]:
    data = importlib.resources.files(__package__).joinpath("enums.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(data), type=dict[str, msgspec.Raw])


def enums(name: str) -> Mapping[str, Enum]:
    """Returns the enumerations of a definition by the names of its fields. A name ends with `[]` or `{}` if the
    enumeration is of the values of a list or a map; the empty name is a description of the definition itself."""
    found = _enums().get(name)
    return msgspec.json.decode(found, type=dict[str, Enum]) if found is not None else {}


@cache
def schema(name: str) -> Schema:
    """Returns the definition of that name as a schema tree, with unresolved references (`Schema.ref`)."""
    return Schema.parse(definition(name))


def resolve(ref: str) -> Object:
    """Returns the definition that a `$ref` points to."""
    return definition(ref.removeprefix(_PREFIX))


def resolve_schema(ref: str) -> Schema:
    """Returns the schema tree that a `$ref` points to."""
    return schema(ref.removeprefix(_PREFIX))
