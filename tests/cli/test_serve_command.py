"""`setpoint serve -- CMD`: a server for the duration of one command."""

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import has_ended

pytestmark = pytest.mark.slow

SECONDS = 90
# Reports its process and that of a grandchild, which ends only by a signal.
WAITING = (
    "import os, signal, subprocess; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "child = subprocess.Popen(['sleep', '1000']); print(os.getpid(), child.pid, flush=True); child.wait()"
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "setpoint", "serve", *arguments]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "XDG_STATE_HOME": str(folder / "state")}


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=SECONDS, env=environment(folder))


def test_the_command_has_a_kubeconfig_of_its_own_and_sets_the_exit_code(tmp_path: Path) -> None:
    source = (
        "import json, os, subprocess, sys; path = os.environ['KUBECONFIG']; "
        "modes = [os.stat(path).st_mode, os.stat(os.path.dirname(path)).st_mode]; "
        "asked = [sys.executable, '-m', 'setpoint', 'get', 'serviceaccounts', '-o', 'name']; "
        "names = subprocess.check_output(asked, text=True); "
        "print(json.dumps([path, modes, names])); sys.exit(7)"
    )
    done = ran(tmp_path, "--", sys.executable, "-c", source)
    assert (done.returncode, done.stderr) == (7, "")
    path, modes, names = json.loads(done.stdout)
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600, 0o700]
    assert names == "serviceaccount/default\n"
    assert Path(path).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_the_kubeconfig_is_added_to_the_environment_and_limits_stay(tmp_path: Path) -> None:
    source = (
        "import json, os, resource; print(json.dumps([dict(os.environ), resource.getrlimit(resource.RLIMIT_NOFILE)]))"
    )
    found = [
        json.loads(subprocess.check_output([sys.executable, "-c", source], env=environment(tmp_path))),
        json.loads(ran(tmp_path, "--", sys.executable, "-c", source).stdout),
    ]
    for variables, _ in found:
        variables.pop("LC_CTYPE", None)  # set by the interpreter itself
    assert found[1][0].pop("KUBECONFIG", None) is not None
    found[0][0].pop("KUBECONFIG", None)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no-such-program"], 127, "command not found: no-such-program"),
        (["/dev/null"], 126, "cannot run /dev/null: the file is not executable"),
    ],
)
def test_a_command_that_cannot_run_is_reported(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    done = ran(tmp_path, "--", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_script_without_its_interpreter_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = ran(folder, "--", str(script))
    assert done.returncode == 127
    assert f"cannot run {script}: No such file or directory" in done.stderr
    assert list(folder.iterdir()) == []


def test_without_a_server_the_command_does_not_run(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = ran(tmp_path, "--listen", f"127.0.0.1:{port}", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_ends_the_command_is_its_exit_code(tmp_path: Path) -> None:
    assert ran(tmp_path, "--", "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_passed_on_and_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("--", sys.executable, "-c", WAITING), stdout=subprocess.PIPE, text=True, env=environment(tmp_path)
    )
    try:
        children = _children(process)
        process.send_signal(number)
        code = process.wait(SECONDS)
        assert code == 128 + number
        _wait_gone(children)
    finally:
        process.kill()
        process.communicate()
    assert list(tmp_path.iterdir()) == []


def test_the_command_may_handle_a_signal_itself(tmp_path: Path) -> None:
    source = f"import signal; signal.signal(signal.SIGTERM, lambda *_: None); {WAITING}; os._exit(5)"
    process = subprocess.Popen(
        command("--", sys.executable, "-c", source), stdout=subprocess.PIPE, text=True, env=environment(tmp_path)
    )
    try:
        children = _children(process)
        process.terminate()
        assert process.wait(SECONDS) == 5
        _wait_gone(children)
    finally:
        process.kill()
        process.communicate()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_from_the_terminal_reaches_the_command_once(tmp_path: Path) -> None:
    source = (
        "import signal, sys, time; got = []; signal.signal(signal.SIGINT, lambda *_: got.append(1)); "
        "print('started', flush=True); sys.stdin.readline(); print('interrupts', len(got)); sys.exit(9)"
    )
    spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    process = subprocess.Popen(
        [sys.executable, "-c", spawn, *command("--", sys.executable, "-c", source)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    printed = b""
    try:
        for wanted, typed in ((b"started", b"\x03"), (b"^C", b"\n"), (b"interrupts", b"")):
            while wanted not in printed:
                ready, _, _ = select.select([process.stdout], [], [], SECONDS)
                piece = os.read(process.stdout.fileno(), 65536) if ready else b""
                assert piece, printed
                printed += piece
            process.stdin.write(typed)
        rest, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
    assert b"interrupts 1" in printed + rest
    assert process.returncode == 9
    assert list(tmp_path.iterdir()) == []


def _children(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], SECONDS)
    assert ready, "the command prints no line"
    return [int(number) for number in process.stdout.readline().split()]


def _wait_gone(processes: list[int]) -> None:
    until = time.monotonic() + SECONDS
    while not all(map(has_ended, processes)):
        assert time.monotonic() < until, f"a process of {processes} still runs"
        time.sleep(0.02)
