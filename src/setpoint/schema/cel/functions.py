"""Functions that expressions may call: declared in one line, right where they are implemented.

    @LIBRARY.overload("contains_string: (string).contains(string) -> bool")
    def contains(text: str, part: str) -> bool: ...

The receiver of a method is in parentheses before the dot. A capital letter is a type parameter. An implementation
receives checked values and raises `EvaluationError`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from setpoint.schema.cel.types import Type, parse_type

Implementation = TypeVar("Implementation", bound=Callable[..., Any])
_SIGNATURE = re.compile(
    r"(?P<id>\S+): (?:\((?P<receiver>.*?)\)\.)?(?P<name>[^\s()]+)\((?P<args>.*)\) -> (?P<result>.+)"
)


class Overload(NamedTuple):
    """One signature of a function, with its implementation."""

    id: str
    function: str
    args: tuple[Type, ...]
    result: Type
    member: bool
    params: tuple[Type, ...]
    implementation: Callable[..., Any]


class Library:
    """A set of overloads."""

    def __init__(self) -> None:
        self.overloads: list[Overload] = []

    def overload(self, *signatures: str) -> Callable[[Implementation], Implementation]:
        """Declares the decorated function, once for each signature."""

        def declare(implementation: Implementation) -> Implementation:
            self.overloads.extend(parse_signature(signature, implementation) for signature in signatures)
            return implementation

        return declare


def parse_signature(signature: str, implementation: Callable[..., Any]) -> Overload:
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"cannot read the signature {signature!r}")
    receiver = match["receiver"]
    args = [parse_type(receiver)] if receiver is not None else []
    args += [parse_type(part) for part in _split(match["args"])]
    result = parse_type(match["result"])
    params = sorted({param for found in (*args, result) for param in _params(found)})
    return Overload(
        match["id"], match["name"], tuple(args), result, receiver is not None, tuple(params), implementation
    )


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        elif parts or char != " ":
            if not parts:
                parts.append("")
            parts[-1] += char
    return [part for part in parts if part.strip()]


def _params(found: Type) -> set[Type]:
    if found.kind == "param":
        return {found}
    return {param for part in found.params for param in _params(part)}


class Functions:
    """All functions of an environment, by name and by the id of the overload."""

    def __init__(self, libraries: Iterable[Library]) -> None:
        self.by_name: dict[str, list[Overload]] = {}
        self.by_id: dict[str, Overload] = {}
        for library in libraries:
            for overload in library.overloads:
                self.by_name.setdefault(overload.function, []).append(overload)
                self.by_id[overload.id] = overload
