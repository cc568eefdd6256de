"""From a running app to a controller of one's own in it: written, loaded, changed, broken, mended, and gone with it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

APP = """\
app: shop
controllers: [loop.py]
objects: [demo.yaml]
"""
# Defines the kind of an object of the app file, and says what it sees.
LOOP = '''
import setpoint as sp


class NoteSpec(sp.Model):
    """What a note says."""

    text: str = ""


class Note(sp.Resource, group="example.com", version="v1", scope="Cluster"):
    """A note."""

    spec: NoteSpec


@sp.controller(Note)
async def look(ctx: sp.Context, request: sp.Request) -> None:
    found = await ctx.object()
    print("it says", found.spec.text)
'''
NOTE = "apiVersion: example.com/v1\nkind: Note\nmetadata: {name: first}\nspec: {text: hello}\n"


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    home = tmp_path_factory.mktemp("home")
    return {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, environ: Mapping[str, str]) -> Iterator[Path]:
    """The directory of an app that runs, with an object of a kind that its own controller defines."""
    directory = tmp_path_factory.mktemp("project")
    for name, text in (("setpoint.yaml", APP), ("loop.py", LOOP), ("demo.yaml", NOTE)):
        (directory / name).write_text(text)
    setpoint = [sys.executable, "-m", "setpoint"]
    up = subprocess.run([*setpoint, "up", "-d"], cwd=directory, env=environ, capture_output=True, text=True)
    assert up.returncode == 0, up.stderr
    yield directory
    down = subprocess.run([*setpoint, "down"], cwd=directory, env=environ, capture_output=True, text=True)
    assert down.returncode == 0, down.stderr
    assert "nothing left running" in down.stdout


def run(project: Path, environ: Mapping[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "setpoint", *arguments], cwd=project, env=environ, capture_output=True, text=True
    )


def rows(project: Path, environ: Mapping[str, str], *arguments: str) -> dict[str, dict[str, object]]:
    told = run(project, environ, "controllers", "-o", "json", *arguments)
    assert told.returncode == 0, told.stderr
    return {row["name"]: row for row in json.loads(told.stdout)}


def test_a_controller_of_the_app_is_shown_with_what_it_said(project: Path, environ: Mapping[str, str]) -> None:
    assert run(project, environ, "controllers", "-o", "name").stdout == "note\n"
    shown = run(project, environ, "controllers").stdout.splitlines()
    assert shown[0].split() == ["NAME", "KIND", "STATE", "QUEUE", "RATE/min", "p50", "p99", "ERR%", "LAG"]
    assert shown[1].split()[:4] == ["note", "Note", "Running", "0"]
    said = run(project, environ, "controllers", "logs", "note").stdout.splitlines()
    assert said[:2] == ["[setpoint] loop.py loaded (note)", "it says hello"]
    assert run(project, environ, "logs", "controllers/note", "--tail", "1").stdout.splitlines() == said[-1:]
    unknown = run(project, environ, "controllers", "logs", "other")
    assert unknown.returncode == 3
    assert unknown.stderr == "Error: controller 'other' not found or without output; available controllers: note\n"


def test_those_of_the_control_plane_are_shown_when_asked_for(project: Path, environ: Mapping[str, str]) -> None:
    found = rows(project, environ, "--all")
    assert {"note", "executable", "task", "namespace-controller"} <= set(found)
    assert (found["executable"]["module"], found["note"]["module"]) == ("", "loop.py")
    assert list(rows(project, environ)) == ["note"]


def test_a_new_controller_is_loaded_into_the_running_app(project: Path, environ: Mapping[str, str]) -> None:
    new = run(project, environ, "new", "controller", "shop")
    assert new.returncode == 0, new.stderr
    assert new.stdout.splitlines()[-2:] == [
        "added to setpoint.yaml                controllers: - controllers/shop.py",
        f"runs in session {_session(project, environ)}             status: setpoint controllers",
    ]
    assert (project / "setpoint.yaml").read_text() == APP.replace("[loop.py]", "[loop.py, controllers/shop.py]")
    assert run(project, environ, "apply", "-f", "demo/shop.yaml").returncode == 0
    waited = run(project, environ, "wait", "shop/first", "--for", "jsonpath={.status.text}=Moin, first!")
    assert waited.returncode == 0, waited.stderr
    assert rows(project, environ)["shop"]["state"] == "Running"
    said = run(project, environ, "logs", "controllers/shop", "--tail", "1").stdout
    assert said != ""
    for name in ("controllers/shop.py", "controllers/controllers/shop.py"):  # by its file, as it is listed
        assert run(project, environ, "logs", name, "--tail", "1").stdout == said
    up = run(project, environ, "up", "-d")  # what the file says now is what runs
    assert up.returncode == 0, up.stderr
    assert rows(project, environ)["shop"]["state"] == "Running"


def test_a_server_without_an_app_has_none(environ: Mapping[str, str], tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "setpoint", "serve", "--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)]
    serving = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith("ready ")
        told = run(tmp_path, environ, "controllers", "--kubeconfig", str(kubeconfig))
        assert (told.returncode, told.stdout) == (0, "")
        assert told.stderr.startswith("No controllers are running.")
    finally:
        serving.terminate()
        serving.communicate()


def _session(project: Path, environ: Mapping[str, str]) -> str:
    return run(project, environ, "sessions", "-o", "name").stdout.strip()
