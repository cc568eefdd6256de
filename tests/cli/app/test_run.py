"""`setpoint run`: tasks with their output and their exit code, in the session of their app and in one of their own."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.app.conftest import Shop
from tests.cli.app.machine import own_environ
from tests.cli.conftest import Ran

from setpoint.session.registry import Sessions, state_directory

pytestmark = pytest.mark.slow

Command = Callable[..., Ran]


def test_a_task_runs_after_what_it_needs_with_its_arguments_output_and_exit_code(shop: Shop) -> None:
    ran = shop.run("run", "test", "--", "7")
    assert (ran.code, ran.stdout, ran.stderr) == (7, "seeded\nout 7\n", "err\n")
    # What has succeeded is not done again.
    ran = shop.run("run", "test", "0")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "out 0\n", "err\n")


def test_what_comes_after_something_that_fails_is_not_run(shop: Shop) -> None:
    ran = shop.run("run", "later")
    assert (ran.code, ran.stdout) == (1, "")
    assert "fails failed, so later was not run" in ran.stderr


def test_all_attempts_are_shown(shop: Shop) -> None:
    ran = shop.run("run", "twice")
    assert (ran.code, ran.stdout) == (2, "try\ntry\n")
    assert "twice failed: the process ended with exit code 2; last output: try (attempt 2, the last one)" in ran.stderr


def test_a_task_with_a_terminal_gets_ours(shop: Shop) -> None:
    command = [sys.executable, "-m", "setpoint", "run", "ask"]
    master, slave = pty.openpty()
    process = subprocess.Popen(command, cwd=shop.directory, env=shop.environ, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while b"name?" not in shown:
            shown += os.read(master, 1024)
        os.write(master, b"ada\r")
        assert process.wait(30) == 5
        while b"hello ada" not in shown:
            shown += os.read(master, 1024)
    finally:
        process.kill()
        os.close(master)
    # Where we have none, what it says is shown all the same.
    assert shop.run("run", "seen").stdout == "a terminal\n"


def test_what_nobody_wrote_cannot_be_run(setpoint: Command) -> None:
    ran = setpoint("run", "tset")
    assert ran.code == 3
    assert "task tset not found; did you mean test?" in ran.stderr


def test_a_task_that_runs_is_not_run_a_second_time_and_ends_with_whoever_asked_for_it(
    shop: Shop, setpoint: Command
) -> None:
    with shop.running("run", "long") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        ran = setpoint("run", "long")
        assert (ran.code, "long is already running" in ran.stderr) == (7, True)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "stopping long\n")
    assert "interrupted by the user" in setpoint("ps").stdout
    # It can be run again.
    with shop.running("run", "long") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 143


def test_a_run_that_waits_says_for_what_and_is_taken_back_with_its_request(shop: Shop, setpoint: Command) -> None:
    assert shop.run("run", "seed").code == 0
    setpoint("stop", "base")
    try:
        with shop.running("run", "test", "0") as process:
            assert process.stderr is not None
            assert "waits for Executable base to be Ready" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        assert process.returncode == 130
    finally:
        setpoint("start", "base")
    time.sleep(0.3)
    row = next(line for line in setpoint("ps").stdout.splitlines() if line.startswith("test "))
    assert "Running" not in row


def test_runs_at_once_each_have_their_own_output_and_exit_code(shop: Shop) -> None:
    """Of a task that may overlap; and a request that comes while another has not begun yet is not lost."""
    allowed = {"metadata": {"name": "many"}, "apiVersion": "setpoint.dev/v1", "kind": "Task"}
    script = "sleep 0.5; echo $0; exit $0"
    spec = {"suspend": True, "concurrencyPolicy": "Allow", "successfulHistoryLimit": 9, "failedHistoryLimit": 9}
    template = {"executable": {"executablePath": "sh", "args": ["-c", script]}}
    (shop.directory / "many.json").write_text(json.dumps({**allowed, "spec": {**spec, "template": template}}))
    assert shop.run("apply", "-f", "many.json").code == 0
    with ExitStack() as stack:
        running = [stack.enter_context(shop.running("run", "many", str(number))) for number in (1, 2, 3)]
        for number, process in enumerate(running, 1):
            out, _ = process.communicate(timeout=60)
            assert (process.returncode, out) == (number, f"{number}\n")


@pytest.fixture
def alone(tmp_path: Path) -> Shop:
    """An app that does not run."""
    directory = tmp_path / "alone"
    directory.mkdir()
    (directory / "setpoint.yaml").write_text(
        """\
app: alone
services:
  base: { run: "sh -c 'echo up; touch base; exec sleep 600'", ready: log:up }
  other: { run: "sh -c 'touch other; exec sleep 600'" }
tasks:
  test: { run: "sh -c 'ls; exit $0'", after: base }
  long: { run: "sh -c 'echo begun; exec sleep 600'", after: base }
  first: { run: echo first, auto: true }
  once: { run: echo once, auto: true, after: first }
"""
    )
    return Shop(directory, own_environ(tmp_path / "state"))


def test_without_a_session_a_task_gets_one_with_what_it_needs_and_nothing_is_left(alone: Shop) -> None:
    ran = alone.run("run", "test", "5")
    assert (ran.code, ran.stdout.split()) == (5, ["base", "setpoint.yaml"])
    assert Sessions.of(alone.environ).all() == []
    assert list((state_directory(alone.environ) / "sessions").iterdir()) == []


def test_a_task_that_would_run_by_itself_runs_once(alone: Shop) -> None:
    ran = alone.run("run", "once")
    assert (ran.code, ran.stdout) == (0, "once\n"), ran


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_session_for_a_task_ends_with_the_command(alone: Shop, number: signal.Signals) -> None:
    with alone.running("run", "long") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        [session] = Sessions.of(alone.environ).alive()
        assert session.app.startswith("alone-run-")
        process.send_signal(number)
        process.communicate(timeout=30)
    deadline = time.monotonic() + 20
    while session.is_alive:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    marks = subprocess.run(["pgrep", "-f", str(alone.directory)], capture_output=True, text=True, check=False)
    assert marks.stdout == ""


def test_a_task_of_a_file_that_is_wrong_is_not_run(alone: Shop) -> None:
    (alone.directory / "setpoint.yaml").write_text("tasks: {test: {rum: x}}")
    ran = alone.run("run", "test")
    assert ran.code == 2
    assert "rum" in ran.stderr
    assert Sessions.of(alone.environ).all() == []
