"""The parameters that operations of version 2 refer to instead of repeating them, and their names.

A name is that of the parameter with the start of a hash of its JSON, as kube-apiserver writes the JSON, so that the
names are the same there.
"""

import base64
from functools import cache

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.publish.openapi.builtin_definitions import V2_PREFIX
from setpoint.server.publish.openapi.parameters import Parameter

PREFIX = "#/parameters/"
_GENERIC = "io.k8s.apimachinery"
# Clients look for these two in the operations themselves.
_INLINE = frozenset((("query", "dryRun"), ("query", "fieldValidation")))
_FNV_OFFSET, _FNV_PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 0xFFFF_FFFF_FFFF_FFFF

_encode = msgspec.json.Encoder().encode


def is_shared(parameter: Parameter) -> bool:
    """Returns True if operations refer to the parameter. The text of `name` contains the kind."""
    return parameter.name != "name" and (parameter.place, parameter.name) not in _INLINE


def is_shared_body(definition: str) -> bool:
    """Returns True if operations refer to the body with that definition, because many kinds use the same."""
    return definition.startswith(_GENERIC)


def described(parameter: Parameter) -> Object:
    """Returns the parameter in the syntax of version 2."""
    found: Object = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.place,
    }
    return found | {"required": True} if parameter.place == "path" else found


def body(definition: str, *, required: bool) -> Object:
    """Returns the parameter of a body in the syntax of version 2."""
    found: Object = {"name": "body", "in": "body"}
    if required:
        found["required"] = True
    return found | {"schema": {"$ref": V2_PREFIX + definition}}


@cache
def shared(parameter: Parameter) -> tuple[str, Object]:
    """Returns the name and the description of a shared parameter."""
    return _named(described(parameter))


@cache
def shared_body(definition: str, *, required: bool) -> tuple[str, Object]:
    """Returns the name and the description of a shared parameter of a body."""
    return _named(body(definition, required=required))


def _named(found: Object) -> tuple[str, Object]:
    mark = base64.urlsafe_b64encode(_fnv(_encode(found)).to_bytes(8, "big")[:6]).decode()
    return f"{found['name']}-{mark}", found


def _fnv(data: bytes) -> int:
    """Returns the 64-bit FNV-1 hash."""
    found = _FNV_OFFSET
    for byte in data:
        found = (found * _FNV_PRIME & _MASK) ^ byte
    return found
