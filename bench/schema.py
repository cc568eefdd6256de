"""Pruning, defaulting and validating the custom resource, alone and in one walk."""

from collections.abc import Iterator

from bench.custom_resource import DOCUMENT, OBJECT, SCHEMA
from bench.measure import Case
from setpoint.objects.tree import copy
from setpoint.schema.compile import compile_schema
from setpoint.schema.openapi import Schema


def cases() -> Iterator[Case]:
    compiled = compile_schema(Schema.parse(SCHEMA))

    def fresh() -> object:
        return copy(OBJECT)

    admitted = copy(OBJECT)
    compiled.normalize(admitted)
    yield Case("schema: prune + default + validate in one walk", DOCUMENT, compiled.accept, 2.5, fresh)
    yield Case("schema: prune + default", DOCUMENT, compiled.normalize, None, fresh)
    yield Case("schema: validate", DOCUMENT, lambda: compiled.validate(admitted))
    changed = copy(admitted)
    changed["spec"]["instances"] = 12
    yield Case("schema: validate an update with one error", DOCUMENT, lambda: compiled.validate(changed, admitted))
