"""Executes parsed templates, as Go's text/template does: control structures, variables, pipelines and functions.

A function or field may not be known yet (`NotYet`): the missing objects of all actions are collected, so that a user
sees all of them. Output that comes from a secret is masked in `Rendered.shown`, also through variables.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from setpoint.gotemplate.builtins import BUILTINS, SHORT, is_true
from setpoint.gotemplate.nodes import (
    Branch,
    Call,
    Chain,
    FieldNode,
    Invocation,
    Jump,
    Literal,
    Operand,
    Part,
    Parts,
    Pipeline,
    Template,
    TemplateError,
    Variable,
)
from setpoint.objects.goformat import format_v
from setpoint.objects.tree import Json

MASK = "******"
_NO_VALUE = "<no value>"
# The greatest number of executed actions, and of templates in each other: a template may call itself.
_MOST_STEPS, _DEEPEST = 100_000, 100


class Rendered(NamedTuple):
    """A value, and its masked form."""

    text: str
    shown: str


class Absent:
    """A missing entry of a map, which Go prints as `<no value>`."""


ABSENT: Any = Absent()


class Needs(Exception):  # noqa: N818 - not an error: the value will be available later
    """A value is not known yet. `needs` has the missing objects."""

    needs: tuple[Any, ...] = ()


class Functions(Protocol):
    """The functions and fields of one template, beyond those that are predefined in Go."""

    # True: the value of the last function is a secret.
    is_secret: bool

    def has(self, name: str) -> bool:
        """Returns True if a function exists."""

    def call(self, call: Call, arguments: list[Json]) -> Json:
        """Returns the value of a function. Raises TemplateError or Needs."""

    def root_field(self, names: tuple[str, ...], at: int) -> Json:
        """Returns a field of the object of the template. Raises TemplateError."""

    def entry(self, tree: dict[str, Json], name: str) -> Any:
        """Returns an entry of a map, or a field of a part of the object; ABSENT if missing."""

    def known(self) -> Sequence[str]:
        """Returns the names of the functions."""


class Root:
    """The object of the template, as the current value."""


ROOT: Any = Root()


class _Value(NamedTuple):
    """A value, and True if the value comes from a secret."""

    value: Any
    is_secret: bool = False


class _Break(Exception):  # noqa: N818 - a jump
    pass


class _Continue(Exception):  # noqa: N818 - a jump
    pass


class Execution:
    """One execution of a template. `root` is the value of `.` at the beginning; with ROOT, `functions` has its
    fields, and `whole` returns the object."""

    def __init__(
        self, text: str, template: Template, functions: Functions, root: Any = ROOT, whole: Callable[[], Json] = dict
    ) -> None:
        self._text, self._template, self._functions, self._whole = text, template, functions, whole
        self._variables: list[tuple[str, _Value]] = [("$", _Value(root))]
        self._out: list[Rendered] = []
        self._needs: list[Any] = []
        self._steps = self._depth = 0

    def run(self) -> Rendered:
        """Returns the output. Raises TemplateError, or Needs with all missing objects."""
        self._walk(self._template.parts, self._variables[0][1])
        if self._needs:
            raise self._collected()
        return Rendered("".join(each.text for each in self._out), "".join(each.shown for each in self._out))

    def _collected(self) -> Needs:
        found = self._needs[0]
        needs = [need for each in self._needs for need in each.needs]
        return type(found)(needs)  # type: ignore[no-any-return]

    def _error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self._text, at)

    # Parts

    def _walk(self, parts: Parts, dot: _Value) -> None:
        for part in parts:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise self._error(f"the template takes more than {_MOST_STEPS} steps; simplify it", 0)
            if isinstance(part, str):
                self._out.append(Rendered(part, part))
                continue
            try:
                self._part(part, dot)
            except Needs as waiting:
                self._needs.append(waiting)

    def _part(self, part: Part, dot: _Value) -> None:
        match part:
            case Pipeline():
                found = self._piped(part, dot)
                if not part.variables:
                    text = self._printed(found.value)
                    self._out.append(Rendered(text, MASK if found.is_secret else text))
            case Branch():
                known = len(self._variables)
                try:
                    self._branch(part, dot)
                finally:
                    del self._variables[known:]
            case Jump():
                raise _Break if part.keyword == "break" else _Continue
            case Invocation():
                self._invoke(part, dot)
            case _:
                raise AssertionError(part)

    def _branch(self, branch: Branch, dot: _Value) -> None:
        if branch.keyword == "range":
            self._range(branch, dot)
            return
        found = self._piped(branch.pipeline, dot)
        value = self._data(found.value)
        if not is_true(None if value is ABSENT else value):
            self._walk(branch.otherwise, dot)
        else:
            self._walk(branch.body, found if branch.keyword == "with" else dot)

    def _range(self, branch: Branch, dot: _Value) -> None:
        pipeline = branch.pipeline
        found = self._piped(pipeline._replace(variables=()), dot)
        pairs = self._pairs(self._data(found.value), branch.at)
        for key, value in pairs:
            known = len(self._variables)
            item = _Value(value, found.is_secret)
            names = pipeline.variables
            values = [item] if len(names) == 1 else [_Value(key), item][: len(names)]
            for name, each in zip(names, values, strict=True):
                self._set(name, each, assigns=pipeline.assigns)
            try:
                self._walk(branch.body, item)
            except _Continue:
                continue
            except _Break:
                break
            finally:
                del self._variables[known:]
        if not pairs:
            self._walk(branch.otherwise, dot)

    def _pairs(self, value: Any, at: int) -> list[tuple[Json, Any]]:
        if value is None or value is ABSENT or value == "":  # an absent list of the object is an empty text
            return []
        if isinstance(value, list):
            return list(enumerate(value))
        if isinstance(value, dict):
            return [(key, value[key]) for key in sorted(value)]
        if isinstance(value, int) and not isinstance(value, bool):
            if value > _MOST_STEPS:
                raise self._error(f"a range of {value} is too long", at)
            return [(number, number) for number in range(value)]
        raise self._error(f"range takes a list, a map or a number, not {format_v(value)}", at)

    def _invoke(self, invocation: Invocation, dot: _Value) -> None:
        body = self._template.defined.get(invocation.name)
        if body is None:
            raise self._error(f"template {invocation.name} is not defined", invocation.at)
        if self._depth >= _DEEPEST:
            raise self._error(f"more than {_DEEPEST} templates in each other", invocation.at)
        value = _Value(None) if invocation.pipeline is None else self._piped(invocation.pipeline, dot)
        outer, self._variables = self._variables, [("$", value)]
        self._depth += 1
        try:
            self._walk(body, value)
        finally:
            self._variables = outer
            self._depth -= 1

    # Values

    def _set(self, name: str, value: _Value, *, assigns: bool) -> None:
        if not assigns:
            self._variables.append((name, value))
            return
        for index in range(len(self._variables) - 1, -1, -1):
            if self._variables[index][0] == name:
                self._variables[index] = name, value
                return

    def _data(self, value: Any) -> Any:
        return self._whole() if value is ROOT else value

    def _printed(self, value: Any) -> str:
        if value is ABSENT:
            return _NO_VALUE
        found = self._data(value)
        return _NO_VALUE if found is None else format_v(found)

    def _piped(self, pipeline: Pipeline, dot: _Value) -> _Value:
        piped: list[_Value] = []
        for command in pipeline.commands:
            piped = [self._call(command, dot, piped) if isinstance(command, Call) else self._value(command, dot)]
        for name in pipeline.variables:
            self._set(name, piped[0], assigns=pipeline.assigns)
        return piped[0]

    def _value(self, operand: Operand, dot: _Value) -> _Value:
        match operand:
            case Literal():
                return _Value(operand.value)
            case FieldNode():
                return self._field(dot, operand.names, operand.at)
            case Variable():
                found = next(value for name, value in reversed(self._variables) if name == operand.name)
                return self._field(found, operand.names, operand.at)
            case Chain():
                return self._field(self._piped(operand.operand, dot), operand.names, operand.at)
            case Call():
                return self._call(operand, dot, [])
            case _:
                return self._piped(operand, dot)

    def _field(self, of: _Value, names: tuple[str, ...], at: int) -> _Value:
        if not names:
            return of
        if of.value is ROOT:
            return _Value(self._functions.root_field(names, at), of.is_secret)
        here = of.value
        for name in names:
            if here is ABSENT:
                break
            if not isinstance(here, dict):
                written = "nil" if here is None else MASK if of.is_secret else format_v(here)
                raise self._error(f"{written} has no field {name}", at)
            here = self._functions.entry(here, name)
        return _Value(here, of.is_secret)

    def _call(self, call: Call, dot: _Value, piped: list[_Value]) -> _Value:
        own = self._functions.has(call.function)
        builtin = None if own else BUILTINS.get(call.function)
        if builtin is None and not own:
            known = ", ".join(sorted({*BUILTINS, *self._functions.known()}))
            raise self._error(f"unknown function {call.function}; available: {known}", call.at)
        values: list[_Value] = []
        decides = SHORT.get(call.function) if builtin is not None else None
        for each in call.arguments:
            values.append(self._value(each, dot))
            if decides is not None and is_true(self._argument(values[-1])) is decides:
                return values[-1]
        values += piped
        arguments = [self._argument(each) for each in values]
        is_secret = any(each.is_secret for each in values)
        if builtin is None:
            self._functions.is_secret = False
            found = self._functions.call(call, arguments)
            return _Value(found, is_secret or self._functions.is_secret)
        if not builtin.least <= len(arguments) <= builtin.most:
            raise self._error(f"wrong number of arguments for {call.function}; usage: {builtin.usage}", call.at)
        try:
            return _Value(builtin.body(arguments), is_secret)
        except ValueError as error:
            raise self._error(f"{call.function}: {error}", call.at) from None

    def _argument(self, value: _Value) -> Json:
        found: Json = None if value.value is ABSENT else self._data(value.value)
        return found
