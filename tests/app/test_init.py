"""A directory says what its app file could be, and what was guessed; the file can be used as it is."""

from pathlib import Path
from typing import Any

import pytest
from tests.app.apps import cases, rendered, written
from tests.workload.kinds.conftest import Plane

from setpoint.app.init.directory import list_directory
from setpoint.app.init.propose import propose

CASES = cases("init")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_directory_gets_an_app_file_that_says_what_was_guessed(case: dict[str, Any]) -> None:
    assert propose(case["files"], case.get("directory", "shop")).text == case["text"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_what_is_proposed_becomes_objects_that_the_server_takes(
    tmp_path: Path, served: Plane, case: dict[str, Any]
) -> None:
    file = written(tmp_path, propose(case["files"], "shop").text, {"key.txt": "k"})
    profile = next((name for name in ("full", "disabled") if f"- {name}\n" in file.read_text()), "")
    for tree in rendered(file, {"DB": "d", "TOKEN": "t"}, (profile,) if profile else ()):
        served.run(served.client.create(tree, dry_run=True))


def test_the_files_that_matter_are_read_from_a_directory_and_those_in_it(tmp_path: Path) -> None:
    for name in ("Procfile", "api/main.py", "api/uv.lock", "api/deep/main.py", "node_modules/package.json", "x.bin"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "package.json").write_bytes(b"\xff")
    assert list_directory(tmp_path) == {"Procfile": "Procfile", "api/main.py": "api/main.py", "api/uv.lock": ""}
