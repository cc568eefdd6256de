"""The Go example of the page about other languages runs with client-go."""

import shutil

import pytest
from tests.docs.language_projects import fetch, project, run
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1500)]


def test_the_example_for_go() -> None:
    directory = project("go", "go")
    for name in ("go.mod", "go.sum"):
        shutil.copy(ROOT / "tests" / "clients" / "go" / name, directory / name)
    fetch(directory, "go", "mod", "download")
    assert "PASS: TestConfigMap" in run(directory, "go", "test", "-v", "-count=1", "./...")
