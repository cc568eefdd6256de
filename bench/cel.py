"""Rules in CEL over the custom resource: how an object is held to them, and the same expression run exactly."""

from collections.abc import Callable, Iterator
from typing import Any

from bench.custom_resource import DOCUMENT, OBJECT, SCHEMA
from bench.measure import Case
from setpoint.objects.tree import copy
from setpoint.schema.cel import ValidationRules, compile_rules
from setpoint.schema.cel.views import view
from setpoint.schema.openapi import Schema

_COMPARE = "self.instances <= self.backup.retentionDays"
_OPTIONAL = "!has(self.backup) || self.backup.destination.startsWith('s3://')"
_LOOP = "self.users.all(u, u.name.size() < 64)"
_NESTED = "self.users.all(u, u.roles.all(r, r.size() < 64))"


def _rules(*rules: str) -> ValidationRules:
    schema = copy(SCHEMA)
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": rule} for rule in rules]
    compiled = compile_rules(Schema.parse(schema))
    assert compiled is not None
    assert not compiled.validate(OBJECT)
    return compiled


def cases() -> Iterator[Case]:
    for name, rule in (
        ("two numbers", _COMPARE),
        ("presence and a prefix", _OPTIONAL),
        ("every item of a list", _LOOP),
        ("lists in lists", _NESTED),
    ):
        rules = _rules(rule)
        yield Case(f"cel: {name}", DOCUMENT, lambda rules=rules: rules.validate(OBJECT, size=len(DOCUMENT)), 0.2)
    four = _rules(_COMPARE, _OPTIONAL, _LOOP, _NESTED)
    yield Case("cel: these four rules together", DOCUMENT, lambda: four.validate(OBJECT, size=len(DOCUMENT)))
    yield Case("cel: these four on an update", DOCUMENT, lambda: four.validate(OBJECT, OBJECT, size=len(DOCUMENT)))
    yield Case("cel: two numbers, exactly and counting", DOCUMENT, _exact(_COMPARE))
    yield Case("cel: lists in lists, exactly and counting", DOCUMENT, _exact(_NESTED))


def _exact(rule: str) -> Callable[[], Any]:
    spec = _rules(rule).properties["spec"]
    program, declaration = spec.compiled[0].program, spec.declaration
    assert program is not None
    assert declaration is not None
    return lambda: program.exact(program.start({"self": view(OBJECT["spec"], declaration)}))
