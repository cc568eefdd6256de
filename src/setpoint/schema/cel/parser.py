"""Converts tokens to a tree, by precedence climbing with explicit stacks.

Only nesting recurses, two frames per level, and nesting is bounded, so hostile input ends in a plain error. If one
superfluous or missing token explains an error, the message names that token and parsing continues, as in the real
server's parser.
"""

from collections.abc import Callable

import setpoint.schema.cel.literals as literals
from setpoint.schema.cel.ast import (
    Call,
    Comprehension,
    EntryExpr,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    Struct,
)
from setpoint.schema.cel.lexer import END, RESERVED, Token, tokenize
from setpoint.schema.cel.macros import MacroError, expand
from setpoint.schema.cel.source_text import MAX_CODE_POINTS, CompileError, Problem

MAX_DEPTH = 250

# Operator -> (precedence, name of its function). `||` and `&&` are the loosest; all others are left-associative.
_BINARY = {
    "||": (0, "_||_"),
    "&&": (1, "_&&_"),
    "<": (2, "_<_"),
    "<=": (2, "_<=_"),
    ">=": (2, "_>=_"),
    ">": (2, "_>_"),
    "==": (2, "_==_"),
    "!=": (2, "_!=_"),
    "in": (2, "@in"),
    "+": (3, "_+_"),
    "-": (3, "_-_"),
    "*": (4, "_*_"),
    "/": (4, "_/_"),
    "%": (4, "_%_"),
}
# The order in which the real server lists the tokens it expected.
_ORDER = [
    *("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "true", "false", "null"),
    *("NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"),
]
_OPERAND = frozenset(
    [
        *("[", "{", "(", ".", "-", "!", "true", "false", "null"),
        *("NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER"),
    ]
)
_AFTER_OPERAND = frozenset([*_BINARY, ".", "[", "?", ":", ",", ")", "]", "}", END])


class _Stop(Exception):  # noqa: N818 - the end of parsing, not an error of its own
    """Parsing cannot continue after this error."""


def parse(source: str) -> Expr:
    """Parses an expression to a tree with expanded macros. Raises `CompileError`."""
    if len(source) > MAX_CODE_POINTS:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CODE_POINTS}"
        raise CompileError(source, [Problem(-1, text)])
    problems: list[Problem] = []
    parser = _Parser(tokenize(source, problems), problems)
    try:
        tree = parser.parse_all()
    except _Stop:
        tree = None
    if tree is None or problems:
        raise CompileError(source, problems)
    if _depth(tree) > MAX_DEPTH + 1:
        raise CompileError(source, [Problem(-1, "max recursion depth exceeded")])
    return tree


def children(node: Expr) -> list[Expr]:
    """Returns the nodes directly below a node."""
    if isinstance(node, Call):
        return node.operands
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, ListExpr):
        return node.elements
    if isinstance(node, MapExpr | Struct):
        return [part for entry in node.entries for part in (entry.key, entry.value) if part is not None]
    if isinstance(node, Comprehension):
        return [node.range, node.initial, node.condition, node.step, node.result]
    return []


def _depth(tree: Expr) -> int:
    """Returns the depth of a tree in the source: a macro counts as the call in the source."""
    deepest = 0
    pending = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        macro = node.macro if isinstance(node, Call | Comprehension) else None
        below = children(node) if macro is None or macro.target is None else [macro.target, *macro.args]
        pending.extend((child, depth + 1) for child in below)
    return deepest


class _Parser:
    def __init__(self, tokens: list[Token], problems: list[Problem]) -> None:
        self.tokens = tokens
        self.problems = problems
        self.at = 0
        self.nesting = 0

    def parse_all(self) -> Expr:
        tree = self.expression()
        token = self.tokens[self.at]
        if token.kind != END:
            self.extraneous_or_mismatched(token, "<EOF>", after={END})
        return tree

    def expression(self, *, conditional: bool = True) -> Expr:
        """Parses a chain of binary operators, with the branches that may follow a condition."""
        self.nesting += 1
        if self.nesting > MAX_DEPTH:
            self.problems.append(Problem(-1, f"expression recursion limit exceeded: {MAX_DEPTH}"))
            raise _Stop
        operands = [self.operand()]
        operators: list[Token] = []
        chains: set[Call] = set()
        while True:
            token = self.tokens[self.at]
            if token.kind not in _BINARY:
                break
            while operators and _BINARY[operators[-1].kind][0] >= _BINARY[token.kind][0]:
                _reduce(operands, operators.pop(), chains)
            operators.append(token)
            self.at += 1
            operands.append(self.operand())
        while operators:
            _reduce(operands, operators.pop(), chains)
        result = operands[0]
        token = self.tokens[self.at]
        if token.kind == "?" and conditional:
            self.at += 1
            positive = self.expression(conditional=False)
            self.expect(":", before=_OPERAND)
            result = Call(token.offset, "_?_:_", [result, positive, self.expression()])
        self.nesting -= 1
        return result

    def operand(self) -> Expr:
        """Parses a primary with its preceding signs and its selections, indexes and calls."""
        signs: list[Token] = []
        first = self.tokens[self.at]
        while first.kind in ("!", "-") and self.tokens[self.at].kind == first.kind:
            signs.append(self.tokens[self.at])
            self.at += 1
        if signs and signs[-1].kind == "-":
            self.check_negated()
            if len(signs) == 1 and self.tokens[self.at].kind in ("NUM_INT", "NUM_FLOAT"):
                signs.clear()
                result = self.number(first.offset, "-")
            else:
                result = self.primary()
        elif signs and self.tokens[self.at].kind == "-" and self.tokens[self.at + 1].kind in ("NUM_INT", "NUM_FLOAT"):
            self.at += 1
            result = self.number(self.tokens[self.at - 1].offset, "-")
        else:
            result = self.primary(after_not=bool(signs))
        result = self.members(result)
        if len(signs) % 2 == 0:
            return result
        return Call(signs[0].offset, "!_" if signs[0].kind == "!" else "-_", [result])

    def check_negated(self) -> None:
        token = self.tokens[self.at]
        if token.kind in _OPERAND and token.kind != "!":
            return
        shown = "" if token.kind == END else token.text
        self.problems.append(Problem(token.offset, f"Syntax error: no viable alternative at input '-{shown}'"))
        if token.kind == END:
            self.mismatched(token, _expecting(_OPERAND))
        raise _Stop

    def members(self, result: Expr) -> Expr:
        while True:
            token = self.tokens[self.at]
            if token.kind == ".":
                self.at += 1
                result = self.select(token, result)
            elif token.kind == "[":
                self.at += 1
                optional = self.accept("?")
                self.require_operand(_OPERAND if optional else _OPERAND | {"?"})
                index = self.expression()
                self.expect("]", before=_AFTER_OPERAND)
                result = Call(token.offset, "_[?_]" if optional else "_[_]", [result, index])
            elif token.kind == "{" and (name := _qualified_name(result)):
                self.at += 1
                result = Struct(token.offset, name, self.entries(self.field_entry, "?", "IDENTIFIER", "ESC_IDENTIFIER"))
            else:
                return result

    def select(self, dot: Token, operand: Expr) -> Expr:
        optional = self.accept("?")
        name = self.tokens[self.at]
        if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            if optional:
                self.mismatched(name, "{IDENTIFIER, ESC_IDENTIFIER}")
                self.problems.append(Problem(name.offset, "unsupported ident kind"))
            else:
                shown = "" if name.kind == END else name.text
                text = f"Syntax error: no viable alternative at input '.{shown}'"
                self.problems.append(Problem(name.offset, text))
            raise _Stop
        self.at += 1
        field = name.text.strip("`")
        if optional:
            return Call(dot.offset, "_?._", [operand, Literal(name.offset, field)])
        opening = self.tokens[self.at]
        if opening.kind == "(" and name.kind == "IDENTIFIER":
            self.at += 1
            return self.call(opening.offset, field, operand)
        return Select(dot.offset, operand, field)

    def call(self, offset: int, function: str, target: Expr | None) -> Expr:
        args: list[Expr] = []
        if not self.accept(")"):
            self.require_operand(_OPERAND | {")"})
            args.append(self.expression())
            while self.accept(","):
                self.require_operand()
                args.append(self.expression())
            self.expect(")", before=_AFTER_OPERAND)
        try:
            return expand(offset, function, target, args) or Call(offset, function, args, target)
        except MacroError as error:
            self.problems.append(Problem(error.offset, error.message))
            return Ident(offset, function)

    def require_operand(self, expected: frozenset[str] = _OPERAND) -> None:
        """Ensures that an expression begins here; `expected` are the tokens for the message."""
        token = self.tokens[self.at]
        if token.kind not in _OPERAND:
            self.skip_to_operand(token, _expecting(expected))

    def skip_to_operand(self, token: Token, expecting: str) -> None:
        if token.kind != END:
            self.extraneous_or_mismatched(token, expecting, after=_OPERAND)
            return
        self.mismatched(token, expecting)
        raise _Stop

    def primary(self, *, after_not: bool = False) -> Expr:
        token = self.tokens[self.at]
        if token.kind not in _OPERAND or (token.kind in "-!" and after_not):
            if after_not and token.kind == END:
                text = f"Syntax error: extraneous input '<EOF>' expecting {_expecting(_OPERAND)}"
                self.problems.append(Problem(token.offset, text))
                raise _Stop
            if token.kind in _BINARY and self.tokens[self.at + 1].kind not in _OPERAND:
                # As if an operand were here: an operator may follow one.
                self.mismatched(token, _expecting(_OPERAND))
                return Literal(token.offset, None)
            self.skip_to_operand(token, _expecting(_OPERAND))
            return self.operand()
        self.at += 1
        if token.kind == "IDENTIFIER":
            return self.name(token, "")
        if token.kind == "(":
            self.require_operand()
            inner = self.expression()
            self.expect(")", before=_AFTER_OPERAND)
            return inner
        if token.kind == "[":
            return self.list_literal(token)
        if token.kind == "{":
            return MapExpr(token.offset, self.entries(self.map_entry, *_OPERAND, "?"))
        if token.kind == ".":
            name = self.tokens[self.at]
            if name.kind != "IDENTIFIER":
                self.mismatched(name, "IDENTIFIER")
                raise _Stop
            self.at += 1
            return self.name(name, ".")
        self.at -= 1
        return self.constant(token)

    def name(self, token: Token, dot: str) -> Expr:
        offset = token.offset - len(dot)
        if token.text in RESERVED:
            self.problems.append(Problem(offset, f"reserved identifier: {token.text}"))
        opening = self.tokens[self.at]
        if opening.kind != "(":
            return Ident(offset, dot + token.text)
        self.at += 1
        return self.call(opening.offset, dot + token.text, None)

    def list_literal(self, opening: Token) -> Expr:
        elements: list[Expr] = []
        optional: set[int] = set()
        expected = _OPERAND | {"]", ",", "?"}
        while not self.accept("]"):
            if elements or self.tokens[self.at].kind == ",":
                if not self.accept(","):
                    self.expect("]", before=frozenset(), expecting="{']', ','}")
                    break
                if self.accept("]"):
                    break
                if self.tokens[self.at].kind == "," or not elements:
                    self.mismatched(self.tokens[self.at], "']'")
                    raise _Stop
            if self.accept("?"):
                optional.add(len(elements))
            self.require_operand(expected)
            elements.append(self.expression())
        return ListExpr(opening.offset, elements, frozenset(optional))

    def entries(self, read: Callable[[], EntryExpr], *expected: str) -> list[EntryExpr]:
        found: list[EntryExpr] = []
        while not self.accept("}"):
            if found or self.tokens[self.at].kind == ",":
                if not self.accept(","):
                    self.expect("}", before=frozenset(), expecting="{'}', ','}")
                    break
                if self.accept("}"):
                    break
            token = self.tokens[self.at]
            if token.kind not in expected:
                self.mismatched(token, _expecting({*expected, "}", ","}))
                raise _Stop
            found.append(read())
        return found

    def map_entry(self) -> EntryExpr:
        optional = self.accept("?")
        self.require_operand()
        key = self.expression()
        colon = self.tokens[self.at]
        self.expect(":", before=_OPERAND)
        self.require_operand()
        return EntryExpr(colon.offset, key, "", self.expression(), optional=optional)

    def field_entry(self) -> EntryExpr:
        optional = self.accept("?")
        name = self.tokens[self.at]
        if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            self.mismatched(name, "{IDENTIFIER, ESC_IDENTIFIER}")
            raise _Stop
        self.at += 1
        colon = self.tokens[self.at]
        self.expect(":", before=_OPERAND)
        self.require_operand()
        return EntryExpr(colon.offset, None, name.text.strip("`"), self.expression(), optional=optional)

    def constant(self, token: Token) -> Expr:
        if token.kind in ("true", "false"):
            self.at += 1
            return Literal(token.offset, token.kind == "true")
        if token.kind == "null":
            self.at += 1
            return Literal(token.offset, None)
        return self.number(token.offset, "")

    def number(self, offset: int, sign: str) -> Expr:
        """Parses a number or string literal, which may have an invalid value."""
        token = self.tokens[self.at]
        self.at += 1
        try:
            if token.kind == "NUM_INT":
                return Literal(offset, literals.integer(sign + token.text))
            if token.kind == "NUM_UINT":
                return Literal(offset, literals.unsigned(token.text))
            if token.kind == "NUM_FLOAT":
                return Literal(offset, literals.double(sign + token.text))
            if token.kind == "STRING":
                return Literal(offset, literals.string(token.text))
            return Literal(offset, literals.bytes_literal(token.text))
        except ValueError as error:
            self.problems.append(Problem(offset, str(error)))
            return Literal(offset, None)

    def accept(self, kind: str) -> bool:
        if self.tokens[self.at].kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str, *, before: frozenset[str], expecting: str = "") -> None:
        """Consumes a required token; skips a superfluous token before, or reports the token as missing."""
        if self.accept(kind):
            return
        token = self.tokens[self.at]
        if token.kind != END and self.tokens[self.at + 1].kind == kind:
            self.extraneous_or_mismatched(token, expecting or f"'{kind}'", after={kind})
            self.at += 1
        elif token.kind in before:
            self.problems.append(Problem(token.offset, f"Syntax error: missing '{kind}' at '{token.text}'"))
        else:
            self.mismatched(token, expecting or f"'{kind}'")
            raise _Stop

    def extraneous_or_mismatched(self, token: Token, expecting: str, *, after: frozenset[str] | set[str]) -> None:
        """Skips a token if the next one is acceptable; otherwise stops parsing."""
        if self.tokens[self.at + 1].kind in after:
            text = f"Syntax error: extraneous input '{token.text}' expecting {expecting}"
            self.problems.append(Problem(token.offset, text))
            self.at += 1
        else:
            self.mismatched(token, expecting)
            raise _Stop

    def mismatched(self, token: Token, expecting: str) -> None:
        text = f"Syntax error: mismatched input '{token.text}' expecting {expecting}"
        self.problems.append(Problem(token.offset, text))


def _reduce(operands: list[Expr], operator: Token, chains: set[Call]) -> None:
    """Applies an operator to the last two operands; a chain of `&&` or `||` without parentheses is one call."""
    right = operands.pop()
    left = operands[-1]
    function = _BINARY[operator.kind][1]
    if left in chains and isinstance(left, Call) and left.function == function:
        left.args.append(right)
        return
    call = Call(operator.offset, function, [left, right])
    if function in ("_||_", "_&&_"):
        chains.add(call)
    operands[-1] = call


def _qualified_name(node: Expr) -> str:
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return ""
    return ".".join([node.name, *reversed(parts)])


def _expecting(kinds: frozenset[str] | set[str]) -> str:
    shown = [f"'{kind}'" if kind.islower() or len(kind) == 1 else kind for kind in _ORDER if kind in kinds]
    return "{" + ", ".join(shown) + "}"
