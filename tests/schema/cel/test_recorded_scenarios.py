"""The recorded answers of a real API server about rules: which it accepts, and what objects break."""

import re
from pathlib import Path

import pytest

from setpoint.schema.cel import compile_rules, validate_rules
from setpoint.schema.cel.values import ABSENT
from setpoint.schema.openapi import Schema

from .recorded import SCENARIOS, Acceptance, Validation, shown, steps

FILES = [*sorted(SCENARIOS.glob("cel/*.yaml")), *sorted(SCENARIOS.glob("crd/*cel*.yaml"))]
ROOT = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_as_the_real_server_did(path: Path) -> None:
    checked = 0
    for step in steps(path):
        checked += 1
        if isinstance(step, Acceptance):
            _check_acceptance(step)
        else:
            _check_validation(step)
    assert checked


def _check_acceptance(step: Acceptance) -> None:
    found = sorted(shown(error) for error in validate_rules(Schema.parse(step.schema), ROOT))
    assert [(at, why, re.sub(r"selfType\d+", "selfType<n>", text)) for at, why, text in found] == step.causes


def _check_validation(step: Validation) -> None:
    rules = compile_rules(Schema.parse(step.schema))
    found = rules.validate(step.new, ABSENT if step.old is None else step.old) if rules else []
    assert sorted(shown(error.error) for error in found if not error.ratcheted) == step.causes
    for error in (error for error in found if error.ratcheted):
        assert any(str(error.error) in warning for warning in step.warnings)
    assert bool(step.warnings) == any(error.ratcheted for error in found)
