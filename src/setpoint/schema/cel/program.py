"""A compiled expression: parsed, checked, cost-estimated, and ready for fast or exact evaluation."""

from typing import Any

from setpoint.objects.lazy import lazy
from setpoint.objects.tree import Json
from setpoint.schema.cel.ast import Expr, Ident
from setpoint.schema.cel.checker import check
from setpoint.schema.cel.codegen import Fast, generate
from setpoint.schema.cel.cost_static import estimate
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.evaluate import compile_exact
from setpoint.schema.cel.evaluation_state import Run, State
from setpoint.schema.cel.literal_checks import check_literals
from setpoint.schema.cel.parser import children, parse
from setpoint.schema.cel.sizes import LIMIT, UNBOUNDED, Largest
from setpoint.schema.cel.source_text import CompileError, Problem
from setpoint.schema.cel.types import Type
from setpoint.schema.cel.values import ABSENT, Optional
from setpoint.schema.cel.views import view

CALL_LIMIT = 1_000_000


class Program:
    """An expression over an environment. `root` is the declaration of `self`, whose sizes bound the cost."""

    def __init__(self, source: str, environment: Environment, root: Declaration | None = None) -> None:
        """Compiles the expression. Raises `CompileError`, or `ProgramError` if evaluation can never succeed."""
        try:
            self.tree = parse(source)
            check(source, self.tree, environment)
            check_literals(source, self.tree)
            self.exact: Run = compile_exact(self.tree, environment.functions)
        except RecursionError:
            raise CompileError(source, [Problem(-1, "expression recursion limit exceeded: 250")]) from None
        self.source = source
        self.environment = environment
        self.root = root
        self._bounds: dict[Largest, int] = {}

    @property
    def type(self) -> Type:
        return self.tree.type

    @lazy
    def max_cost(self) -> int:
        """The maximum cost by the sizes of the schema, which decides whether a CRD may have the expression."""
        return self._estimate(UNBOUNDED)

    def _estimate(self, largest: Largest) -> int:
        try:
            return estimate(self.tree, self.root, largest).max
        except RecursionError:
            # Too deep for an estimate: the expression must not be accepted.
            return LIMIT

    @lazy
    def _nodes(self) -> list[Expr]:
        found: list[Expr] = []
        pending = [self.tree]
        while pending:
            node = pending.pop()
            found.append(node)
            pending.extend(children(node))
        return found

    @lazy
    def names(self) -> frozenset[str]:
        """Every name in the expression: of variables, of types, and of the variables of macros."""
        return frozenset(node.name for node in self._nodes if isinstance(node, Ident))

    def refers_to(self, name: str) -> bool:
        return name in self.names

    @lazy
    def fast(self) -> Fast | None:
        return None if self.root is None else generate(self.tree, self.environment.functions, self.root)

    def bound(self, largest: Largest = UNBOUNDED) -> int:
        """Returns a cost that no run exceeds, over data with no value larger than `largest`.

        The estimate omits a few steps that a run counts (comparing two numbers, reading untyped data), but never more
        than there are steps, and each costs at most one.
        """
        found = self._bounds.get(largest)
        if found is None:
            most = self.max_cost if largest is UNBOUNDED else self._estimate(largest)
            found = self._bounds[largest] = min(2 * most + len(self._nodes), LIMIT)
        return found

    def exactly(self, declaration: Declaration, *, optional: bool) -> Fast:
        """Returns exact evaluation as a function of `self` and `oldSelf` as JSON, like generated code."""

        def run(tree: Json, old: Json) -> Any:
            return self.exact(self.start(rule_variables(declaration, tree, old, optional=optional)))

        return run

    def start(self, variables: dict[str, Any], limit: int = CALL_LIMIT) -> State:
        """Returns the state for `exact`, which contains the cost afterwards."""
        return State(variables, limit)


def rule_variables(declaration: Declaration, tree: Json, old: Json, *, optional: bool) -> dict[str, Any]:
    """Returns the variables of a rule; without an old value, `oldSelf` is omitted unless optional."""
    variables = {"self": view(tree, declaration)}
    before = ABSENT if old is None else view(old, declaration)
    if optional:
        variables["oldSelf"] = Optional(before)
    elif before is not ABSENT:
        variables["oldSelf"] = before
    return variables


def measure(*trees: Json) -> Largest:
    """Returns the largest sizes in the trees, rounded up; strings are measured in bytes."""
    text = items = total = 0
    pending = list(trees)
    while pending:
        tree = pending.pop()
        kind = type(tree)
        if kind is str:
            size = len(tree) if tree.isascii() else 4 * len(tree)
            if size > text:
                text = size
        elif kind is dict or kind is list:
            size = len(tree)
            total += size
            if size > items:
                items = size
            pending.extend(tree)
            if kind is dict:
                pending.extend(tree.values())
    return Largest(text, items, total).rounded()
