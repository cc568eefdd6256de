"""`setpoint dev` runs controllers against the server that is meant, tells of each reconcile, and hears of changes."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command, Served

pytestmark = pytest.mark.slow

PROGRAM = """
import setpoint as sp


@sp.controller("v1/ConfigMap", name="{name}", namespaces=["{namespace}"])
async def look(ctx: sp.Context, request: sp.Request) -> None:
    found = await ctx.object()
    if found is not None and request.name == "one":
        {body}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project: Path, namespace: str, body: str, name: str = "looker") -> None:
    (project / "look.py").write_text(PROGRAM.format(name=name, namespace=namespace, body=body))


@pytest.fixture
def one(setpoint: Command, namespace: str) -> str:
    """A namespace with a ConfigMap."""
    tree = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: one, namespace: {namespace}}}\n"
    assert setpoint("apply", "-f", "-", text=tree).code == 0
    return namespace


def test_once_it_works_until_nothing_is_left_to_do(setpoint: Command, one: str, project: Path) -> None:
    tree = f'{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "one", "namespace": "{one}"}}'
    write(project, one, f'await ctx.client.apply({tree}, "data": {{"seen": "yes"}}}})')
    ran = setpoint("dev", "look.py", "--once")
    assert ran.code == 0, ran.stdout
    assert ran.stderr == "look.py against $KUBECONFIG; press Ctrl-C to stop\n"
    first, *runs = ran.stdout.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}  look\.py loaded \(looker\)", first)
    line = rf"\d\d:\d\d:\d\d\.\d{{3}}  looker {one}/one · ConfigMap {one}/one initial · apply ConfigMap {one}/one"
    assert any(re.fullmatch(rf"{line} · success \([\d.]+ [mµ]?s\)", each) for each in runs), runs
    assert setpoint("get", "configmap", "one", "-n", one, "-o", "jsonpath={.data.seen}").stdout == "yes\n"


def test_once_a_reconcile_that_fails_is_told_with_its_place_and_in_the_exit_code(
    setpoint: Command, one: str, project: Path
) -> None:
    write(project, one, 'raise sp.TerminalError("not like this")')
    ran = setpoint("dev", "look.py:looker", "--once")
    assert ran.code == 1
    assert "no writes · terminal: look.py:9: TerminalError: not like this" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


def test_a_file_that_cannot_be_loaded_is_told_and_in_the_exit_code(setpoint: Command, project: Path) -> None:
    (project / "look.py").write_text("import setpoint as sp\n\n1 / 0\n")
    ran = setpoint("dev", "look.py", "--once")
    assert ran.code == 1
    assert ran.stdout.rstrip().endswith("look.py:3: ZeroDivisionError: division by zero")


def test_a_file_that_is_not_there_is_a_mistake_on_the_command_line(setpoint: Command, project: Path) -> None:
    ran = setpoint("dev", "look.py")
    assert (ran.code, ran.stderr) == (2, f"Error: file look.py not found in {project}\n")


def test_files_are_completed_by_the_shell() -> None:
    words = {"_SETPOINT_COMPLETE": "bash_complete", "COMP_WORDS": "setpoint dev lo", "COMP_CWORD": "2"}
    command = [sys.executable, "-c", "from setpoint.cli.main import main; main(prog_name='setpoint')"]
    ran = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True)
    assert ran.stdout == "file,lo\n"


def test_what_is_no_python_is_a_mistake_on_the_command_line(setpoint: Command, project: Path) -> None:
    (project / "demo.yaml").write_text("")
    ran = setpoint("dev", "./demo.yaml")
    assert ran.code == 2
    assert ran.stderr == "Error: ./demo.yaml is neither a Python file, such as controllers/shop.py, nor a module name\n"


def test_on_any_cluster_kinds_are_installed_only_when_that_is_asked_for(setpoint: Command, project: Path) -> None:
    assert setpoint("new", "controller", "wanted").code == 0
    ran = setpoint("dev", "controllers/wanted.py", "--once")
    assert ran.code == 1
    [line] = ran.stdout.splitlines()
    assert line.endswith("  the server has no kind Wanted in example.com/v1: use --install")
    assert setpoint("dev", "controllers/wanted.py", "--once", "--install").code == 0
    assert setpoint("dev", "controllers/wanted.py", "--once").code == 0


def test_a_change_is_heard_a_mistake_too_and_ctrl_c_ends_it(served: Served, one: str, project: Path) -> None:
    write(project, one, 'print("first")')
    command = [sys.executable, "-m", "setpoint", "dev", "look.py"]
    running = subprocess.Popen(
        command, cwd=project, env={**served.environ}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until(running, f"looker {one}/one")
        write(project, one, 'print("second"')
        assert until(running, "look.py:9: '(' was never closed").endswith("; the previous version is still running\n")
        write(project, one, 'print("second")')
        until(running, "look.py reloaded: look.py changed (looker)")
        until(running, f"looker {one}/one")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.communicate()


def until(running: "subprocess.Popen[str]", text: str) -> str:
    """The next line that has a text. Lines that have others are passed over."""
    assert running.stdout is not None
    passed = []
    for line in running.stdout:
        if text in line:
            return line
        passed.append(line)
    raise AssertionError(f"{text!r} was never said, but: {''.join(passed)}")
