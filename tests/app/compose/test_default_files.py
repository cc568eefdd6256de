"""The search for Compose files."""

from pathlib import Path

from setpoint.app.compose.resolver import default_files


def test_the_first_default_name_wins_and_its_override_follows() -> None:
    files = {"/a/compose.yml": "", "/a/docker-compose.yml": "", "/a/compose.override.yaml": ""}

    assert default_files(Path("/a"), files.get) == ("/a/compose.yml", "/a/compose.override.yaml")


def test_parent_directories_are_searched() -> None:
    assert default_files(Path("/a/b/c"), {"/a/docker-compose.yaml": ""}.get) == ("/a/docker-compose.yaml",)


def test_no_file_gives_no_result() -> None:
    assert default_files(Path("/a/b"), lambda path: None) == ()
