"""Mutants of a module: small changes of its source that a test should notice."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# Log lines are for people; no test fixes their number.
_LOGGERS = ("_log", "_logger")


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: str
    # The name of the innermost class or function, with the names around it; empty for the module.
    scope: str
    before: str
    after: str
    # The number among the mutants of the scope with the same texts.
    number: int
    start: int
    end: int
    # The lines of the changed node, and of its statement.
    lines: range
    statement: range
    # False for code that the import of the module runs.
    in_function: bool

    @property
    def id(self) -> str:
        """A name that does not change if the lines move."""
        number = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path} {self.scope or '(module)'}: {self.before} => {self.after}{number}"

    def apply(self, source: bytes) -> bytes:
        """Returns the source with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Returns all mutants of a module, in the order of the source."""
    found, seen = [], Counter[tuple[str, str, str]]()
    for mutant in sorted(_Search(path, source).module(), key=lambda each: (each.start, each.end, each.after)):
        key = (mutant.scope, mutant.before, mutant.after)
        seen[key] += 1
        found.append(replace(mutant, number=seen[key]))
    return found


class _Search:
    """Walks the tree of a module. Annotations, docstrings and f-strings have no mutants."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path = path
        self._source = source
        self._offsets = [0]
        for line in source.splitlines(keepends=True):
            self._offsets.append(self._offsets[-1] + len(line))
        self._scope: list[str] = []
        self._statement = range(0)
        self._in_function = False

    def module(self) -> Iterator[Mutant]:
        for statement in ast.parse(self._source).body:
            yield from self._visit(statement)

    def _visit(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from self._definition(node)
            return
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)) or _is_log(node):
            return
        if isinstance(node, ast.stmt):
            self._statement = _lines(node)
        yield from self._changes(node)
        for name, value in ast.iter_fields(node):
            if name == "annotation":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._visit(child)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[Mutant]:
        self._statement = range(node.lineno, node.lineno + 1)
        outer, self._scope = self._scope, [*self._scope, node.name]
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield from self._visit(default)
        inside, self._in_function = self._in_function, self._in_function or not isinstance(node, ast.ClassDef)
        for statement in node.body:
            yield from self._visit(statement)
        self._scope, self._in_function = outer, inside

    def _changes(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(ops=[op], left=left, comparators=right) if type(op) in _COMPARISONS:
                yield self._mutant(node, ast.Compare(left, [_COMPARISONS[type(op)]()], right))
            case ast.BoolOp(op=op, values=values):
                yield self._mutant(node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._mutant(node, operand)
            case ast.Constant(value=bool() as value):
                yield self._mutant(node, ast.Constant(not value))
            case ast.Constant(value=int() as number):
                yield self._mutant(node, ast.Constant(number + 1))
            # A float at the top of a module is a duration or a factor, for which one more is no error.
            case ast.Constant(value=float() as number) if self._in_function:
                yield self._mutant(node, ast.Constant(number + 1))
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if not isinstance(test, (ast.Compare, ast.UnaryOp, ast.Constant)):
                    yield self._mutant(test, ast.UnaryOp(ast.Not(), test))
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._mutant(value, ast.Constant(None))
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
                yield self._mutant(node, ast.Pass())
            case ast.Continue() | ast.Break():
                yield self._mutant(node, ast.Pass())
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) if self._in_function:
                yield self._mutant(node, ast.Pass())

    def _mutant(self, node: ast.stmt | ast.expr, new: ast.AST) -> Mutant:
        start = self._offsets[node.lineno - 1] + node.col_offset
        end = self._offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = ast.unparse(ast.fix_missing_locations(new))
        after = text if isinstance(new, (ast.Constant, ast.stmt)) else f"({text})"
        before = " ".join(self._source[start:end].decode().split())
        lines = _lines(node)
        return Mutant(
            self._path, ".".join(self._scope), before, after, 1, start, end, lines, self._statement, self._in_function
        )


def _lines(node: ast.stmt | ast.expr) -> range:
    """Returns the lines of a node; of a statement with a body, those before the body."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        end = max(body[0].lineno - 1, node.lineno)
    return range(node.lineno, end + 1)


def _is_log(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in _LOGGERS
    return False
