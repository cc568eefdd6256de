"""The filters of a compiled expression: functions from a value to a stream of values."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from setpoint.jq.functions import JqFunction
from setpoint.jq.values import BINARY, EvaluationError, entry, is_true, items, part, type_of
from setpoint.objects.tree import Json

# The greatest number of values of one evaluation.
_MOST_STEPS = 100_000


class Evaluation:
    """One evaluation: its variables, and a bound on its work."""

    def __init__(self) -> None:
        self.variables: dict[str, Json] = {}
        self._steps = 0

    def step(self) -> None:
        """Counts one value. Raises EvaluationError beyond the bound."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise EvaluationError(f"the expression takes more than {_MOST_STEPS} steps")


Filter = Callable[[Json, Evaluation], Iterator[Json]]


def identity(value: Json, run: Evaluation) -> Iterator[Json]:
    """Returns the value itself: `.`."""
    yield value


def constant(result: Json) -> Filter:
    """Returns a filter with a fixed result."""

    def literal(value: Json, run: Evaluation) -> Iterator[Json]:
        yield result

    return literal


def variable(name: str) -> Filter:
    """Returns the filter `$name`."""

    def lookup(value: Json, run: Evaluation) -> Iterator[Json]:
        yield run.variables[name]

    return lookup


def piped(one: Filter, other: Filter) -> Filter:
    """Returns the filter `one | other`."""

    def pipe(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in one(value, run):
            run.step()
            yield from other(each, run)

    return pipe


def joined(one: Filter, other: Filter) -> Filter:
    """Returns the filter `one, other`."""

    def both(value: Json, run: Evaluation) -> Iterator[Json]:
        yield from one(value, run)
        yield from other(value, run)

    return both


def alternative(one: Filter, other: Filter) -> Filter:
    """Returns the filter `one // other`."""

    def either(value: Json, run: Evaluation) -> Iterator[Json]:
        found = [each for each in attempted(one)(value, run) if is_true(each)]
        yield from found or other(value, run)

    return either


def attempted(inner: Filter) -> Filter:
    """Returns the filter `inner?`, which ends without a failure."""

    def attempt(value: Json, run: Evaluation) -> Iterator[Json]:
        try:
            yield from inner(value, run)
        except EvaluationError:
            return

    return attempt


def indexed(of: Filter, key: Filter) -> Filter:
    """Returns the filter `of[key]`. The key is a filter of the original value."""

    def index(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in of(value, run):
            for name in key(value, run):
                yield entry(each, name)

    return index


def sliced(of: Filter, low: Filter, high: Filter) -> Filter:
    """Returns the filter `of[low:high]`."""

    def cut(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in of(value, run):
            for start, end in product(low(value, run), list(high(value, run))):
                yield part(each, start, end)

    return cut


def iterated(of: Filter) -> Filter:
    """Returns the filter `of[]`."""

    def iterate(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in of(value, run):
            for item in items(each):
                run.step()
                yield item

    return iterate


def recursed(value: Json, run: Evaluation) -> Iterator[Json]:
    """Returns the value and all values in it: `..`."""
    pending = [value]
    while pending:
        run.step()
        here = pending.pop()
        yield here
        if isinstance(here, dict | list):
            pending += reversed(items(here))


def binary(sign: str, one: Filter, other: Filter) -> Filter:
    """Returns a comparison or an arithmetic operation."""
    operation = BINARY[sign]

    def operate(value: Json, run: Evaluation) -> Iterator[Json]:
        for right in other(value, run):
            for left in one(value, run):
                run.step()
                yield operation(left, right)

    return operate


def logical(sign: str, one: Filter, other: Filter) -> Filter:
    """Returns the filter `one and other` or `one or other`. The right side is not evaluated if the left decides."""
    decides = sign == "or"

    def decide(value: Json, run: Evaluation) -> Iterator[Json]:
        for left in one(value, run):
            if is_true(left) is decides:
                yield decides
            else:
                yield from (is_true(right) for right in other(value, run))

    return decide


def conditional(test: Filter, body: Filter, otherwise: Filter) -> Filter:
    """Returns the filter `if test then body else otherwise end`."""

    def choose(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in test(value, run):
            yield from (body if is_true(each) else otherwise)(value, run)

    return choose


def bound(source: Filter, name: str, body: Filter) -> Filter:
    """Returns the filter `source as $name | body`."""

    def bind(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in source(value, run):
            outer = run.variables
            run.variables = {**outer, name: each}
            try:
                yield from list(body(value, run))
            finally:
                run.variables = outer

    return bind


def collected(inner: Filter) -> Filter:
    """Returns the filter `[inner]`."""

    def collect(value: Json, run: Evaluation) -> Iterator[Json]:
        found: list[Json] = []
        for each in inner(value, run):
            run.step()
            found.append(each)
        yield found

    return collect


def constructed(entries: Sequence[tuple[Filter, Filter]]) -> Filter:
    """Returns the filter `{key: value, ...}`."""

    def construct(value: Json, run: Evaluation) -> Iterator[Json]:
        choices = [list(product(key(value, run), list(content(value, run)))) for key, content in entries]
        for chosen in product(*choices):
            run.step()
            if wrong := next((key for key, _ in chosen if not isinstance(key, str)), None):
                raise EvaluationError(f"the key of an object cannot be {type_of(wrong)}")
            yield {str(key): content for key, content in chosen}

    return construct


def called(function: JqFunction, arguments: Sequence[Filter]) -> Filter:
    """Returns the call of a function of values."""

    def call(value: Json, run: Evaluation) -> Iterator[Json]:
        for chosen in product(*(list(each(value, run)) for each in arguments)):
            run.step()
            yield function.body(value, *chosen)

    return call


# The functions that take filters: their numbers of arguments, and their filters.


def _select(test: Filter) -> Filter:
    return conditional(test, identity, _empty)


def _empty(value: Json, run: Evaluation) -> Iterator[Json]:
    yield from ()


def _map(body: Filter) -> Filter:
    return collected(piped(iterated(identity), body))


def _first(inner: Filter) -> Filter:
    def first(value: Json, run: Evaluation) -> Iterator[Json]:
        for each in inner(value, run):
            yield each
            return

    return first


def _decided(sign: str) -> Callable[[Filter], Filter]:
    return lambda test: _any_of(sign, iterated(identity), test)


def _any_of(sign: str, source: Filter, test: Filter) -> Filter:
    wanted = sign == "any"

    def decide(value: Json, run: Evaluation) -> Iterator[Json]:
        yield wanted is any(is_true(each) is wanted for each in piped(source, test)(value, run))

    return decide


def _with_entries(body: Filter) -> Filter:
    from setpoint.jq.functions import FUNCTIONS

    there, back = called(FUNCTIONS["to_entries"], ()), called(FUNCTIONS["from_entries"], ())
    return piped(piped(there, _map(body)), back)


SPECIAL: dict[tuple[str, int], Callable[..., Filter]] = {
    ("select", 1): _select,
    ("empty", 0): lambda: _empty,
    ("map", 1): _map,
    ("first", 1): _first,
    ("any", 1): _decided("any"),
    ("all", 1): _decided("all"),
    ("any", 2): lambda source, test: _any_of("any", source, test),
    ("all", 2): lambda source, test: _any_of("all", source, test),
    ("recurse", 0): lambda: recursed,
    ("values", 0): lambda: _select(binary("!=", identity, constant(None))),
    ("with_entries", 1): _with_entries,
}
