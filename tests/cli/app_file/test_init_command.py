"""`setpoint init`: writes an app file that runs, says what it found and guessed, and never over another."""

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.app_file.conftest import Command
from tests.cli.app_file.looks import check_looks

from setpoint.app.schema import app_schema


def test_what_was_found_and_guessed_is_told_line_by_line_with_the_next_command(
    setpoint: Command, directory: Path
) -> None:
    (directory / "Procfile").write_text("web: python3 web.py\nworker: no-such-program\n")
    (directory / "web.py").touch()
    ran = setpoint("init")
    assert ran.code == 0
    lines = ran.stdout.splitlines()
    assert lines[0] == "found Procfile"
    assert [line.split() for line in lines if line.startswith("  w")] == [
        ["web", "service", "python3", "web.py"],
        ["worker", "service", "no-such-program"],
    ]
    assert any("Gets a free port as $PORT" in line for line in lines)
    assert "wrote setpoint.yaml: 2 services" in lines
    [missing] = [line for line in lines if line.startswith("  setpoint.yaml:")]
    assert "services.worker.run: program no-such-program not found in PATH" in missing
    assert lines[-1] == "next: setpoint up"


@pytest.mark.parametrize(("columns", "look"), [(80, "plain"), (80, "colour"), (140, "plain")])
def test_it_looks_as_it_did_when_it_was_looked_at(directory: Path, columns: int, look: str) -> None:
    (directory / "Procfile").write_text(
        "web: python3 web.py --with-a-flag=that-is-long --and-another=one-of-them-too\n"
    )
    (directory / "web.py").touch()
    (directory / ".env").write_text("TOKEN=1\n")
    (directory / "skaffold.yaml").write_text("kind: Config")
    check_looks("init", ["init"], columns, look)


def test_the_file_names_its_schema_which_stands_beside_it(setpoint: Command, directory: Path) -> None:
    assert setpoint("init").code == 0
    first, *_ = (directory / "setpoint.yaml").read_text().splitlines()
    name = first.removeprefix("# yaml-language-server: $schema=")
    assert json.loads((directory / name).read_text()) == app_schema()
    assert setpoint("render", "-o", "name").code == 0


def test_a_file_that_is_there_is_not_written_over_unless_that_is_asked_for(setpoint: Command, directory: Path) -> None:
    file = directory / "setpoint.yml"
    file.write_text("app: mine")
    ran = setpoint("init")
    assert (ran.code, "setpoint.yml already exists: overwrite with --force" in ran.stderr) == (7, True)
    assert setpoint("init", "--dry-run").stdout.startswith("# yaml-language-server")
    assert file.read_text() == "app: mine"
    assert setpoint("init", "--force").code == 0
    assert "web" in yaml.safe_load(file.read_text())["services"]
    assert not (directory / "setpoint.yaml").exists()


@pytest.mark.parametrize(
    ("name", "text", "service"),
    [
        ("Procfile.local", "clock: sleep 1", "clock"),
        ("stack.yml", "services: {queue: {image: a}}", "queue"),
        ("package.json", '{"scripts": {"dev": "serve"}}', "web"),
    ],
)
def test_one_file_can_be_chosen(setpoint: Command, directory: Path, name: str, text: str, service: str) -> None:
    (directory / "Procfile").write_text("other: sleep 1")
    (directory / name).write_text(text)
    ran = setpoint("init", "--from", name, "--dry-run")
    assert list(yaml.safe_load(ran.stdout)["services"]) == [service]
    assert not (directory / "setpoint.yaml").exists()


def test_what_stands_elsewhere_gets_its_file_there(setpoint: Command, directory: Path) -> None:
    (directory / "inner").mkdir()
    (directory / "inner" / "Procfile").write_text("clock: sleep 1")
    ran = setpoint("init", "--from", "inner")
    assert ran.stdout.splitlines()[-1] == "next: setpoint up inner/setpoint.yaml"
    assert (directory / "inner" / "setpoint.yaml").exists()


def test_a_file_that_is_not_there_is_named(setpoint: Command) -> None:
    ran = setpoint("init", "--from", "nothing.yaml")
    assert (ran.code, ran.stderr) == (3, "Error: file nothing.yaml not found\n")
