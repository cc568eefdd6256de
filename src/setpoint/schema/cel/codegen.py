"""Generates Python source over plain JSON from an expression, for the common case without errors.

The code does not count costs and does not absorb errors: it returns the value of exact evaluation, or raises an
exception, and then exact evaluation decides. Expressions that cannot be translated so directly raise `_Unsupported`,
and have no generated code at all.

Data stays JSON: an object is a dict, a list a list, and only formats and numbers are converted to values when read.
`_Value.shape` is the declaration of the JSON of a container; None for a list of converted values.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.schema.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, Select
from setpoint.schema.cel.codegen_runtime import HELPERS
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.functions import Functions
from setpoint.schema.cel.libraries import operators
from setpoint.schema.cel.types import Type, is_optional, list_of
from setpoint.schema.regex import matcher

Fast = Callable[[Any, Any], Any]

_EXACT_KINDS = frozenset(("string", "int", "bool", "double", "bytes", "uint"))
_ORDER = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_ARITHMETIC = {
    "add_int64": "_fit({0} + {1})",
    "subtract_int64": "_fit({0} - {1})",
    "multiply_int64": "_fit({0} * {1})",
    "divide_int64": "_divide({0}, {1})",
    "modulo_int64": "_modulo({0}, {1})",
    "negate_int64": "_fit(-{0})",
    "add_double": "({0} + {1})",
    "subtract_double": "({0} - {1})",
    "multiply_double": "({0} * {1})",
    "negate_double": "(-{0})",
    "add_string": "({0} + {1})",
    "contains_string": "({1} in {0})",
    "starts_with_string": "{0}.startswith({1})",
    "ends_with_string": "{0}.endswith({1})",
}
_SIZES = frozenset(
    f"{a}_{b}" for kind in ("string", "list", "map", "bytes") for a, b in ((kind, "size"), ("size", kind))
)
_GUARDS = {"string": "_text", "int": "_int", "bool": "_bool", "dyn": "_nn"}
_MAX_SOURCE = 20_000


class _Unsupported(Exception):  # noqa: N818 - not an error: exact evaluation takes over
    """The expression has no generated code."""


class _Value(NamedTuple):
    """Python source for a value, and the declaration of its JSON if the value is a container of JSON."""

    source: str
    shape: Declaration | None = None
    # The guard function for a value read directly from the data, where a wrong type would go unnoticed.
    guard: str = ""

    @property
    def guarded(self) -> str:
        return f"{self.guard}({self.source})" if self.guard else self.source


def generate(tree: Expr, functions: Functions, root: Declaration) -> Fast | None:
    """Returns a function of `self` and `oldSelf` as JSON (None for an empty optional); None if unsupported."""
    generator = _Generator(functions, root)
    try:
        source = generator.guarded(tree)
    except (_Unsupported, RecursionError):
        return None
    if len(source) > _MAX_SOURCE:
        return None
    try:
        found: Fast = eval(compile(f"lambda s, o: {source}", "<cel>", "eval"), generator.namespace)
    except (SyntaxError, MemoryError, RecursionError):
        # Nested deeper than Python can parse.
        return None
    return found


class _Generator:
    def __init__(self, functions: Functions, root: Declaration) -> None:
        self.functions = functions
        self.root = root
        self.namespace: dict[str, Any] = dict(HELPERS)
        self.locals: dict[str, tuple[str, Declaration | None]] = {}
        self.names = 0

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def bind(self, value: Any) -> str:
        """Binds a constant to a name for the generated code."""
        name = f"c{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def guarded(self, node: Expr) -> str:
        """Returns the source of a value with its guard, where a null or a wrong type would go unnoticed."""
        return self.value(node).guarded

    def finished(self, node: Expr) -> str:
        """Returns the source of a converted value, for code without knowledge of declarations."""
        value = self.value(node)
        if value.shape is not None and not _is_finished(value.shape):
            raise _Unsupported
        return value.guarded

    def value(self, node: Expr) -> _Value:
        if isinstance(node, Literal):
            return _Value(self.constant(node.value))
        if isinstance(node, Ident):
            return self.ident(node)
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, ListExpr):
            return self.list_literal(node)
        if isinstance(node, Comprehension):
            return self.comprehension(node)
        raise _Unsupported

    def constant(self, value: Any) -> str:
        if type(value) in (str, bool, bytes) or (type(value) is int and abs(value) < 2**63):
            return f"({value!r})" if type(value) is int and value < 0 else repr(value)
        return self.bind(value)

    def ident(self, node: Ident) -> _Value:
        if node.denotes is not None:
            return _Value(self.bind(node.denotes))
        if node.name in self.locals:
            name, shape = self.locals[node.name]
            return _Value(name) if shape is None else self.load(name, shape)
        if node.name not in ("self", "oldSelf") or is_optional(node.type):
            raise _Unsupported
        return self.load("s" if node.name == "self" else "o", self.root)

    def load(self, source: str, declaration: Declaration) -> _Value:
        """Converts a piece of JSON to its value. A null that is not allowed raises an exception, possibly later."""
        kind = declaration.type.kind
        if kind in ("string", "int", "bool", "dyn"):
            return _Value(source, None, _GUARDS[kind])
        if kind == "double":
            # Unlike float(), multiplication rejects text.
            return _Value(f"({source} * 1.0)")
        if kind in ("list", "map", "struct"):
            return _Value(source, declaration, "_nn")
        if declaration.nullable:
            raise _Unsupported
        return _Value(f"_view({source}, {self.bind(declaration)})")

    def select(self, node: Select) -> _Value:
        if not node.field or is_optional(node.operand.type):
            raise _Unsupported
        operand = self.value(node.operand)
        field, name = self.field(operand.shape, node.field)
        if node.test_only:
            assert operand.shape is not None
            if operand.shape.elements is not None:
                return _Value(f"({name!r} in {operand.source})")
            return _Value(f"({operand.source}.get({name!r}) is not None)")
        return self.load(f"{operand.source}[{name!r}]", field)

    def field(self, shape: Declaration | None, field: str) -> tuple[Declaration, str]:
        if shape is None:
            raise _Unsupported
        if shape.type.kind == "map" and shape.elements is not None:
            return _never_null(shape.elements), field
        if field not in shape.fields:
            raise _Unsupported
        return shape.fields[field], shape.names[field]

    def optional(self, node: Expr) -> _Value:
        """Returns an optional, as its JSON or None."""
        if isinstance(node, Ident) and node.name == "oldSelf" and "oldSelf" not in self.locals:
            return _Value("o", self.root)
        if not isinstance(node, Call) or node.function != "_?._":
            raise _Unsupported
        operand, name = node.args
        inner = self.optional(operand) if is_optional(operand.type) else self.value(operand)
        assert isinstance(name, Literal)
        field, key = self.field(inner.shape, str(name.value))
        return _Value(f"_get({inner.source}, {key!r})", field)

    def optional_method(self, node: Call) -> _Value:
        assert node.target is not None
        if isinstance(node.target, Call) and len(node.target.overloads) == 1 and node.target.function != "_?._":
            if node.function != "hasValue":
                raise _Unsupported
            return _Value(f"{self.apply(node.target, node.target.overloads[0]).source}.present")
        inner = self.optional(node.target)
        assert inner.shape is not None
        if node.function == "hasValue":
            return _Value(f"({inner.source} is not None)")
        if inner.shape.type.kind not in ("string", "int", "bool", "dyn", "list", "map", "struct"):
            raise _Unsupported
        if node.function == "value":
            return self.load(f"_nn({inner.source})", inner.shape)
        default = self.value(node.args[0])
        if isinstance(node.args[0], ListExpr) and not node.args[0].elements:
            # An empty list is valid for any element type.
            return _Value(f"_or({inner.source}, [])", inner.shape, "_nn")
        if default.shape is not inner.shape and inner.shape.type.kind in ("list", "map", "struct"):
            raise _Unsupported
        return _Value(f"_or({inner.source}, {default.source})", inner.shape if default.shape else None)

    def call(self, node: Call) -> _Value:
        function = node.function
        if node.target is not None and is_optional(node.target.type) and function in ("hasValue", "value", "orValue"):
            return self.optional_method(node)
        if any(is_optional(operand.type) for operand in node.operands) or is_optional(node.type):
            raise _Unsupported
        if function in ("_&&_", "_||_", "!_", "_?_:_"):
            return self.control(node)
        if function in ("_==_", "_!=_"):
            return self.equality(node)
        if function in _ORDER:
            return self.order(node)
        if function == "@in":
            return self.membership(node)
        if function == "_[_]":
            return self.index(node)
        if function == "type":
            return _Value(f"_type({self.finished(node.args[0])})")
        if len(node.overloads) != 1:
            raise _Unsupported
        return self.apply(node, node.overloads[0])

    def control(self, node: Call) -> _Value:
        if any(term.type.kind != "bool" for term in (node.args[:1] if node.function == "_?_:_" else node.args)):
            raise _Unsupported
        if node.function == "!_":
            return _Value(f"(not {self.guarded(node.args[0])})")
        if node.function == "_?_:_":
            condition = self.guarded(node.args[0])
            positive, negative = self.value(node.args[1]), self.value(node.args[2])
            if positive.shape is not negative.shape:
                raise _Unsupported
            source = f"({positive.source} if {condition} else {negative.source})"
            return _Value(source, positive.shape, positive.guard or negative.guard)
        word = " and " if node.function == "_&&_" else " or "
        return _Value(f"({word.join(self.guarded(term) for term in node.args)})")

    def equality(self, node: Call) -> _Value:
        left, right = node.args
        operator = "==" if node.function == "_==_" else "!="
        if left.type == right.type and left.type.kind in (*_EXACT_KINDS, "duration", "timestamp", "type"):
            return _Value(f"({self.guarded(left)} {operator} {self.guarded(right)})")
        if "dyn" in (left.type.kind, right.type.kind):
            negation = "" if operator == "==" else "not "
            return _Value(f"({negation}_equal({self.finished(left)}, {self.finished(right)}))")
        a, b = self.value(left), self.value(right)
        if left.type != right.type or not (_is_plain(a, left.type) and _is_plain(b, right.type)):
            raise _Unsupported
        return _Value(f"(_nn({a.source}) {operator} _nn({b.source}))")

    def order(self, node: Call) -> _Value:
        left, right = node.args
        operator = _ORDER[node.function]
        kinds = {left.type.kind, right.type.kind}
        a, b = self.value(left).source, self.value(right).source
        if kinds <= {"int", "uint"} or kinds in ({"string"}, {"bytes"}):
            return _Value(f"({a} {operator} {b})")
        if kinds <= {"int", "uint", "double"} and all(_is_never_nan(side) for side in (left, right)):
            return _Value(f"({a} {operator} {b})")
        return _Value(f"(_compare({self.finished(left)}, {self.finished(right)}) {operator} 0)")

    def membership(self, node: Call) -> _Value:
        item, container = node.args
        if container.type.kind == "map":
            shape = self.value(container)
            if shape.shape is None or item.type.kind != "string":
                raise _Unsupported
            return _Value(f"({self.guarded(item)} in {shape.source})")
        if container.type.kind != "list":
            raise _Unsupported
        element = container.type.params[0]
        if item.type == element and element.kind in ("string", "int", "bool"):
            if isinstance(container, ListExpr) and all(isinstance(part, Literal) for part in container.elements):
                values = tuple(part.value for part in container.elements if isinstance(part, Literal))
                return _Value(f"({self.guarded(item)} in {self.bind(frozenset(values))})")
            return _Value(f"({self.guarded(item)} in {self.value(container).source})")
        return _Value(f"_contains({self.finished(item)}, {self.finished(container)})")

    def index(self, node: Call) -> _Value:
        container = self.value(node.args[0])
        position = node.args[1]
        if container.shape is None or container.shape.elements is None:
            raise _Unsupported
        elements = _never_null(container.shape.elements)
        if container.shape.type.kind == "map":
            return self.load(f"{container.source}[{self.guarded(position)}]", elements)
        if isinstance(position, Literal) and isinstance(position.value, int) and position.value >= 0:
            return self.load(f"{container.source}[{position.value}]", elements)
        return self.load(f"_at({container.source}, {self.guarded(position)})", elements)

    def apply(self, node: Call, overload: str) -> _Value:
        operands = node.operands
        if overload in _SIZES:
            return _Value(f"len({self.value(operands[0]).source})")
        template = _ARITHMETIC.get(overload)
        if template is not None:
            return _Value(template.format(*(self.value(operand).source for operand in operands)))
        if node.function == "matches":
            pattern = operands[1]
            if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
                raise _Unsupported
            return _Value(f"bool({self.bind(matcher(pattern.value))}({self.value(operands[0]).source}))")
        if any(operand.type.kind == "dyn" for operand in operands) and node.function not in ("int", "string", "double"):
            raise _Unsupported
        if any(not _is_known(operand.type) or is_optional(operand.type) for operand in operands):
            raise _Unsupported
        implementation = self.functions.by_id[overload].implementation
        if implementation is operators._control_flow:
            raise _Unsupported
        arguments = ", ".join(self.finished(operand) for operand in operands)
        return _Value(f"{self.bind(implementation)}({arguments})")

    def list_literal(self, node: ListExpr) -> _Value:
        if not node.elements:
            return _Value("[]")
        if node.optional or node.type.params[0].kind not in _EXACT_KINDS:
            raise _Unsupported
        return _Value("[" + ", ".join(self.finished(element) for element in node.elements) + "]")

    def comprehension(self, node: Comprehension) -> _Value:
        if node.macro is None or node.is_binding:
            raise _Unsupported
        macro = node.macro
        ranged = self.value(node.range)
        clause, scope, elements = self.iteration(node, ranged)
        saved = self.locals
        self.locals = {**saved, **scope}
        try:
            return self.macro(node, macro.function, macro.args, clause, elements)
        finally:
            self.locals = saved

    def iteration(
        self, node: Comprehension, ranged: _Value
    ) -> tuple[str, dict[str, tuple[str, Declaration | None]], Declaration | None]:
        """Returns the `for x in ...` clause with its variables; a null among the items is left to exact evaluation."""
        kind = node.range.type.kind
        shape = ranged.shape
        elements = shape.elements if shape is not None else None
        if kind not in ("list", "map") or (shape is None and kind == "map"):
            raise _Unsupported
        if shape is not None:
            if elements is None:
                raise _Unsupported
            _never_null(elements)
        first = self.fresh()
        if not node.variable2:
            scope = {node.variable: (first, elements if kind == "list" else None)}
            return f"for {first} in {ranged.source}", scope, elements
        second = self.fresh()
        scope = {node.variable: (first, None), node.variable2: (second, elements)}
        pairs = f"enumerate({ranged.source})" if kind == "list" else f"{ranged.source}.items()"
        return f"for {first}, {second} in {pairs}", scope, elements

    def macro(
        self, node: Comprehension, function: str, args: list[Expr], clause: str, elements: Declaration | None
    ) -> _Value:
        if function in ("all", "exists", "exists_one", "existsOne"):
            if args[-1].type.kind != "bool":
                raise _Unsupported
            predicate = self.guarded(args[-1])
            if function == "all":
                return _Value(f"all({predicate} {clause})")
            if function == "exists":
                return _Value(f"any({predicate} {clause})")
            return _Value(f"(sum(1 {clause} if {predicate}) == 1)")
        if function == "filter":
            if args[1].type.kind != "bool" or node.range.type.kind != "list":
                raise _Unsupported
            name = self.locals[node.variable][0]
            return _Value(f"[{name} {clause} if {self.guarded(args[1])}]", _as_list(elements))
        if function not in ("map", "transformList"):
            raise _Unsupported
        variables = 2 if node.variable2 else 1
        condition = ""
        if len(args) == variables + 2:
            if args[variables].type.kind != "bool":
                raise _Unsupported
            condition = f" if {self.guarded(args[variables])}"
        element = self.value(args[-1])
        return _Value(f"[{element.guarded} {clause}{condition}]", _as_list(element.shape))


def _never_null(elements: Declaration) -> Declaration:
    """Raises `_Unsupported` if the schema allows null items or values, which are left to exact evaluation."""
    if elements.nullable:
        raise _Unsupported
    return elements


def _as_list(elements: Declaration | None) -> Declaration | None:
    """Returns the shape of a plain list with items of a declaration."""
    if elements is None:
        return None
    shape = Declaration(list_of(elements.type), 2)
    shape.elements = elements
    shape.plain = elements.plain
    return shape


def _is_finished(shape: Declaration) -> bool:
    """Returns True if the JSON of a list is already the value: plain items, in a list with a significant order."""
    elements = shape.elements
    return (
        shape.type.kind == "list"
        and elements is not None
        and not elements.nullable
        and elements.type.kind in ("string", "int", "bool", "dyn")
        and shape.list_type in ("", "atomic")
    )


def _is_plain(value: _Value, found: Type) -> bool:
    """Returns True if Python's equality of the JSON equals CEL's equality of the value."""
    if value.shape is not None:
        return value.shape.plain
    return found.kind == "list" and found.params[0].kind in _EXACT_KINDS


def _is_known(found: Type) -> bool:
    """Returns True if the type of a value is known statically."""
    if found.kind == "list":
        return found.params[0].kind in ("string", "int", "bool", "double", "uint", "bytes", "duration", "timestamp")
    return found.kind not in ("map", "null", "param", "error")


def _is_never_nan(node: Expr) -> bool:
    return isinstance(node, Literal | Select | Ident) or (isinstance(node, Call) and node.function == "_[_]")
