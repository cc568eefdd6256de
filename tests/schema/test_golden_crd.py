"""The recorded answers of a real server to definitions and custom resources, as far as schemas decide them."""

import re
from typing import Any

import pytest
from tests.schema.golden_crd import Definition, Write, read, scenarios

from setpoint.objects.field import FieldError
from setpoint.objects.tree import copy
from setpoint.schema.compile import EmbeddedResourceError, compile_schema
from setpoint.schema.openapi import Schema
from setpoint.schema.structural import validate_schema
from setpoint.schema.validation import validate_object

STEPS = [step for name, scenario in scenarios("crd", "cel") for step in read(name, scenario)]
DEFINITIONS = [step for step in STEPS if isinstance(step, Definition)]
# Conversions between versions, and objects of another kind, are judged elsewhere.
_ELSEWHERE = ("crd-versions", "crd-other-kind")
WRITES = [step for step in STEPS if isinstance(step, Write) and not step.id.startswith(_ELSEWHERE)]
ADMITTED = [step for step in WRITES if step.status != 400 and not any(c["field"] == "patch" for c in step.causes)]
UNREADABLE = [step for step in WRITES if step.status == 400 and "metadata: Invalid value" in step.message]
STRICT = [step for step in WRITES if "strict decoding error: unknown field" in step.message]


def as_causes(errors: list[FieldError]) -> list[dict[str, str]]:
    return in_order({"reason": e.type.reason, "message": recorded(e.message), "field": e.field} for e in errors)


def recorded(message: str) -> str:
    """A message as it was recorded: the names of CEL types differ from run to run."""
    return re.sub(r"selfType\d+", "selfType<n>", message)


def in_order(causes: Any) -> list[dict[str, str]]:
    return sorted(causes, key=lambda cause: (cause["field"], cause["message"]))


def about_the_schema(cause: dict[str, str]) -> bool:
    """Not about the kind of the object, nor about metadata by the rules that all metadata has."""
    own = cause["field"] in ("kind", "apiVersion") or cause["field"].startswith("metadata")
    return not own or "in body" in cause["message"] or cause["reason"] == "FieldValueTooLong"


@pytest.mark.parametrize("step", DEFINITIONS, ids=lambda step: step.id)
def test_a_schema_is_accepted_or_refused_as_recorded(step: Definition) -> None:
    errors = validate_schema(Schema.parse(step.schema), step.path, status_subresource=step.status_subresource)
    assert as_causes(errors) == in_order(step.causes or [])


@pytest.mark.parametrize("step", ADMITTED, ids=lambda step: step.id)
def test_an_object_is_admitted_or_refused_as_recorded(step: Write) -> None:
    compiled, tree = compile_schema(Schema.parse(step.schema)), copy(step.tree)
    dropped = compiled.normalize(tree)
    if step.unknown is not None:
        assert dropped == sorted(path for path in step.unknown if not path.startswith("metadata."))
    verdict = validate_object(compiled, tree, step.old)
    assert as_causes(verdict.errors) == in_order(filter(about_the_schema, step.causes))
    assert verdict.warnings == [text for text in step.warnings if text.startswith("spec")]
    for name in step.result.keys() - {"metadata"}:
        assert tree[name] == step.result[name]


@pytest.mark.parametrize("step", STRICT, ids=lambda step: step.id)
def test_unknown_fields_are_told_to_those_who_ask_for_strictness(step: Write) -> None:
    unknown = re.findall(r'unknown field "([^"]+)"', step.message)
    dropped = compile_schema(Schema.parse(step.schema)).normalize(copy(step.tree))
    assert dropped == sorted(path for path in unknown if not path.startswith("metadata."))


@pytest.mark.parametrize("step", UNREADABLE, ids=lambda step: step.id)
def test_malformed_metadata_of_an_embedded_resource_cannot_be_read(step: Write) -> None:
    with pytest.raises(EmbeddedResourceError) as caught:
        compile_schema(Schema.parse(step.schema)).normalize(copy(step.tree))
    assert step.message.endswith(str(caught.value))


def test_the_recorded_scenarios_cover_all_of_this() -> None:
    assert len(DEFINITIONS) > 100
    assert len(ADMITTED) > 100
    assert STRICT
    assert UNREADABLE
