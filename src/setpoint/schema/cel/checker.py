"""Types for every node of a tree: resolves names, chooses overloads, and reports type errors as problems.

The rules and the messages are those of the real server's checker, so that a rule gives the same result on both.
"""

from setpoint.schema.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    Struct,
)
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.functions import Overload
from setpoint.schema.cel.source_text import CompileError, Problem
from setpoint.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Bindings,
    Type,
    assign,
    list_of,
    map_of,
    most_general,
    optional_of,
    substitute,
    type_of,
    unwrap_optional,
)
from setpoint.schema.cel.values import Uint


def check(source: str, tree: Expr, environment: Environment) -> None:
    """Sets the types and overloads of a tree. Raises `CompileError`."""
    checker = _Checker(environment)
    checker.check(tree)
    if checker.problems:
        raise CompileError(source, checker.problems)
    for node in checker.seen:
        node.type = substitute(checker.bindings, node.type, free_to_dyn=True)


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.problems: list[Problem] = []
        self.bindings: Bindings = {}
        self.scopes: list[dict[str, Type]] = []
        self.seen: list[Expr] = []
        self.fresh = 0

    def check(self, node: Expr) -> Type:
        if isinstance(node, Literal):
            found = _literal_type(node.value)
        elif isinstance(node, Ident):
            found = self.ident(node)
        elif isinstance(node, Select):
            found = self.select(node)
        elif isinstance(node, Call):
            found = self.call(node)
        elif isinstance(node, ListExpr):
            found = self.list_literal(node)
        elif isinstance(node, MapExpr):
            found = self.map_literal(node)
        elif isinstance(node, Comprehension):
            found = self.comprehension(node)
        else:
            assert isinstance(node, Struct)
            found = self.message(node)
        node.type = found
        self.seen.append(node)
        return found

    def report(self, offset: int, message: str) -> None:
        self.problems.append(Problem(offset, message))

    def resolved(self, found: Type) -> Type:
        return substitute(self.bindings, found, free_to_dyn=False)

    def shown(self, found: Type) -> Type:
        return substitute(self.bindings, found, free_to_dyn=True)

    def assignable(self, left: list[Type], right: list[Type]) -> bool:
        bound = assign(self.bindings, left, right)
        if bound is None:
            return False
        self.bindings = bound
        return True

    def new_variable(self) -> Type:
        self.fresh += 1
        return Type("param", f"_var{self.fresh}")

    def lookup(self, name: str) -> Type | None:
        """Returns the type of a variable; a name with a leading dot never refers to a variable of a macro."""
        if not name.startswith("."):
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
        variable = self.environment.variables.get(name.removeprefix("."))
        return variable.type if variable else None

    def ident(self, node: Ident) -> Type:
        found = self.lookup(node.name)
        if found is not None:
            node.name = node.name.removeprefix(".")
            return found
        denoted = self.environment.denoted(node.name.removeprefix("."))
        if denoted is not None:
            node.denotes = denoted
            return type_of(denoted)
        # The dot is part of the name here, and the position is that of the name after the dot.
        self.report(node.offset + node.name.startswith("."), _undeclared(node.name))
        return ERROR

    def select(self, node: Select) -> Type:
        qualified = _qualified_name(node)
        if qualified and not node.test_only:
            variable = self.environment.variables.get(qualified)
            denoted = self.environment.denoted(qualified)
            if variable is not None or denoted is not None:
                # A name with dots: the select becomes a reference to that name.
                node.operand = Ident(node.offset, qualified)
                node.operand.denotes = denoted
                node.field = ""
                return variable.type if variable is not None else type_of(denoted or DYN)
        found = self.field(node, node.operand, node.field, optional=False)
        return BOOL if node.test_only else found

    def field(self, node: Expr, operand: Expr, field: str, *, optional: bool) -> Type:
        target, was_optional = unwrap_optional(self.resolved(self.check(operand)))
        result = ERROR
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            result = self.declared_field(node.offset, target.name, field)
        elif target.kind == "param":
            self.assignable([DYN], [target])
            result = DYN
        else:
            if target.kind not in ("dyn", "error"):
                self.report(node.offset, f"type '{self.shown(target)}' does not support field selection")
            result = DYN
        return optional_of(result) if was_optional or optional else result

    def declared_field(self, offset: int, name: str, field: str) -> Type:
        """Returns the type of a field of an object type."""
        try:
            found = self.environment.field_type(name, field)
        except LookupError:
            self.report(offset, f"unexpected failed resolution of '{name}'")
            return ERROR
        if found is None:
            self.report(offset, f"undefined field '{field}'")
            return ERROR
        return found

    def message(self, node: Struct) -> Type:
        """Checks `Name{field: value}`. The name may be that of any type, but only messages can be constructed."""
        name = node.name.removeprefix(".")
        found = self.environment.denoted(name)
        if found is None:
            self.report(node.offset, _undeclared(node.name))
            return ERROR
        if found.kind != "struct":
            self.report(node.offset, f"'{found.name}' is not a message type")
            found = ERROR
        node.name = name
        for entry in node.entries:
            given = self.element(entry.value, optional=entry.optional)
            wanted = ERROR if found is ERROR else self.declared_field(entry.offset, name, entry.field)
            if not self.assignable([wanted], [given]):
                text = f"expected type of field '{entry.field}' is '{self.shown(wanted)}'"
                self.report(entry.offset, f"{text} but provided type is '{self.shown(given)}'")
        return found

    def call(self, node: Call) -> Type:
        if node.function == "_?._":
            field = node.args[1]
            assert isinstance(field, Literal)
            self.check(field)
            node.overloads = ("select_optional_field",)
            return self.field(node, node.args[0], str(field.value), optional=True)
        arguments: list[Type] = []
        for argument in node.args:
            arguments.append(self.check(argument))  # noqa: PERF401 - a comprehension would take another frame a level
        functions = self.environment.functions.by_name
        if node.target is None:
            overloads = functions.get(node.function.removeprefix("."))
            if overloads is None:
                self.report(node.offset, _undeclared(node.function))
                return ERROR
            node.function = node.function.removeprefix(".")
            return self.resolve(node, overloads, arguments)
        prefix = _qualified_name(node.target)
        overloads = functions.get(f"{prefix}.{node.function}".removeprefix(".")) if prefix else None
        if overloads is not None and not self.shadowed(prefix):
            node.function = f"{prefix}.{node.function}".removeprefix(".")
            node.target = None
            return self.resolve(node, overloads, arguments)
        target = self.check(node.target)
        overloads = functions.get(node.function)
        if overloads is None:
            self.report(node.offset, _undeclared(node.function))
            return ERROR
        return self.resolve(node, overloads, [target, *arguments])

    def shadowed(self, prefix: str) -> bool:
        """Returns True if the first part of a qualified name is a variable of a macro here."""
        head = prefix.partition(".")[0]
        return any(head in scope for scope in self.scopes)

    def resolve(self, node: Call, overloads: list[Overload], arguments: list[Type]) -> Type:
        if node.function in ("_&&_", "_||_"):
            return self.logic(node, arguments)
        member = node.target is not None
        result: Type | None = None
        chosen: list[str] = []
        for overload in overloads:
            if overload.member is not member:
                continue
            wanted = list(overload.args)
            returned = overload.result
            if overload.params:
                instance: Bindings = {param: self.new_variable() for param in overload.params}
                wanted = [substitute(instance, found, free_to_dyn=False) for found in wanted]
                returned = substitute(instance, returned, free_to_dyn=False)
            if not self.assignable(arguments, wanted):
                continue
            chosen.append(overload.id)
            returned = self.resolved(returned)
            if result is None:
                result = returned
            elif result.kind != "dyn" and result != returned:
                result = DYN
        if result is None:
            shown = [str(self.shown(found)) for found in arguments]
            signature = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
            text = f"found no matching overload for '{node.function}' applied to '{signature}'"
            self.report(node.offset, text)
            return ERROR
        node.overloads = tuple(chosen)
        return result

    def logic(self, node: Call, arguments: list[Type]) -> Type:
        node.overloads = ("logical_and" if node.function == "_&&_" else "logical_or",)
        failed = False
        for argument, found in zip(node.args, arguments, strict=True):
            if not self.assignable([found], [BOOL]):
                self.mismatch(argument, BOOL, found)
                failed = True
        return ERROR if failed else BOOL

    def mismatch(self, node: Expr, expected: Type, found: Type) -> None:
        text = f"expected type '{self.shown(expected)}' but found '{self.shown(found)}'"
        self.report(node.offset, text)

    def element(self, node: Expr, *, optional: bool) -> Type:
        """Returns the type of an element of a literal; with a question mark, the type inside the optional."""
        found = self.check(node)
        if not optional:
            return found
        inner, was_optional = unwrap_optional(found)
        if not was_optional and inner.kind != "dyn":
            self.mismatch(node, optional_of(inner), inner)
        return inner

    def join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self.assignable([previous], [current]):
            return most_general(previous, current)
        return DYN

    def list_literal(self, node: ListExpr) -> Type:
        elements: Type | None = None
        for position, element in enumerate(node.elements):
            elements = self.join(elements, self.element(element, optional=position in node.optional))
        return list_of(elements or self.new_variable())

    def map_literal(self, node: MapExpr) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            assert entry.key is not None
            keys = self.join(keys, self.check(entry.key))
            values = self.join(values, self.element(entry.value, optional=entry.optional))
        return map_of(keys or self.new_variable(), values or self.new_variable())

    def comprehension(self, node: Comprehension) -> Type:
        self.check(node.range)
        accumulated = self.check(node.initial)
        ranged = self.resolved(node.range.type)
        first, second = self.iteration_types(node, ranged)
        self.scopes.append({node.accumulator: accumulated})
        variables = {node.variable: first}
        if node.variable2:
            variables[node.variable2] = second
        self.scopes.append(variables)
        condition = self.check(node.condition)
        if not self.assignable([BOOL], [condition]):
            self.mismatch(node.condition, BOOL, condition)
        step = self.check(node.step)
        if not self.assignable([accumulated], [step]):
            self.mismatch(node.step, accumulated, step)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return self.resolved(result)

    def iteration_types(self, node: Comprehension, ranged: Type) -> tuple[Type, Type]:
        if ranged.kind == "list":
            return (INT, ranged.params[0]) if node.variable2 else (ranged.params[0], ERROR)
        if ranged.kind == "map":
            return ranged.params[0], ranged.params[1]
        if ranged.kind in ("dyn", "error", "param"):
            self.assignable([DYN], [ranged])
            return DYN, DYN
        text = f"expression of type '{self.shown(ranged)}' cannot be range of a comprehension"
        self.report(node.range.offset, f"{text} (must be list, map, or dynamic)")
        return ERROR, ERROR


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


def _qualified_name(node: Expr) -> str:
    """Returns `a.b.c` as text; empty if the node has other parts than names and dots."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(parts)]) if isinstance(node, Ident) else ""


def _literal_type(value: object) -> Type:
    if value is None:
        return NULL
    kinds = {bool: BOOL, Uint: UINT, int: INT, float: DOUBLE, str: STRING, bytes: BYTES}
    return kinds[type(value)]
