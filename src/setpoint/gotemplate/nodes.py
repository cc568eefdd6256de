"""The parts of a parsed template: texts, actions and control structures of Go's text/template."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from setpoint.objects.tree import Json


class TemplateError(ValueError):
    """A template is invalid. The message has the column, counted from 1, and the remedy."""

    def __init__(self, message: str, text: str, at: int) -> None:
        line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.problem = message
        place = f"column {self.column}" if line == 1 else f"line {line}, column {self.column}"
        super().__init__(f"{message} ({place} of the template)")


class Literal(NamedTuple):
    """A string, number, boolean or nil."""

    value: Json
    at: int


class FieldNode(NamedTuple):
    """A field of the current value, e.g. `.Spec.Env`; without names, the value itself."""

    names: tuple[str, ...]
    at: int


class Variable(NamedTuple):
    """A variable, e.g. `$x`, or a field of its value, e.g. `$x.Name`. `$` is the value that the template began with."""

    name: str
    names: tuple[str, ...]
    at: int


class Chain(NamedTuple):
    """A field of the value of a pipeline in parentheses, e.g. `(index .Spec.Env 0).Name`."""

    operand: "Pipeline"
    names: tuple[str, ...]
    at: int


class Call(NamedTuple):
    """A function with its arguments, without the piped value."""

    function: str
    arguments: "tuple[Operand, ...]"
    at: int


class Pipeline(NamedTuple):
    """Commands, each of which gets the value of the previous one as its last argument. The value is stored in the
    `variables`: new ones, or existing ones with `assigns`."""

    commands: "tuple[Operand, ...]"
    at: int
    variables: tuple[str, ...] = ()
    assigns: bool = False


class Branch(NamedTuple):
    """An `if`, `with` or `range`, with its `else`."""

    keyword: str
    pipeline: Pipeline
    body: "tuple[Part, ...]"
    otherwise: "tuple[Part, ...]"
    at: int


class Jump(NamedTuple):
    """A `break` or `continue`."""

    keyword: str
    at: int


class Invocation(NamedTuple):
    """A `template` action: the output of a defined template for a value."""

    name: str
    pipeline: Pipeline | None
    at: int


Operand: TypeAlias = Literal | FieldNode | Variable | Chain | Call | Pipeline
Part: TypeAlias = str | Pipeline | Branch | Jump | Invocation
Parts: TypeAlias = tuple[Part, ...]


class Template(NamedTuple):
    """A parsed template, and the templates that its text defines, by name."""

    parts: Parts
    defined: Mapping[str, Parts]
