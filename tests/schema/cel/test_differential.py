"""An independent implementation of CEL agrees: values are equal, and where it errs, so does this one.

`cel-expr-python` wraps the C++ implementation. It has none of Kubernetes' functions, so the expressions here keep to
the language itself and its strings library.
"""

import math
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.types import BOOL, DOUBLE, INT, STRING, list_of, map_of
from setpoint.schema.cel.values import EvaluationError, Mapping, MapValue

from .expressions import forms

_TYPES = {
    "i": (INT, cel.Type.INT),
    "j": (INT, cel.Type.INT),
    "s": (STRING, cel.Type.STRING),
    "t": (STRING, cel.Type.STRING),
    "d": (DOUBLE, cel.Type.DOUBLE),
    "b": (BOOL, cel.Type.BOOL),
    "li": (list_of(INT), cel.Type.List(cel.Type.INT)),
    "ls": (list_of(STRING), cel.Type.List(cel.Type.STRING)),
    "m": (map_of(STRING, INT), cel.Type.Map(cel.Type.STRING, cel.Type.INT)),
}
_OURS = Environment({name: Variable(ours) for name, (ours, _) in _TYPES.items()})
_THEIRS = cel.NewEnv(
    variables={name: theirs for name, (_, theirs) in _TYPES.items()}, extensions=[ext_strings.ExtStrings()]
)

_words = st.sampled_from(["", "a", "b", "ab", "Zoë", "x-y"])
_values = st.fixed_dictionaries(
    {
        "i": st.integers(-5, 5) | st.sampled_from([2**63 - 1, -(2**63)]),
        "j": st.integers(-2, 9),
        "s": _words,
        "t": _words,
        "d": st.sampled_from([0.0, 1.0, -2.5, 1e300]),
        "b": st.booleans(),
        "li": st.lists(st.integers(-3, 3), max_size=3),
        "ls": st.lists(_words, max_size=3),
        "m": st.dictionaries(_words, st.integers(-3, 3), max_size=2),
    }
)


def _build(depth: int) -> dict[str, st.SearchStrategy[str]]:
    leaves = {
        "I": st.sampled_from(["i", "j", "0", "1", "-7", "9223372036854775807"]),
        "S": st.sampled_from(["s", "t", "''", "'a'", "'Zoë'"]),
        "D": st.sampled_from(["d", "0.0", "1.5"]),
        "B": st.sampled_from(["b", "true", "false"]),
        "LI": st.sampled_from(["li", "[1, 2]", "[i, j]"]),
        "LS": st.sampled_from(["ls", "['a', s]"]),
    }
    if depth == 0:
        return leaves
    below = _build(depth - 1)
    built = {
        "I": forms(
            *("({I} + {I})", "({I} - {I})", "({I} * {I})", "({I} / {I})", "({I} % {I})", "(-({I}))", "size({S})"),
            *("({B} ? {I} : {I})", "{LI}.size()", "{LI}[{I}]", "m[{S}]", "int({D})", "{LS}.filter(x, x == {S}).size()"),
            *("int({S})", "{S}.indexOf({S})", "{S}.lastIndexOf({S})"),
            **below,
        ),
        "S": forms(
            *("({S} + {S})", "({B} ? {S} : {S})", "string({I})", "{LS}[{I}]", "{S}.lowerAscii()", "{S}.charAt({I})"),
            *("{S}.substring({I})", "{S}.replace({S}, {S})", "{LS}.join({S})", "{S}.trim()"),
            **below,
        ),
        "D": forms("({D} + {D})", "({D} * {D})", "({D} - {D})", "double({I})", "({B} ? {D} : {D})", **below),
        "B": forms(
            *("({B} && {B})", "({B} || {B})", "(!({B}))", "({I} == {I})", "({I} < {I})", "({D} < {D})"),
            *("({S} == {S})", "({S} < {S})", "({S} in {LS})", "({I} in {LI})", "({S} in m)", "{S}.contains({S})"),
            *(
                "{S}.startsWith({S})",
                "{S}.endsWith({S})",
                "{S}.matches('^[a-z]+$')",
                "({LI} == {LI})",
                "({LS} != {LS})",
            ),
            *("{LI}.all(x, x < {I})", "{LI}.exists(x, {I} / x == {I})", "{LS}.exists_one(x, x == {S})"),
            *("{LI}.all(x, {I} % x == 0 || {B})", "m.exists(k, m[k] == {I})", "has(m.a)", "(has(m.a) && m.a > {I})"),
            **below,
        ),
        "LI": forms("({LI} + {LI})", "{LI}.map(x, x + {I})", "{LI}.filter(x, x > {I})", "[{I}, {I}]", **below),
        "LS": forms("({LS} + {LS})", "{LS}.map(x, x + {S})", "{LS}.filter(x, x != {S})", "{S}.split('a')", **below),
    }
    return {kind: leaves[kind] | found for kind, found in built.items()}


_expressions = st.one_of(list(_build(3).values()))
_ERROR = "error"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(value.find(key)) for key in value.keys()}  # noqa: SIM118
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _our_answer(expression: str, values: dict[str, Any]) -> Any:
    try:
        program = Program(expression, _OURS)
    except ProgramError:
        # A constant that cannot be converted, which the other only finds when it gets there.
        reject()
    try:
        return _plain(program.exact(program.start({**values, "m": MapValue(values["m"].items())})))
    except EvaluationError:
        return _ERROR


def _their_answer(expression: str, values: dict[str, Any]) -> Any:
    result = _THEIRS.compile(expression).eval(data=values)
    return _ERROR if str(result.type()) == "ERROR" else _plain(result.plain_value())


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(_expressions, _values)
def test_an_independent_implementation_gives_the_same_values(expression: str, values: dict[str, Any]) -> None:
    ours, theirs = _our_answer(expression, values), _their_answer(expression, values)
    assert (type(ours), ours) == (type(theirs), theirs)
