"""Strings below fields, as descriptions."""

import importlib
from pathlib import Path

import pytest

from setpoint.schema.types.docs import field_descriptions

HEAD = "import msgspec\n"
SOURCE = f'{HEAD}class Kept(msgspec.Struct):\n    size: int\n    """In bytes."""\n'


def test_a_string_below_a_field_describes_the_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept_source.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    assert field_descriptions(importlib.import_module("kept_source").Kept) == {"size": "In bytes."}


@pytest.mark.parametrize(
    "now",
    [SOURCE.replace("Kept", "Other"), f"{HEAD}text = 1\n", f"{HEAD}a \\ b\n", HEAD],
    ids=["another class", "no class", "no Python", "shorter"],
)
def test_a_file_edited_after_its_import_describes_no_field(
    now: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    name = f"edited_source_{request.node.callspec.indices['now']}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    kept = importlib.import_module(name).Kept
    (tmp_path / f"{name}.py").write_text(now)
    assert field_descriptions(kept) == {}
