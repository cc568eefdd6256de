"""The types of CEL, and their assignability.

Types are values and compare by content. Type parameters are bound while an overload is tried; a `Bindings` is never
changed in place, so a failed attempt has no effect.
"""

import re
from typing import NamedTuple


class Type(NamedTuple):
    """A type: its kind, its name, and its parameters (elements of a list, keys and values of a map)."""

    kind: str
    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


BOOL = Type("bool", "bool")
INT = Type("int", "int")
UINT = Type("uint", "uint")
DOUBLE = Type("double", "double")
STRING = Type("string", "string")
BYTES = Type("bytes", "bytes")
NULL = Type("null", "null")
DYN = Type("dyn", "dyn")
ERROR = Type("error", "!error!")
DURATION = Type("duration", "duration")
TIMESTAMP = Type("timestamp", "timestamp")
TYPE = Type("type", "type")

# The types by name; `list` and `map` alone have elements of any type.
SIMPLE = {found.name: found for found in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, DURATION, TIMESTAMP, TYPE)}


def list_of(element: Type) -> Type:
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(denoted: Type) -> Type:
    return Type("type", "type", (denoted,))


def struct(name: str) -> Type:
    return Type("struct", name)


def opaque(name: str) -> Type:
    return Type("opaque", name)


def is_optional(found: Type) -> bool:
    return found.name == "optional_type"


def unwrap_optional(found: Type) -> tuple[Type, bool]:
    return (found.params[0], True) if is_optional(found) else (found, False)


_NAME = re.compile(r"[A-Za-z_.0-9]+")


def parse_type(text: str) -> Type:
    """Parses a type in the syntax of declarations: `list(A)`, `map(string, dyn)`, `optional(V)`, `net.IP`."""
    found, rest = _parse(text.strip())
    if rest:
        raise ValueError(f"cannot read the type {text!r} from {rest!r} on")
    return found


def _parse(text: str) -> tuple[Type, str]:
    match = _NAME.match(text)
    if match is None:
        raise ValueError(f"cannot read a type from {text!r}")
    name, rest = match.group(), text[match.end() :].lstrip()
    params: list[Type] = []
    if rest.startswith("("):
        rest = rest[1:]
        while not rest.startswith(")"):
            param, rest = _parse(rest.lstrip(", "))
            params.append(param)
            rest = rest.lstrip()
        rest = rest[1:]
    return _named(name, tuple(params)), rest


def _named(name: str, params: tuple[Type, ...]) -> Type:
    if name in ("list", "map", "type"):
        return Type(name, name, params)
    if name == "optional":
        return Type("opaque", "optional_type", params)
    if name in SIMPLE:
        return SIMPLE[name]
    if len(name) == 1:
        return Type("param", name)
    return opaque(name) if name.startswith("net.") else struct(name)


Bindings = dict[Type, Type]


def substitute(bindings: Bindings, found: Type, *, free_to_dyn: bool) -> Type:
    """Returns the type with bound parameters replaced; free ones stay, or become dyn."""
    bound = bindings.get(found)
    if bound is not None:
        return substitute(bindings, bound, free_to_dyn=free_to_dyn)
    if found.kind == "param":
        return DYN if free_to_dyn else found
    if found.params:
        params = tuple(substitute(bindings, param, free_to_dyn=free_to_dyn) for param in found.params)
        return found._replace(params=params)
    return found


def assign(bindings: Bindings, left: list[Type], right: list[Type]) -> Bindings | None:
    """Returns the bindings under which each type on the left is assignable to its counterpart on the right, or None."""
    if len(left) != len(right):
        return None
    tried = dict(bindings)
    return tried if _all_assignable(tried, left, right) else None


def _all_assignable(
    bindings: Bindings, left: list[Type] | tuple[Type, ...], right: list[Type] | tuple[Type, ...]
) -> bool:
    return len(left) == len(right) and all(_assignable(bindings, a, b) for a, b in zip(left, right, strict=True))


def _assignable(bindings: Bindings, a: Type, b: Type) -> bool:
    if b.kind == "param":
        valid, bound = _bind(bindings, a, b)
        if valid or bound:
            return valid
    if a.kind == "param":
        return _bind(bindings, b, a)[0]
    if a.kind in ("dyn", "error") or b.kind in ("dyn", "error"):
        return True
    if a.kind == "null":
        return _nullable(b)
    if b.kind == "null":
        return _nullable(a)
    if a.kind == "type":
        return b.kind == "type"
    if a.kind in ("list", "map", "opaque"):
        return a.kind == b.kind and a.name == b.name and _all_assignable(bindings, a.params, b.params)
    return a == b


def _nullable(found: Type) -> bool:
    return found.kind in ("null", "opaque", "struct", "duration", "timestamp")


def _bind(bindings: Bindings, found: Type, param: Type) -> tuple[bool, bool]:
    """Returns True if the type can be bound to the parameter, and True if the parameter was already bound."""
    if found == param:
        return True, True
    bound = bindings.get(param)
    if bound is not None:
        if found == bound:
            return True, True
        if not _assignable(bindings, found, bound):
            return False, True
        general = most_general(found, bound)
        if not _occurs(bindings, param, general):
            bindings[param] = general
        return True, True
    if _occurs(bindings, param, found):
        return False, False
    bindings[param] = found
    return True, False


def _occurs(bindings: Bindings, param: Type, within: Type) -> bool:
    if param == within:
        return True
    if within.kind == "param":
        bound = bindings.get(within)
        return bound is not None and _occurs(bindings, param, bound)
    return any(_occurs(bindings, param, part) for part in within.params)


def most_general(a: Type, b: Type) -> Type:
    """Returns the more general of two compatible types."""
    return a if _at_most_as_specific(a, b) else b


def _at_most_as_specific(a: Type, b: Type) -> bool:
    if a.kind in ("dyn", "param"):
        return True
    if b.kind in ("dyn", "param") or a.kind != b.kind:
        return False
    if a.kind == "type":
        return True
    if a.kind in ("list", "map", "opaque"):
        return (
            a.name == b.name
            and len(a.params) == len(b.params)
            and all(_at_most_as_specific(x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    return a == b
