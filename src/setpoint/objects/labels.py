"""Label selectors: the grammar of `labelSelector`, the `LabelSelector` object, and matching.

A `Selector` is compiled once; `matches` then costs a dictionary lookup or two per object. Its text is canonical: the
requirements in the order of their keys, the values of a set in order. `required` returns, for indexes, the `key=value`
pairs that every match must have. Parse errors raise BadRequest with the API's message.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec

from setpoint.objects import names
from setpoint.objects.errors import BadRequest, join_errors
from setpoint.objects.field import FieldError, forbidden, invalid, required
from setpoint.objects.gotext import parse_int, quote
from setpoint.objects.tree import Json

Labels: TypeAlias = Mapping[str, str]
Match: TypeAlias = Callable[[Labels | None], bool]


class Operator(Enum):
    """The comparison of a requirement; the values are the names in the error messages."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_EQUAL = (Operator.EQUALS, Operator.DOUBLE_EQUALS)
_NUMERIC = (Operator.GREATER_THAN, Operator.LESS_THAN)
_BINARY = [operator.value for operator in Operator][:7]
_SYMBOLS = {Operator.GREATER_THAN: ">", Operator.LESS_THAN: "<"}
_NOTHING: Labels = {}
# Longer selectors than people usually write are grouped by key.
_MANY = 8


class Requirement(NamedTuple):
    """One condition on one label. The values of a set are sorted."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def errors(self) -> list[FieldError]:
        """Returns the faults of the requirement, in the order and wording of the API."""
        found = []
        if messages := names.qualified_name(self.key):
            found.append(invalid("key", self.key, "; ".join(messages)))
        values = list(self.values)
        if self.operator in (Operator.IN, Operator.NOT_IN):
            if not values:
                found.append(invalid("values", values, "for 'in', 'notin' operators, values set can't be empty"))
        elif self.operator in _NUMERIC:
            if len(values) != 1:
                found.append(invalid("values", values, "for 'Gt', 'Lt' operators, exactly one value is required"))
            found += [
                invalid(f"values[{at}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
                for at, value in enumerate(values)
                if _integer(value) is None
            ]
        elif self.operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
            if values:
                found.append(invalid("values", values, "values set must be empty for exists and does not exist"))
        elif len(values) != 1:
            found.append(invalid("values", values, "exact-match compatibility requires one single value"))
        for at, value in enumerate(values):
            if messages := names.label_value(value):
                found.append(invalid(f"values[{at}][{self.key}]", value, "; ".join(messages)))
        return found

    def check(self) -> "Requirement":
        """Returns the requirement itself. Raises BadRequest if the requirement is invalid."""
        if found := self.errors():
            raise BadRequest(join_errors(map(str, found)))
        return self

    def compile(self) -> Match:
        """Returns the condition as a function of the labels of an object."""
        key, operator, values = self
        if operator in _EQUAL or operator is Operator.IN:
            if len(values) == 1:
                value = values[0]
                return lambda labels: labels is not None and labels.get(key) == value
            among = frozenset(values)
            return lambda labels: labels is not None and labels.get(key) in among
        if operator in (Operator.NOT_EQUALS, Operator.NOT_IN):
            among = frozenset(values)
            return lambda labels: labels is None or labels.get(key) not in among
        if operator is Operator.EXISTS:
            return lambda labels: labels is not None and key in labels
        if operator is Operator.DOES_NOT_EXIST:
            return lambda labels: labels is None or key not in labels
        return _compare(key, operator, values[0])

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in (Operator.IN, Operator.NOT_IN):
            return f"{self.key} {self.operator.value} ({','.join(sorted(self.values))})"
        return f"{self.key}{_SYMBOLS.get(self.operator, self.operator.value)}{','.join(self.values)}"


def _integer(text: str) -> int | None:
    try:
        return parse_int(text)
    except ValueError:
        return None


def _compare(key: str, operator: Operator, value: str) -> Match:
    bound = _integer(value)
    sign = 1 if operator is Operator.GREATER_THAN else -1

    def match(labels: Labels | None) -> bool:
        found = _integer((labels or _NOTHING).get(key, ""))
        return found is not None and bound is not None and (found - bound) * sign > 0

    return match


class Selector:
    """A conjunction of requirements; an empty selector matches every object."""

    __slots__ = ("matches", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.matches: Match = _compile(self.requirements)

    @property
    def is_everything(self) -> bool:
        return not self.requirements

    def required(self) -> dict[str, str]:
        """Returns the `key=value` pairs that the labels of every match must have."""
        found: dict[str, str] = {}
        for requirement in self.requirements:
            if (requirement.operator in _EQUAL or requirement.operator is Operator.IN) and len(requirement.values) == 1:
                found.setdefault(requirement.key, requirement.values[0])
        return found

    def __and__(self, other: "Selector") -> "Selector":
        return self if other.is_everything else Selector(self.requirements + other.requirements)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class _NoMatch(Selector):
    """A selector without matches: the meaning of a missing `LabelSelector`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.matches = lambda _labels: False

    @property
    def is_everything(self) -> bool:
        return False

    def __and__(self, other: Selector) -> Selector:
        return self


def _compile(requirements: Sequence[Requirement]) -> Match:
    tests = [requirement.compile() for requirement in requirements]
    if not tests:
        return lambda _labels: True
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda labels: first(labels) and second(labels)
    if len(tests) > _MANY:
        return _compile_many(requirements)
    return lambda labels: all(test(labels) for test in tests)


def _compile_many(requirements: Sequence[Requirement]) -> Match:
    """Compiles the requirements by key: the cost of a match depends on the object's labels, not on the selector."""
    among: dict[str, frozenset[str]] = {}
    refused: dict[str, set[str]] = {}
    present: set[str] = set()
    absent: set[str] = set()
    numeric: dict[tuple[str, Operator], Requirement] = {}
    for requirement in requirements:
        key, operator, values = requirement
        if operator in _EQUAL or operator is Operator.IN:
            among[key] = among[key] & frozenset(values) if key in among else frozenset(values)
        elif operator in (Operator.NOT_EQUALS, Operator.NOT_IN):
            refused.setdefault(key, set()).update(values)
        elif operator is Operator.EXISTS:
            present.add(key)
        elif operator is Operator.DOES_NOT_EXIST:
            absent.add(key)
        else:
            numeric[key, operator] = _stricter(numeric.get((key, operator)), requirement)
    compared = [requirement.compile() for requirement in numeric.values()]
    needed = len(among.keys() | present)

    def match(given: Labels | None) -> bool:
        labels = given or _NOTHING
        return (
            len(labels) >= needed
            and not any(key in absent or (key in refused and value in refused[key]) for key, value in labels.items())
            and all(labels.get(key) in values for key, values in among.items())
            and all(key in labels for key in present)
            and all(test(labels) for test in compared)
        )

    return match


def _stricter(first: Requirement | None, second: Requirement) -> Requirement:
    """Returns the stricter of two bounds on one label; a bound that is not a number matches no label."""
    if first is None:
        return second
    bounds = [_integer(requirement.values[0]) for requirement in (first, second)]
    if bounds[0] is None or bounds[1] is None:
        return first if bounds[0] is None else second
    return max(
        first, second, key=lambda each: int(each.values[0]) * (1 if each.operator is Operator.GREATER_THAN else -1)
    )


EVERYTHING = Selector()
NOTHING: Selector = _NoMatch()


def parse(text: str) -> Selector:
    """Parses a `labelSelector`. Raises BadRequest with the API's message."""
    # Clients repeat the same selectors, and a selector is immutable.
    return _parse(text) if len(text) <= _REMEMBERED else _parse.__wrapped__(text)


_REMEMBERED = 256


@lru_cache(maxsize=256)
def _parse(text: str) -> Selector:
    return Selector(_Parser(text).requirements())


def from_labels(labels: Labels) -> Selector:
    """Returns a selector for objects with all these labels, without validating them."""
    return Selector(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


_EXPRESSION_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


class _Expression(msgspec.Struct):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class _LabelSelector(msgspec.Struct, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


def _read_object(selector: Json) -> _LabelSelector:
    try:
        return msgspec.convert(selector, _LabelSelector)
    except msgspec.ValidationError as error:
        raise BadRequest(f"not a label selector: {error}") from None


def from_object(selector: Json) -> Selector:
    """Converts a `LabelSelector` object: None matches no object, an empty one matches every object.

    Raises BadRequest with the API's message.
    """
    if selector is None:
        return NOTHING
    given = _read_object(selector)
    found = [Requirement(key, Operator.EQUALS, (value,)).check() for key, value in (given.match_labels or {}).items()]
    for expression in given.match_expressions or ():
        operator = _EXPRESSION_OPERATORS.get(expression.operator)
        if operator is None:
            raise BadRequest(f"{quote(expression.operator)} is not a valid label selector operator")
        found.append(Requirement(expression.key, operator, tuple(expression.values or ())).check())
    return Selector(found)


def validate_object(selector: Json, path: str) -> list[FieldError]:
    """Returns the faults of a `LabelSelector` object, at its path in the containing object."""
    found: list[FieldError] = []
    if selector is None:
        return found
    given = _read_object(selector)
    for key, value in (given.match_labels or {}).items():
        found += [invalid(f"{path}.matchLabels", key, message) for message in names.qualified_name(key)]
        found += [invalid(f"{path}.matchLabels", value, message) for message in names.label_value(value)]
    for at, expression in enumerate(given.match_expressions or ()):
        place = f"{path}.matchExpressions[{at}]"
        values = expression.values or []
        if expression.operator in ("In", "NotIn"):
            if not values:
                found.append(required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif expression.operator in ("Exists", "DoesNotExist"):
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden(f"{place}.values", why))
        else:
            found.append(invalid(f"{place}.operator", expression.operator, "not a valid selector operator"))
        found += [invalid(f"{place}.key", expression.key, message) for message in names.qualified_name(expression.key)]
        for number, value in enumerate(values):
            found += [invalid(f"{place}.values[{number}]", value, message) for message in names.label_value(value)]
    return found


# A symbol, or a run of characters that are neither symbols nor blanks. Upstream treats a NUL as the end of the input.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<>\x00 \t\r\n]+))\x00?")
_WORDS = {"in": Operator.IN, "notin": Operator.NOT_IN}
_OPERATORS = {
    **_WORDS,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}


class _Token(NamedTuple):
    text: str
    is_word: bool


_END = _Token("", False)


class _Parser:
    """Parses requirements, token by token. `in` and `notin` are operators only where an operator is expected."""

    def __init__(self, text: str) -> None:
        self.tokens: list[_Token] = []
        at = 0
        while found := _TOKEN.match(text, at):
            self.tokens.append(_Token(found[1] or found[2], found[1] is None))
            at = found.end()
        self.tokens.append(_END)
        self.at = 0

    def peek(self) -> _Token:
        return self.tokens[self.at]

    def next_token(self) -> _Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while (token := self.peek()) != _END:
            if not (token.is_word or token.text == "!"):
                raise BadRequest(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement().check())
            except BadRequest as error:
                raise BadRequest(f"unable to parse requirement: {error.message}") from None
            token = self.next_token()
            if token == _END:
                break
            if token.text != "," or token.is_word:
                raise BadRequest(f"found '{token.text}', expected: ',' or 'end of string'")
            following = self.peek()
            if not (following.is_word or following.text == "!"):
                raise BadRequest(f"found '{following.text}', expected: identifier after ','")
        return found

    def requirement(self) -> Requirement:
        key = self.next_token()
        absent = key.text == "!"
        if absent:
            key = self.next_token()
        if not key.is_word:
            raise BadRequest(f"found '{key.text}', expected: identifier")
        if messages := names.qualified_name(key.text):
            raise BadRequest(str(invalid("<nil>", key.text, "; ".join(messages))))
        if absent:
            return Requirement(key.text, Operator.DOES_NOT_EXIST)
        if self.peek().text in ("", ","):
            return Requirement(key.text, Operator.EXISTS)
        token = self.next_token()
        operator = _OPERATORS.get(token.text)
        if operator is None:
            raise BadRequest(f"found '{token.text}', expected: {', '.join(_BINARY)}")
        values = self.set() if operator in (Operator.IN, Operator.NOT_IN) else (self.value(),)
        return Requirement(key.text, operator, values)

    def value(self) -> str:
        if self.peek().text in ("", ","):
            return ""
        token = self.next_token()
        if not token.is_word:
            raise BadRequest(f"found '{token.text}', expected: identifier")
        return token.text

    def set(self) -> tuple[str, ...]:
        token = self.next_token()
        if token.text != "(":
            raise BadRequest(f"found '{token.text}' expected: '('")
        token = self.peek()
        if not (token.is_word or token.text in (",", ")")) or token == _END:
            raise BadRequest(f"found '{token.text}', expected: ',', ')' or identifier")
        found: set[str] = set()
        # A missing value before, between or after commas is an empty string, as is the value of `()`.
        expect_value = True
        while (token := self.next_token()).text != ")":
            if token.is_word:
                if not expect_value:
                    raise BadRequest(f"found '{token.text}', expected: ',' or ')'")
                found.add(token.text)
                expect_value = False
            elif token.text == ",":
                if expect_value:
                    found.add("")
                expect_value = True
            elif expect_value:
                raise BadRequest(f"found '{token.text}', expected: ',', or identifier")
            else:
                raise BadRequest(f"found '{token.text}', expected: ',' or ')'")
        if expect_value:
            found.add("")
        return tuple(sorted(found))
