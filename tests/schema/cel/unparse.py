"""A tree back as text, with every operator in parentheses and every macro as it was written."""

from typing import Any

from setpoint.schema.cel.ast import (
    Call,
    Comprehension,
    EntryExpr,
    Expr,
    Ident,
    ListExpr,
    Literal,
    Macro,
    MapExpr,
    Select,
    Struct,
)
from setpoint.schema.cel.values import Uint

_UNARY = {"!_": "!", "-_": "-"}


def unparse(node: Expr) -> str:
    if isinstance(node, Literal):
        return _literal(node.value)
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        text = f"{unparse(node.operand)}.{node.field}"
        return f"has({text})" if node.test_only else text
    if isinstance(node, ListExpr):
        parts = [("?" if at in node.optional else "") + unparse(item) for at, item in enumerate(node.elements)]
        return f"[{', '.join(parts)}]"
    if isinstance(node, MapExpr | Struct):
        entries = ", ".join(_entry(entry) for entry in node.entries)
        return f"{node.name if isinstance(node, Struct) else ''}{{{entries}}}"
    if isinstance(node, Comprehension):
        assert node.macro is not None
        return _macro(node.macro)
    assert isinstance(node, Call)
    return _macro(node.macro) if node.macro is not None else _call(node)


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Uint):
        return f"{int(value)}u"
    if isinstance(value, bytes):
        return "b'" + "".join(f"\\x{byte:02x}" for byte in value) + "'"
    if isinstance(value, str):
        return "'" + "".join(f"\\U{ord(char):08x}" for char in value) + "'"
    return f"({value})" if value < 0 else repr(value)


def _entry(entry: EntryExpr) -> str:
    key = entry.field if entry.key is None else unparse(entry.key)
    return f"{'?' if entry.optional else ''}{key}: {unparse(entry.value)}"


def _macro(macro: Macro) -> str:
    assert macro.target is not None
    return f"{unparse(macro.target)}.{macro.function}({', '.join(map(unparse, macro.args))})"


def _call(node: Call) -> str:
    args = [unparse(argument) for argument in node.args]
    if node.target is not None:
        return f"{unparse(node.target)}.{node.function}({', '.join(args)})"
    if node.function in _UNARY:
        return f"{_UNARY[node.function]}({args[0]})"
    if node.function == "_?_:_":
        return f"(({args[0]}) ? ({args[1]}) : ({args[2]}))"
    if node.function in ("_[_]", "_[?_]"):
        return f"{args[0]}[{'?' if '?' in node.function else ''}{args[1]}]"
    if node.function == "_?._":
        field = node.args[1]
        assert isinstance(field, Literal)
        return f"{args[0]}.?{field.value!s}"
    if node.function == "@in" or node.function.startswith("_"):
        operator = " in " if node.function == "@in" else f" {node.function.strip('_')} "
        return f"({operator.join(args)})"
    return f"{node.function}({', '.join(args)})"


def structure(node: Any) -> Any:
    """A tree without its places in the text, to compare."""
    if isinstance(node, list):
        return [structure(item) for item in node]
    if not isinstance(node, Expr | EntryExpr):
        return (type(node).__name__, node)
    names = [name for kind in type(node).__mro__ for name in getattr(kind, "__slots__", ())]
    kept = [name for name in names if name not in ("offset", "type", "overloads", "macro", "denotes")]
    return (type(node).__name__, *(structure(getattr(node, name)) for name in sorted(kept)))
