"""Compiles expressions of jq: `compile_jq('.status.conditions[] | select(.type == "Ready") | .status')`.

Supported are paths, pipes, `,`, `//`, `?`, comparisons, arithmetic, `and`, `or`, `if`, variables (`as $x`), lists and
objects, and the functions of `functions` and `filters`. Definitions, `reduce`, `foreach`, assignments and `try` are
rejected.
"""

from collections.abc import Callable
from functools import lru_cache

from setpoint.jq.filters import (
    SPECIAL,
    Evaluation,
    Filter,
    alternative,
    attempted,
    binary,
    bound,
    called,
    collected,
    conditional,
    constant,
    constructed,
    identity,
    indexed,
    iterated,
    joined,
    logical,
    piped,
    recursed,
    sliced,
    variable,
)
from setpoint.jq.functions import FUNCTIONS
from setpoint.jq.tokens import JqError, Token, tokens_of, unquoted
from setpoint.jq.values import EvaluationError
from setpoint.objects.tree import Json

_DEEPEST = 50
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_UNSUPPORTED = ("def", "reduce", "foreach", "try", "label", "import", "include", "limit", "until", "while")


class JqProgram:
    """A compiled expression."""

    def __init__(self, compiled: Filter) -> None:
        self._filter = compiled

    def values(self, value: Json) -> list[Json] | None:
        """Returns all results for a value; None if the evaluation fails."""
        try:
            return list(self._filter(value, Evaluation()))
        except (EvaluationError, RecursionError):
            return None


@lru_cache(maxsize=512)
def compile_jq(text: str) -> JqProgram:
    """Compiles an expression. Raises JqError with the column and the remedy."""
    reader = _Reader(tokens_of(text))
    found = reader.pipeline()
    reader.expect_end()
    return JqProgram(found)


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._variables: list[str] = []

    # Tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> Token | None:
        """Takes the next token if it is one of these signs or words."""
        token = self._token
        if token.kind in ("sign", "word") and token.text in texts:
            self._next += 1
            return token
        return None

    def _require(self, text: str) -> None:
        if self._take(text) is None:
            raise self._unexpected(f"; expected {text}")

    def _unexpected(self, rest: str = "") -> JqError:
        token = self._token
        return JqError(f"unexpected {token.text or 'end of the expression'}{rest}", token.at)

    def expect_end(self) -> None:
        """Raises JqError unless all tokens were read."""
        if self._token.kind != "end":
            if self._token.text in ("=", "|=") or (self._token.text == "|" and self._token.at):
                raise JqError("assignments are not supported; use patches to change an object", self._token.at)
            raise self._unexpected()

    # Operators, from the weakest

    def pipeline(self) -> Filter:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise JqError(f"more than {_DEEPEST} expressions in each other", self._token.at)
        found = self._comma()
        if self._take("as") is not None:
            found = self._binding(found)
        elif self._take("|") is not None:
            found = piped(found, self.pipeline())
        self._depth -= 1
        return found

    def _binding(self, source: Filter) -> Filter:
        token = self._token
        if token.kind != "variable":
            raise self._unexpected("; expected a variable such as $x")
        self._next += 1
        self._require("|")
        self._variables.append(token.text)
        body = self.pipeline()
        self._variables.pop()
        return bound(source, token.text, body)

    def _comma(self) -> Filter:
        found = self._alternative()
        while self._take(",") is not None:
            found = joined(found, self._alternative())
        return found

    def _alternative(self) -> Filter:
        found = self._or()
        return alternative(found, self._alternative()) if self._take("//") is not None else found

    def _or(self) -> Filter:
        found = self._and()
        while self._take("or") is not None:
            found = logical("or", found, self._and())
        return found

    def _and(self) -> Filter:
        found = self._comparison()
        while self._take("and") is not None:
            found = logical("and", found, self._comparison())
        return found

    def _comparison(self) -> Filter:
        found = self._sum()
        if sign := self._take(*_COMPARISONS):
            found = binary(sign.text, found, self._sum())
        return found

    def _sum(self) -> Filter:
        return self._left(self._product, "+", "-")

    def _product(self) -> Filter:
        return self._left(self._postfix, "*", "/", "%")

    def _left(self, inner: Callable[[], Filter], *signs: str) -> Filter:
        found = inner()
        while sign := self._take(*signs):
            found = binary(sign.text, found, inner())
        return found

    # Terms

    def _postfix(self) -> Filter:
        if self._take("-") is not None:
            return binary("-", constant(0), self._postfix())
        found = self._term()
        while True:
            token = self._token
            if token.kind == "field":
                self._next += 1
                found = indexed(found, constant(token.text[1:]))
            elif self._take("."):
                if self._token.kind == "text":
                    found = indexed(found, constant(unquoted(self._token)))
                    self._next += 1
                elif self._token.text != "[":
                    raise self._unexpected("; expected the name of a field")
            elif self._take("["):
                found = self._bracket(found)
            elif self._take("?"):
                found = attempted(found)
            else:
                return found

    def _bracket(self, of: Filter) -> Filter:
        if self._take("]"):
            return iterated(of)
        nothing = constant(None)
        if self._take(":"):
            high = self.pipeline()
            self._require("]")
            return sliced(of, nothing, high)
        key = self.pipeline()
        if self._take(":"):
            high = nothing if self._token.text == "]" else self.pipeline()
            self._require("]")
            return sliced(of, key, high)
        self._require("]")
        return indexed(of, key)

    def _term(self) -> Filter:
        token = self._token
        self._next += 1
        if token.kind == "number":
            return constant(float(token.text) if set(token.text) & set(".eE") else int(token.text))
        if token.kind == "text":
            return constant(unquoted(token))
        if token.kind == "recurse":
            return recursed
        if token.kind == "field":
            return indexed(identity, constant(token.text[1:]))
        if token.kind == "variable":
            if token.text not in self._variables:
                raise JqError(f"{token.text} is not defined", token.at)
            return variable(token.text)
        if token.kind == "word":
            return self._word(token)
        match token.text if token.kind == "sign" else "":
            case ".":
                return self._after_dot()
            case "(":
                found = self.pipeline()
                self._require(")")
                return found
            case "[":
                if self._take("]"):
                    return constant([])
                found = self.pipeline()
                self._require("]")
                return collected(found)
            case "{":
                return self._object()
        self._next -= 1
        raise self._unexpected()

    def _after_dot(self) -> Filter:
        if self._token.kind == "text":
            name = unquoted(self._token)
            self._next += 1
            return indexed(identity, constant(name))
        return identity

    def _word(self, token: Token) -> Filter:
        if token.text in _CONSTANTS:
            return constant(_CONSTANTS[token.text])
        if token.text == "if":
            return self._condition()
        if token.text in _UNSUPPORTED:
            raise JqError(f"{token.text} of jq is not supported here", token.at)
        arguments: list[Filter] = []
        if self._take("("):
            arguments.append(self.pipeline())
            while self._take(";"):
                arguments.append(self.pipeline())
            self._require(")")
        if special := SPECIAL.get((token.text, len(arguments))):
            return special(*arguments)
        function = FUNCTIONS.get(token.text)
        if function is None or function.arguments != len(arguments):
            known = ", ".join(sorted({*FUNCTIONS, *(name for name, _ in SPECIAL)}))
            raise JqError(f"unknown function {token.text}/{len(arguments)}; available: {known}", token.at)
        return called(function, arguments)

    def _condition(self) -> Filter:
        test = self.pipeline()
        self._require("then")
        body = self.pipeline()
        if self._take("elif"):
            return conditional(test, body, self._condition())
        otherwise = self.pipeline() if self._take("else") else identity
        self._require("end")
        return conditional(test, body, otherwise)

    def _object(self) -> Filter:
        entries: list[tuple[Filter, Filter]] = []
        while not self._take("}"):
            if entries:
                self._require(",")
            token = self._token
            self._next += 1
            if token.kind in ("word", "text"):
                name = token.text if token.kind == "word" else unquoted(token)
                key: Filter = constant(name)
                short = indexed(identity, key)
            elif token.kind == "sign" and token.text == "(":
                key = self.pipeline()
                self._require(")")
                short = None
            else:
                self._next -= 1
                raise self._unexpected("; expected a key")
            if self._take(":"):
                entries.append((key, self._alternative()))
            elif short is not None:
                entries.append((key, short))
            else:
                raise self._unexpected("; expected :")
        return constructed(entries)
