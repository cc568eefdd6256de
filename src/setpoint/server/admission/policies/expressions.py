"""The expressions of a policy: compiled once, and evaluated within a cost budget.

A stored policy may fail to compile, for example if written for an older server. Each evaluation then fails, and the
failure policy decides. The variables of a policy are evaluated on first use, once for each `Evaluation`, and are
charged to the same budget.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from setpoint.schema.cel import values
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.program import CALL_LIMIT, Program
from setpoint.schema.cel.types import Type
from setpoint.schema.cel.values import ABSENT, CostExceeded, EvaluationError
from setpoint.schema.work_limits import Lengthy
from setpoint.server.registry.kinds.admissionregistration.expressions import compiled

if TYPE_CHECKING:
    from setpoint.server.request.context import Context

T = TypeVar("T")

# The cost budget of the validations, audit annotations, or one mutation of a policy, for one request.
BUDGET = 10_000_000
# The cost budget of match conditions.
CONDITIONS_BUDGET = 2_500_000
# The cost that may be spent on the event loop, about twenty milliseconds: an evaluation that counts its exact cost is
# slower than a compiled rule of a schema.
_QUICK_BUDGET = 8_000

_VARIABLES = "variables"
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


# True while evaluating in the event loop: a long evaluation then stops with Lengthy.
_quick: ContextVar[bool] = ContextVar("quick", default=False)


async def evaluated(context: "Context", work: Callable[[], T]) -> T:
    """Runs work that evaluates expressions and returns its result. The work starts in the event loop and is restarted
    in a worker if too long, so the work must have no side effects."""
    token = _quick.set(True)
    try:
        return work()
    except Lengthy:
        pass
    finally:
        _quick.reset(token)
    return await context.services.offload.run(context.user.name, work)


class ExpressionError(Exception):
    """The evaluation of an expression failed. The message names the expression and the cause."""


class OutOfBudget(ExpressionError):  # noqa: N818 - the end of a budget
    """The expressions exceeded their cost budget. The remaining expressions are not evaluated."""

    def __init__(self) -> None:
        super().__init__(_OUT_OF_BUDGET)


class Expression:
    """One expression of a policy."""

    __slots__ = ("names", "problem", "program", "source")

    def __init__(self, source: str, environment: Environment, wanted: Sequence[Type] = ()) -> None:
        self.source = source
        self.program: Program | None
        self.program, self.problem = compiled(source, environment, wanted)
        # The variables that the expression refers to.
        self.names: frozenset[str] = frozenset()
        if self.program is not None:
            self.names = self.program.names & environment.variables.keys()

    @property
    def type(self) -> Type | None:
        return None if self.program is None else self.program.type


class Evaluation:
    """Evaluates the expressions of one policy for one request.

    `value` returns the value of a variable; `composed` are the variables that the policy declares.
    """

    def __init__(self, value: Callable[[str], Any], composed: Mapping[str, Expression], budget: int) -> None:
        self.budget = budget
        # The remaining cost that may be spent in the event loop.
        self._left = _QUICK_BUDGET if _quick.get() else budget + CALL_LIMIT
        self._value = value
        self._composed = _Composed(composed, self)
        # The cost of the variables that the current expression was the first to use.
        self._spent = 0

    def evaluate(self, expression: Expression) -> Any:
        """Returns the value of an expression. Raises ExpressionError."""
        if expression.program is None:
            raise ExpressionError(f"compilation error: {expression.problem}")
        self._spent = 0
        state = expression.program.start(self._inputs(expression), min(CALL_LIMIT, self._left))
        problem: Exception | None = None
        value: Any = None
        try:
            value = expression.program.exact(state)
        except (EvaluationError, CostExceeded) as error:
            problem = error
        self._spend(state.cost)
        self.budget -= self._spent + state.cost
        if self.budget < 0:
            raise OutOfBudget
        if problem is not None:
            raise ExpressionError(f"expression '{expression.source}' resulted in error: {problem}")
        return value

    def all_true(self, conditions: Iterable[Expression]) -> bool:
        """Returns True if all conditions are true, and False if any condition is false, even if others fail. Raises
        ExpressionError with all errors if there are errors and no condition is false."""
        problems: dict[str, None] = {}
        for condition in conditions:
            try:
                if self.evaluate(condition) is not True:
                    return False
            except ExpressionError as error:
                problems[str(error)] = None
        if problems:
            raise ExpressionError(next(iter(problems)) if len(problems) == 1 else f"[{', '.join(problems)}]")
        return True

    def compose(self, name: str, expression: Expression) -> Any:
        """Returns the value of a declared variable. Raises EvaluationError, which an expression may absorb."""
        if expression.program is None:
            raise EvaluationError(f'composited variable "{name}" fails to compile: {expression.problem}')
        left = self.budget - self._spent
        state = expression.program.start(self._inputs(expression), min(CALL_LIMIT, left, self._left))
        try:
            return expression.program.exact(state)
        except EvaluationError as error:
            raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None
        except CostExceeded as error:
            if state.cost > left:
                # An exceeded budget must not be absorbed.
                raise
            raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None
        finally:
            self._spent += state.cost
            self._spend(state.cost)

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise Lengthy

    def _inputs(self, expression: Expression) -> dict[str, Any]:
        return {name: self._composed if name == _VARIABLES else self._value(name) for name in expression.names}


class _Composed(values.Mapping):
    """The value of `variables`: each variable is evaluated on first use."""

    __slots__ = ("_environment", "_evaluation", "_expressions")

    def __init__(self, expressions: Mapping[str, Expression], evaluation: Evaluation) -> None:
        self._expressions = expressions
        self._evaluation = evaluation
        self._environment: dict[str, Any] = {}

    def find(self, key: Any) -> Any:
        found = self._environment.get(key, ABSENT)
        if found is ABSENT:
            expression = self._expressions.get(key)
            if expression is None:
                return ABSENT
            # Marks the variable while evaluating: two variables of the same name may refer to each other.
            self._environment[key] = EvaluationError(f'composited variable "{key}" refers to itself')
            try:
                found = self._evaluation.compose(key, expression)
            except EvaluationError as error:
                found = error
            self._environment[key] = found
        if isinstance(found, EvaluationError):
            raise found
        return found

    def keys(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)
