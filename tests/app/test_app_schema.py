"""Editors know the app file by its published schema, which says what the reader says."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.app.apps import cases

from setpoint.app.schema import app_schema, schema_text
from setpoint.app.texts import as_written
from setpoint.objects import typedyaml

FILE = Path(__file__).parents[2] / "docs" / "setpoint.schema.json"
VALIDATOR = jsonschema_rs.Draft202012Validator(app_schema())


def tree_of(text: str) -> Any:
    """The tree that an editor sees."""
    tree = typedyaml.read(text, "setpoint.yaml").tree
    as_written(tree, text, ())
    return tree


def test_the_published_schema_is_in_step_with_the_structs() -> None:
    assert FILE.read_text() == schema_text(), "write it anew: python -m tools.app_schema"


@pytest.mark.parametrize("case", cases("renders"), ids=lambda case: str(case["name"]))
def test_what_is_right_is_right_by_the_schema(case: dict[str, Any]) -> None:
    assert [str(error) for error in VALIDATOR.iter_errors(tree_of(case["text"]))] == []


@pytest.mark.parametrize("text", [
    "services: {a: {imgae: x}}",
    "services: {a: {run: a, replicas: two}}",
    "services: {a: {run: a, ports: {http: 70000}}}",
    "services: {a: {run: a, ready: {every: 5}}}",
    "tasks: {a: {run: a, overlap: sometimes}}",
    "app: [x]",
])  # fmt: skip
def test_what_the_reader_refuses_for_its_type_the_schema_refuses(text: str) -> None:
    assert not VALIDATOR.is_valid(tree_of(text))


def test_everything_in_the_schema_says_what_it_is_for() -> None:
    schema = app_schema()
    for definition in (schema, *schema["$defs"].values()):
        assert definition["description"]
        assert all(field["description"] for field in definition["properties"].values())
