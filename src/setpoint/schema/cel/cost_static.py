"""The maximum cost of an expression, estimated from its types and the sizes that the schema allows.

The estimate decides which rules a CRD may have, so the numbers equal those of the real server, including its
peculiarities. With the sizes of a real object, the estimate also shows when counting at run time is unnecessary.
"""

from typing import NamedTuple

from setpoint.schema.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select
from setpoint.schema.cel.cost_calls import CallCost, Operand, call_cost
from setpoint.schema.cel.cost_runtime import LIST_COST, MAP_COST, STRING_FACTOR
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.sizes import LIMIT, ONE, UNBOUNDED, UNKNOWN, ZERO, Largest, Range, add, exactly, multiply
from setpoint.schema.cel.types import Type, is_optional

_SCALARS = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))
_COMPARED = frozenset(
    ["equals", "not_equals"]
    + [
        f"{word}_{kind}"
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    ]
)

Path = tuple[str, ...]


class _Entries(NamedTuple):
    """The sizes of the keys and values of a list or map that the expression itself creates."""

    kind: str
    key: Range
    value: Range

    def union(self, other: "_Entries | None") -> "_Entries | None":
        if other is None:
            return None
        return _Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    """A variable of a macro: the path of its values, and their size, if known."""

    path: Path
    size: Range | None
    entries: _Entries | None


class _Loop:
    """A loop during estimation. The cost of loops over parts of its items is known for all its rounds together."""

    __slots__ = ("count", "distinct", "together", "variable")

    def __init__(self, count: int, variable: _Local | None, distinct: bool) -> None:
        self.count = count
        # The variable that holds an item, and whether each round reads a different piece of the data.
        self.variable = variable
        self.distinct = distinct
        self.together = 0


def estimate(tree: Expr, root: Declaration | None, largest: Largest = UNBOUNDED) -> Range:
    """Returns the cost of evaluating an expression over `root`, with no value larger than `largest`."""
    return _Estimator(root, largest).cost(tree)


class _Estimator:
    def __init__(self, root: Declaration | None, largest: Largest) -> None:
        self.root = root
        self.largest = largest
        self.paths: dict[Expr, Path] = {}
        self.sizes: dict[Expr, Range] = {}
        self.entries: dict[Expr, _Entries] = {}
        self.locals: dict[str, list[_Local]] = {}
        self.loops: list[_Loop] = []

    def cost(self, node: Expr) -> Range:
        if isinstance(node, Literal):
            return ZERO
        if isinstance(node, Ident):
            local = self.local(node.name)
            self.paths[node] = (node.name,) if local is None else local.path
            return ONE
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Call):
            return self.call(node)
        if isinstance(node, ListExpr):
            return self.list_literal(node)
        if isinstance(node, MapExpr):
            return self.map_literal(node)
        assert isinstance(node, Comprehension)
        return self.binding(node) if node.is_binding else self.comprehension(node)

    def select(self, node: Select) -> Range:
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if not node.field:
            self.paths[node] = self.path(node.operand)
            return total
        self.paths[node] = (*self.path(node.operand), node.field)
        if node.operand.type.kind in ("map", "struct", "param"):
            total = total.plus(ONE)
        return total

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            total = self.cost(node.args[0]).plus(ONE)
            self.copy_sizes(node, node.args[0])
            return total
        costs: list[Range] = []
        for argument in node.args:
            costs.append(self.cost(argument))  # noqa: PERF401 - a comprehension would take another frame a level
        total = ZERO if node.target is None else self.cost(node.target)
        args = [self.node(argument) for argument in node.args]
        target = None if node.target is None else self.node(node.target)
        spread = Range(LIMIT, 0)
        size: Range | None = None
        for overload in node.overloads:
            found = self.overload_cost(node, overload, target, args, costs)
            spread = spread.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            if overload in ("index_list", "index_map"):
                entries = self.entries_of(node.args[0])
                size = None if entries is None else entries.value
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node] = (*self.path(node.args[0]), step)
            if size is None:
                size = self.size(node)
        if size is not None:
            self.sizes[node] = size
        return total.plus(spread)

    def overload_cost(
        self, node: Call, overload: str, target: Operand | None, args: list[Operand], costs: list[Range]
    ) -> CallCost:
        before = ZERO
        for cost in costs:
            before = before.plus(cost)
        known = call_cost(node.function, overload, target, args, self)
        if known is not None:
            return CallCost(known.cost.plus(before), known.size)
        if overload in ("logical_and", "logical_or"):
            return CallCost(Range(costs[0].min, before.max))
        if overload == "conditional":
            return self.conditional_cost(node, args, costs)
        if overload in ("add_string", "add_bytes", "add_list"):
            return self.addition_cost(node, overload, args, before)
        if overload in _COMPARED:
            most = min(self.size_of(args[0]).max, self.size_of(args[1]).max)
            return CallCost(Range(min(most, 1), most).scaled(STRING_FACTOR).plus(before))
        return CallCost(ONE.plus(before))

    def conditional_cost(self, node: Call, args: list[Operand], costs: list[Range]) -> CallCost:
        size = self.size_of(args[1]).union(self.size_of(args[2]))
        entries = self.entries_of(node.args[1])
        self.set_entries(node, None if entries is None else entries.union(self.entries_of(node.args[2])))
        return CallCost(costs[0].plus(costs[1].union(costs[2])), size)

    def addition_cost(self, node: Call, overload: str, args: list[Operand], before: Range) -> CallCost:
        size = self.size_of(args[0]).plus(self.size_of(args[1]))
        entries = self.entries_of(node.args[0])
        self.set_entries(node, None if entries is None else entries.union(self.entries_of(node.args[1])))
        work = ONE if overload == "add_list" else size.scaled(STRING_FACTOR)
        return CallCost(work.plus(before), size)

    def list_literal(self, node: ListExpr) -> Range:
        total = exactly(LIST_COST)
        items = Range(LIMIT, 0) if node.elements else ZERO
        for element in node.elements:
            total = total.plus(self.cost(element))
            items = items.union(self.size_or_unknown(element))
        self.entries[node] = _Entries("list", ONE, items)
        return total

    def map_literal(self, node: MapExpr) -> Range:
        total = exactly(MAP_COST)
        keys = values = Range(LIMIT, 0) if node.entries else ZERO
        for entry in node.entries:
            assert entry.key is not None
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self.size_or_unknown(entry.key))
            values = values.union(self.size_or_unknown(entry.value))
        self.entries[node] = _Entries("map", keys, values)
        return total

    def comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.initial))
        self.push(node.accumulator, self.path(node.initial), self.size(node.initial), self.entries_of(node.initial))
        count = self.size_or_unknown(node.range)
        outer, distinct = self.source_of(node.range)
        names = self.push_iteration(node)
        has_item = bool(node.variable2) or node.range.type.kind == "list"
        self.loops.append(_Loop(count.max, self.local(names[-1]) if has_item else None, distinct))
        each = self.cost(node.condition).plus(self.cost(node.step))
        loop = self.loops.pop()
        for name in names:
            self.locals[name].pop()
        total = total.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        total = total.plus(self.rounds(count, each, loop, outer))
        if isinstance(node.initial, Literal):
            size = self.size(node.initial)
            if size is not None:
                self.sizes[node] = size
        elif isinstance(node.initial, ListExpr | MapExpr):
            self.sizes[node] = count
            self.set_entries(node, self.entries_of(node.step))
        return total

    def source_of(self, node: Expr) -> tuple[int | None, bool]:
        """Returns the loop that provides the items of a range, and True if no other round visits its data."""
        while isinstance(node, Select) or (isinstance(node, Call) and node.function == "_[_]"):
            node = node.operand if isinstance(node, Select) else node.args[0]
        if not isinstance(node, Ident):
            return None, False
        local = self.local(node.name)
        if local is None:
            return None, True
        for position in range(len(self.loops) - 1, -1, -1):
            loop = self.loops[position]
            if loop.variable is local:
                return (position, True) if loop.distinct else (None, False)
        return None, False

    def rounds(self, count: Range, each: Range, loop: _Loop, outer: int | None) -> Range:
        """Returns the cost of all rounds of a loop.

        A loop over parts of the items of another one has, over all rounds of that one, no more rounds than there are
        items in all the data. With real sizes that is far less than the product of the two, so the cost is summed
        there.
        """
        if outer is None or self.largest.total >= LIMIT:
            return Range(multiply(count.min, each.min), add(multiply(count.max, each.max), loop.together))
        cost = add(multiply(self.largest.total, each.max), loop.together)
        for between in self.loops[outer + 1 :]:
            cost = multiply(cost, between.count)
        self.loops[outer].together = add(self.loops[outer].together, cost)
        return Range(multiply(count.min, each.min), 0)

    def push_iteration(self, node: Comprehension) -> list[str]:
        """Declares the variables of a macro: the items of a list, the keys of a map, or both index and value."""
        entries = self.entries_of(node.range)
        kind = node.range.type.kind if entries is None else entries.kind
        path = self.path(node.range)
        items = "@items" if kind == "list" else "@values"
        value = None if entries is None else entries.value
        key = None if entries is None else entries.key
        if node.variable2:
            self.push(node.variable, (*path, "@indices" if kind == "list" else "@keys"), key, None)
            self.push(node.variable2, (*path, items), value, None)
            return [node.variable, node.variable2]
        if kind == "list":
            self.push(node.variable, (*path, "@items"), value, None)
        else:
            self.push(node.variable, (*path, "@keys"), key, None)
        return [node.variable]

    def binding(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.initial))
        self.push(node.accumulator, self.path(node.initial), self.size(node.initial), self.entries_of(node.initial))
        total = total.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        self.copy_sizes(node, node.result)
        return total

    def push(self, name: str, path: Path, size: Range | None, entries: _Entries | None) -> None:
        self.locals.setdefault(name, []).append(_Local(path, size, entries))

    def local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def path(self, node: Expr) -> Path:
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node, ())

    def node(self, node: Expr) -> Operand:
        return Operand(self.path(node), node.type, node, self.size(node))

    def size_of(self, node: Operand) -> Range:
        return UNKNOWN if node.size is None else node.size

    def declared_size(self, path: Path) -> Range | None:
        """Returns the largest size that the schema allows at a path; its first part, a variable, counts as the root."""
        if not path or self.root is None:
            return None
        found: Declaration | None = self.root
        for step in path[1:]:
            if found is None:
                return None
            if step in ("@items", "@values"):
                found = found.elements
            elif step == "@keys":
                return ZERO if found.type.kind == "map" else None
            else:
                found = found.fields.get(step)
        if found is None:
            return None
        most = self.largest.items if found.elements is not None else self.largest.text
        return Range(0, min(found.max_elements, most))

    def size(self, node: Expr) -> Range | None:
        if node in self.sizes:
            return self.sizes[node]
        found = _literal_size(node)
        if found is not None:
            return found
        found = self.declared_size(self.path(node))
        if found is not None:
            self.sizes[node] = found
            return found
        if _is_scalar(node.type):
            return ONE
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local is not None:
                return local.size
        return None

    def size_or_unknown(self, node: Expr) -> Range:
        found = self.size(node)
        return UNKNOWN if found is None else found

    def entries_of(self, node: Expr) -> _Entries | None:
        if node in self.entries:
            return self.entries[node]
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local is not None:
                return local.entries
        return None

    def set_entries(self, node: Expr, entries: _Entries | None) -> None:
        if entries is not None:
            self.entries[node] = entries

    def copy_sizes(self, node: Expr, source: Expr) -> None:
        size = self.size(source)
        if size is not None:
            self.sizes[node] = size
        self.set_entries(node, self.entries_of(source))


def _literal_size(node: Expr) -> Range | None:
    if isinstance(node, Literal):
        return exactly(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if isinstance(node, ListExpr):
        return exactly(len(node.elements))
    if isinstance(node, MapExpr):
        return exactly(len(node.entries))
    return None


def _is_scalar(found: Type) -> bool:
    return _is_scalar(found.params[0]) if is_optional(found) else found.kind in _SCALARS
