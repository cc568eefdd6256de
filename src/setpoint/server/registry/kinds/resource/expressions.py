"""CEL for devices: the compilation of the expressions that select devices."""

from functools import cache

from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.types import BOOL, DYN, STRING, map_of, struct
from setpoint.server.registry.kinds.admissionregistration.expressions import compiled

_FIELDS = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, DYN)),
    "capacity": map_of(STRING, map_of(STRING, DYN)),
    "allowMultipleAllocations": BOOL,
}


@cache
def _environment() -> Environment:
    device = Declaration(struct("kubernetes.DRADevice"), 2)
    for name, found in _FIELDS.items():
        device.fields[name] = Declaration(found, 1)
        device.names[name] = name
        inner = device.fields[name]
        while found.kind == "map":
            found = found.params[-1]
            inner.elements = Declaration(found, 1)
            inner = inner.elements
    return Environment({"device": Variable(device.type, device)})


def device_problem(expression: str) -> str:
    """Returns the error of an expression that selects devices; empty if there is none."""
    program, problem = compiled(expression, _environment())
    if program is None or program.type in (BOOL, DYN):
        return problem
    return f"must evaluate to bool or the unknown type, not {program.type}"
