"""What the example apps tell to try does what they show."""

import shutil
from pathlib import Path

import pytest
from tests.docs.shell import Shell
from tests.docs.trying import try_page
from tests.example_apps.apps import APPS, NOT_COPIED

pytestmark = pytest.mark.slow

CONTAINERS = {"guestbook"}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in APPS.glob("*/README.md")))
def test_an_example_can_be_tried_as_it_says(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    environ = {"DOCKER_HOST": request.getfixturevalue("podman").address} if name in CONTAINERS else {}
    with Shell(tmp_path, environ) as shell:
        shutil.copytree(APPS / name, shell.place, ignore=NOT_COPIED, dirs_exist_ok=True)
        try_page(APPS / name / "README.md", shell)
