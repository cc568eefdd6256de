"""`setpoint new controller` writes what works at once, overwrites nothing, and touches one place of the app file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from setpoint.cli.controllers.scaffold import Names, ScaffoldError, names_of
from setpoint.cli.main import main


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that commands run in, where nothing else runs."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "project"


def new(*arguments: str, code: int = 0) -> str:
    ran = CliRunner().invoke(main, ["new", "controller", *arguments])
    assert ran.exit_code == code, ran.output
    return ran.output


@pytest.mark.slow
def test_what_is_written_passes_its_own_test_and_the_checks_of_a_careful_project(project: Path) -> None:
    (project / "setpoint.yaml").write_text("app: demo  # ours\n")
    said = new("web-site", "--group", "sites.example.com")
    assert said == (
        "wrote controllers/web_site.py         the kind WebSite (sites.example.com/v1) and its controller\n"
        "wrote controllers/test_web_site.py    a test; run with: setpoint test\n"
        "wrote demo/web_site.yaml              an object; create with: setpoint apply -f demo/web_site.yaml\n"
        "added to setpoint.yaml                controllers: - controllers/web_site.py\n"
    )
    assert (project / "setpoint.yaml").read_text() == "app: demo  # ours\n\ncontrollers:\n  - controllers/web_site.py\n"
    (project / "below").mkdir()
    ran = subprocess.run(
        [sys.executable, "-m", "setpoint", "test", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"],
        cwd=project / "below",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "6 passed" in ran.stdout
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "E,F,W,B,UP", "."]
    checked = subprocess.run([*ruff, "--line-length", "120"], cwd=project, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_nothing_is_overwritten_and_nothing_is_half_written(project: Path) -> None:
    (project / "demo").mkdir()
    (project / "demo" / "shop.yaml").write_text("mine")
    said = new("shop", code=7)
    assert said == "Error: already exists: demo/shop.yaml; choose another name or another --dir\n"
    assert (project / "demo" / "shop.yaml").read_text() == "mine"
    assert not (project / "controllers").exists()


def test_all_that_is_there_already_is_named() -> None:
    new("shop")
    assert new("Shop", code=7) == (
        "Error: already exists: controllers/shop.py, controllers/test_shop.py and demo/shop.yaml; "
        "choose another name or another --dir\n"
    )


@pytest.mark.slow
def test_a_kind_that_is_called_like_a_test_is_taken_for_none(project: Path) -> None:
    new("test-run")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "."]
    ran = subprocess.run(command, cwd=project / "controllers", capture_output=True, text=True)
    assert "6 passed" in ran.stdout, ran.stdout + ran.stderr


def test_without_an_app_file_it_is_told_how_to_run_it() -> None:
    assert new("shop", "--dir", "loops").splitlines()[-1] == (
        "no setpoint.yaml here                 run with: setpoint dev loops/shop.py"
    )


def test_an_app_file_that_is_not_understood_is_left_as_it_is(project: Path) -> None:
    (project / "setpoint.yaml").write_text("{app: demo}\n")
    said = new("shop", code=1)
    assert said.splitlines()[-1] == (
        "Error: setpoint.yaml was not changed: the file uses flow style (braces); add manually: "
        "controllers: [controllers/shop.py]"
    )
    assert (project / "setpoint.yaml").read_text() == "{app: demo}\n"


@pytest.mark.parametrize("directory", ["/elsewhere", "../elsewhere"])
def test_files_go_below_the_app_file(directory: str, project: Path) -> None:
    assert new("shop", "--dir", directory, code=2).splitlines()[-1] == (
        f"Error: --dir {directory} must be a directory below {project}"
    )


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (("shop", "", "example.com"), Names("Shop", "example.com", "shop")),
        (("web-site", "", "example.com"), Names("WebSite", "example.com", "web_site")),
        (("WebSite", "", "example.com"), Names("WebSite", "example.com", "web_site")),
        (("shop", "CornerShop", "shops.example.com"), Names("CornerShop", "shops.example.com", "shop")),
        (("queue", "", "example.com"), Names("Queue", "example.com", "queue_controller")),
        (("class", "", "example.com"), Names("Class", "example.com", "class_controller")),
    ],
)
def test_names_follow_from_the_one_that_is_given(given: tuple[str, str, str], names: Names) -> None:
    assert names_of(*given) == names


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            ("9shop", "", "example.com"),
            "invalid controller name '9shop': use letters, digits and dashes, starting with a letter",
        ),
        (("config-map", "", "example.com"), "kind 'ConfigMap' conflicts with a class"),
        (("a/b", "", "example.com"), "invalid controller name 'a/b'"),
        (("", "", "example.com"), "invalid controller name ''"),
        (
            ("shop", "cornerShop", "example.com"),
            "invalid kind 'cornerShop': use CamelCase",
        ),
        (
            ("shop", "", "shops"),
            "invalid group 'shops': expected a domain with at least one dot",
        ),
        (("shop", "", "Shops.com"), "invalid group 'Shops.com'"),
    ],
)
def test_names_that_do_not_do_are_refused(given: tuple[str, str, str], why: str) -> None:
    with pytest.raises(ScaffoldError) as refused:
        names_of(*given)
    assert str(refused.value).startswith(why)
