"""Reads the shipped definitions: each file once, at the first call, and each definition when it is first asked for.

`tools/builtin_schemas.py` makes the files: compressed JSON of the release, the kinds and the definitions by name, and
beside it the descriptions, which are larger than all the rest and which few ask for.
"""

import importlib.resources
import lzma
import zlib
from collections.abc import Mapping, Set
from functools import cache
from types import MappingProxyType

import msgspec

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.openapi import Schema

RELEASE = "v1.37.0"
_PREFIX = "#/definitions/"


class _Catalogue(msgspec.Struct):
    release: str
    kinds: list[tuple[str, str, str, str]]
    # Each still encoded: to find where a definition ends is some ten times cheaper than to decode it.
    definitions: dict[str, msgspec.Raw]


@cache
def _catalogue() -> _Catalogue:
    data = importlib.resources.files(__package__).joinpath("definitions.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=_Catalogue)


@cache
def kinds() -> Mapping[GroupVersionKind, str]:
    """Every built-in kind, with the name of its definition.

    Every group has its own `DeleteOptions` and `WatchEvent`, in versions it no longer serves too.
    """
    return MappingProxyType({GroupVersionKind(*kind): name for *kind, name in _catalogue().kinds})


def names() -> Set[str]:
    """The names of all definitions."""
    return _catalogue().definitions.keys()


@cache
def definition(name: str) -> Object:
    """The definition of that name as plain OpenAPI. Raises `KeyError` where there is none."""
    found: Object = msgspec.json.decode(_catalogue().definitions[name])
    return found


@cache
def _descriptions() -> dict[str, msgspec.Raw]:
    data = importlib.resources.files(__package__).joinpath("descriptions.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(data), type=dict[str, msgspec.Raw])


def descriptions(name: str) -> Mapping[str, str]:
    """What the definition of that name says about itself, under "", and about its fields, under their names."""
    found = _descriptions().get(name)
    return msgspec.json.decode(found, type=dict[str, str]) if found is not None else {}


@cache
def schema(name: str) -> Schema:
    """The definition of that name as a schema tree, in which references are left as they are (`Schema.ref`)."""
    return Schema.parse(definition(name))


def resolve(ref: str) -> Object:
    """The definition that a `$ref` points to."""
    return definition(ref.removeprefix(_PREFIX))


def resolve_schema(ref: str) -> Schema:
    """The schema tree that a `$ref` points to."""
    return schema(ref.removeprefix(_PREFIX))
