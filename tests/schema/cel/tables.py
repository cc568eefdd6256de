"""The tables of cases, and values of CEL in the form the tables write them."""

import base64
import math
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from setpoint.objects.duration import format_duration
from setpoint.schema.cel.declarations import Declaration, declare
from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.timestamps import format_timestamp
from setpoint.schema.cel.types import Type
from setpoint.schema.cel.values import Duration, Mapping, Optional, Timestamp, Uint
from setpoint.schema.openapi import Schema

_CASES = Path(__file__).parent / "cases"


@cache
def table(name: str) -> Any:
    return yaml.load((_CASES / f"{name}.yaml").read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def environment(schema: Any, name: str = "selfType1") -> tuple[Environment, Declaration]:
    """An environment with `self` and `oldSelf` of a schema."""
    declaration = declare(Schema.parse(schema), root=False, name=name)
    assert declaration is not None
    variable = Variable(declaration.type, declaration)
    return Environment({"self": variable, "oldSelf": variable}), declaration


def shown(value: Any) -> Any:
    """A value as the tables write it: plain where YAML has the type, named where it has not."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Uint):
        return {"uint": str(int(value))}
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return {"double": value if math.isfinite(value) else _special(value)}
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, Mapping):
        pairs = [[shown(key), shown(value.find(key))] for key in value.keys()]  # noqa: SIM118
        return {"map": sorted(pairs, key=str)}
    return _named(value)


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")


def _named(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Duration):
        return {"duration": format_duration(value.nanos)}
    if isinstance(value, Timestamp):
        return {"timestamp": format_timestamp(value)}
    if isinstance(value, Type):
        return {"type": str(value)}
    if isinstance(value, Optional):
        return {"optional": shown(value.value) if value.present else "none"}
    return value
