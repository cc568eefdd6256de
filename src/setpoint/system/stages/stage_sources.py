"""The clock and the randomness of stages, and the functions of KWOK in CEL that use them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.functions import Functions, Library
from setpoint.schema.cel.libraries import kubernetes_functions
from setpoint.schema.cel.libraries.quantities import QuantityValue
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.timestamps import parse_rfc3339
from setpoint.schema.cel.types import DYN
from setpoint.schema.cel.values import SECOND, CostExceeded, EvaluationError, Timestamp
from setpoint.schema.cel.views import untyped


class StageSources(NamedTuple):
    """The sources of time and randomness."""

    clock: Clock
    ids: Ids

    def now(self) -> datetime:
        return self.clock.now()


def cel_environment(sources: StageSources) -> Environment:
    """Returns the environment of expressions: `self`, Kubernetes' functions, and KWOK's Now, Rand, UnixSecond,
    SinceSecond and Quantity."""
    library = Library()
    overload = library.overload

    @overload("kwok_now: Now() -> timestamp")
    def now() -> Timestamp:
        return Timestamp(_nanos(sources.now()))

    @overload("kwok_rand: Rand() -> double")
    def rand() -> float:
        return sources.ids.random()

    @overload("kwok_unix: UnixSecond(timestamp) -> double", "kwok_unix_of: (timestamp).UnixSecond() -> double")
    def unix_second(moment: Timestamp) -> float:
        return moment.nanos / SECOND

    @overload("kwok_since: SinceSecond(dyn) -> double", "kwok_since_of: (dyn).SinceSecond() -> double")
    def since_second(obj: Any) -> float:
        try:
            created = parse_rfc3339(obj.find("metadata").find("creationTimestamp"))
        except (AttributeError, TypeError, ValueError):
            raise EvaluationError("SinceSecond takes an object with a creationTimestamp") from None
        return (_nanos(sources.now()) - created.nanos) / SECOND

    @overload("kwok_quantity: Quantity(string) -> kubernetes.Quantity")
    def quantity(text: str) -> QuantityValue:
        try:
            return QuantityValue(Quantity.parse(text))
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    known = Library()
    known.overloads = [each for group in kubernetes_functions().by_name.values() for each in group]
    return Environment({"self": Variable(DYN)}, Functions([known, library]))


def _nanos(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND + moment.microsecond * 1000


def compile_cel(text: str, environment: Environment) -> Callable[[Object], Any]:
    """Compiles an expression to a function of an object. Raises ValueError; the function raises EvaluationError."""
    try:
        program = Program(text, environment)
    except (CompileError, ProgramError) as error:
        raise ValueError(str(error)) from None

    def evaluate(tree: Object) -> Any:
        try:
            return program.exact(program.start({"self": untyped(tree)}))
        except CostExceeded as error:
            raise EvaluationError(str(error)) from None

    return evaluate
