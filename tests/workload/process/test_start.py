"""A process starts as it was told to, its output and its end are known exactly, and why it could not start is said."""

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.workload.process.stage import PATH, Recorder, Stage, asleep

from setpoint.workload.process.command import StartError, Terminal
from setpoint.workload.process.identity import identity_of, is_alive, parse, stat
from setpoint.workload.process.pipes import Stdin

ENDS = [("exit 0", 0, None), ("exit 7", 7, None), ("kill -KILL $$", None, 9), ("kill -TERM $$", None, 15)]


@pytest.mark.parametrize(("text", "code", "number"), ENDS)
async def test_a_process_ends_with_its_code_or_its_signal(
    stage: Stage, text: str, code: int | None, number: int | None
) -> None:
    end = await (await stage.shell(text)).wait()
    assert (end.code, end.signal) == (code, number)
    assert end.at.tzinfo is not None


async def test_a_process_gets_exactly_its_environment_arguments_and_directory(stage: Stage, tmp_path: Path) -> None:
    odd = "a b\n'\"$x\udcff"
    command = stage.command("env", "-0", env={"PATH": PATH, "ODD": odd}, directory=str(tmp_path))
    out = Recorder()
    await (await stage.processes.start(command, out, Recorder())).wait()
    assert sorted(out.data.split(b"\0")[:-1]) == sorted(
        [f"PATH={PATH}".encode(), b"ODD=" + os.fsencode(odd), f"SETPOINT_WORKLOAD={command.cookie}".encode()]
    )
    await (await stage.start("sh", "-c", 'pwd; printf "%s|" "$0" "$@"', "", odd, directory=str(tmp_path))).wait()
    assert stage.out.data == os.fsencode(f"{tmp_path}\n||{odd}|").replace(b"||", b"|", 1)


async def test_a_process_may_open_as_many_files_as_without_us(stage: Stage) -> None:
    own, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ours = resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)[0]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(ours + 7, hard), hard))
    try:
        assert (await stage.says("ulimit -n")).decode() == f"{ours}\n"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (own, hard))


async def test_a_process_has_a_session_and_descriptors_and_signals_of_its_own(stage: Stage) -> None:
    umask = os.umask(0o022)
    os.umask(umask)
    text = "umask; ls /proc/self/fd | wc -l; grep -E 'Sig(Ign|Blk)' /proc/self/status; cut -d' ' -f1,5,6 /proc/$$/stat"
    lines = (await stage.says(f"{text}; cat")).decode().split("\n")
    assert int(lines[0], 8) == umask
    assert int(lines[1]) == 4, "stdin, stdout, stderr and the folder that ls reads"
    # The C library keeps two signals behind these to itself.
    assert [int(line.split()[1], 16) % (1 << 31) for line in lines[2:4]] == [0, 0]
    assert len(set(lines[4].split())) == 1, "it leads its session and its group"
    assert lines[5:] == [""], "stdin is empty"


async def test_stdin_is_written_without_waiting_for_whoever_does_not_read(stage: Stage) -> None:
    running = await stage.start("cat", stdin=True)
    assert running.stdin is not None
    data = os.urandom(1 << 20)
    await running.stdin.write(data)
    await running.stdin.write(b"end")
    running.stdin.close()
    assert (await running.wait()).code == 0
    assert stage.out.data == data + b"end"
    with pytest.raises(BrokenPipeError):
        await running.stdin.write(b"late")
    deaf = await stage.shell("exec sleep NAP", stdin=True)
    assert deaf.stdin is not None
    writing = asyncio.ensure_future(deaf.stdin.write(data))
    await asyncio.sleep(0)
    await stage.processes.stop(deaf)
    with pytest.raises(BrokenPipeError):
        await writing


async def test_closing_stdin_ends_a_write_that_waits() -> None:
    async def test(writing: int) -> None:
        stdin = Stdin(writing)
        write = asyncio.ensure_future(stdin.write(bytes(1 << 20)))
        await asyncio.sleep(0)
        assert not write.done(), "the pipe is full"
        stdin.close()
        with pytest.raises(BrokenPipeError):
            await asyncio.wait_for(write, 10)

    reading, writing = os.pipe()
    try:
        await test(writing)
    finally:
        os.close(reading)


async def test_many_that_end_before_their_start_returns_are_all_known(stage: Stage) -> None:
    started = await asyncio.gather(*(stage.start("true") for _ in range(60)))
    assert [(await running.wait()).code for running in started] == [0] * 60
    guardian = stage.processes._links[False].pid
    children = Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()
    assert len(children) == 1, "its watcher, and no zombies"
    assert len({running.identity for running in started}) == 60


async def test_all_that_was_written_before_the_end_is_there_at_the_end(stage: Stage) -> None:
    running = await stage.shell("head -c 3000000 /dev/zero; printf last; printf oops >&2; exit 3")
    assert (await running.wait()).code == 3
    assert stage.out.data == bytes(3_000_000) + b"last"
    assert stage.err.data == b"oops"


async def test_a_child_that_keeps_the_output_open_delays_no_end_and_is_still_heard(
    stage: Stage, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    running = await stage.shell(f"(read x < {go}; echo child) & echo parent")
    assert (await running.wait()).code == 0
    assert stage.out.data == b"parent\n"
    assert not stage.out.closed.is_set()
    await asyncio.to_thread(go.write_text, "x\n")
    await running.drained()
    assert stage.out.data == b"parent\nchild\n"
    assert stage.out.closed.is_set()


async def test_a_chatty_child_of_a_process_that_ended_does_not_hold_up_its_end(stage: Stage) -> None:
    running = await stage.shell(": NAP; yes & exit 4")
    assert (await running.wait()).code == 4
    await stage.processes.stop(running)
    await running.drained()


async def test_a_terminal_becomes_the_process_s_own(stage: Stage) -> None:
    ours, theirs = os.openpty()
    command = stage.command("sh", "-c", "tty; test -t 0 && echo yes > /dev/tty", terminal=Terminal(os.ttyname(theirs)))
    running = await stage.processes.start(command, Recorder(), Recorder())
    assert (await running.wait()).code == 0
    said = b""
    while not said.endswith(b"yes\r\n"):  # each write may be read alone
        said += await asyncio.to_thread(os.read, ours, 1000)
    assert os.ttyname(theirs).encode() in said
    os.close(ours)
    os.close(theirs)


def _file(folder: Path, name: str, content: bytes, mode: int) -> str:
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def _errors(folder: Path) -> dict[str, tuple[dict[str, Any], str, str]]:
    """What is started, and the reason and part of the text that come of it."""
    return {
        "a typing error": ({"path": "sleeep"}, "NotFound", "did you mean 'sleep'"),
        "no such program": ({"path": "/no/where"}, "NotFound", "program '/no/where' does not exist"),
        "nothing": ({"path": ""}, "NotFound", "set the path"),
        "not executable": ({"path": _file(folder, "plain", b"#!/bin/sh\n", 0o600)}, "PermissionDenied", "chmod +x"),
        "a folder": ({"path": str(folder)}, "PermissionDenied", "is a directory"),
        "no interpreter line": ({"path": _file(folder, "bare", b"echo hi\n", 0o700)}, "BadFormat", "#!/bin/sh"),
        "a lost interpreter": (
            {"path": _file(folder, "lost", b"#!/no/python -u\n", 0o700)},
            "InterpreterNotFound",
            "'/no/python'",
        ),
        "a script of another system": (
            {"path": _file(folder, "dos", b"#!/bin/sh\r\necho\r\n", 0o700)},
            "InterpreterNotFound",
            "carriage return",
        ),
        "no such directory": (
            {"path": "true", "directory": f"{folder}x"},
            "BadDirectory",
            f"did you mean '{folder.name}'",
        ),
        "a file as directory": ({"path": "true", "directory": f"{folder}/plain"}, "BadDirectory", "is a file"),
        "a relative directory": ({"path": "true", "directory": "src"}, "BadDirectory", "not an absolute path"),
        "too much": ({"path": "true", "args": ["x" * 200_000]}, "ArgumentsTooLong", "pass long values in a file"),
        "a bad name": ({"path": "true", "env": {"A=B": "c"}}, "BadArgument", "'A=B'"),
        "a NUL": ({"path": "true", "args": ["a\0b"]}, "BadArgument", "NUL"),
    }


async def test_why_a_process_cannot_start_is_said_with_the_remedy(stage: Stage, tmp_path: Path) -> None:
    for what, (given, reason, text) in _errors(tmp_path).items():
        out, err = Recorder(), Recorder()
        command = stage.command("")._replace(**given)
        with pytest.raises(StartError) as raised:
            await stage.processes.start(command, out, err)
        assert (what, raised.value.reason) == (what, reason)
        assert text in str(raised.value), what
        assert raised.value.remedy
    assert (await (await stage.shell("exit 5")).wait()).code == 5, "and others start as before"


async def test_a_relative_program_is_one_of_the_working_directory(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    _file(tmp_path, "bin/tool", b"#!/bin/sh\necho mine\n", 0o700)
    for path, search in (("./bin/tool", PATH), ("tool", f"bin:{PATH}")):
        await (await stage.start(path, directory=str(tmp_path), env={"PATH": search})).wait()
        assert stage.out.data == b"mine\n"


async def test_a_start_that_nobody_waits_for_any_more_leaves_nothing(stage: Stage) -> None:
    for turns in range(6):
        starting = asyncio.ensure_future(stage.shell("exec sleep NAP"))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
    await (await stage.start("true")).wait()  # those before it have been started by now, and are being stopped
    await stage.until(lambda: asleep(stage.nap) == [])


async def test_two_control_planes_in_one_process_do_not_touch_each_other(stage: Stage) -> None:
    neighbour = Stage()
    theirs = await neighbour.shell("exec sleep NAP")
    mine = await stage.shell("exec sleep NAP")
    await stage.processes.stop(mine)
    await stage.processes.close()
    assert is_alive(theirs.identity)
    await neighbour.processes.close()
    assert (await theirs.wait()).signal == signal.SIGTERM


async def test_an_identity_is_of_one_process_and_one_boot(stage: Stage) -> None:
    running = await stage.shell("exec sleep NAP")
    identity = running.identity
    assert identity_of(identity.pid) == identity
    assert is_alive(identity)
    assert parse(identity.text()) == identity
    for text in ("", "7", "a:b:c", identity.text()[:-1], f"{identity.text()}0"):
        assert parse(text) is None
    assert not is_alive(identity._replace(started=identity.started + 1))
    await stage.processes.stop(running)
    assert not is_alive(identity)


async def test_a_name_with_parentheses_confuses_nobody(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "a) R 1 (b").symlink_to("/bin/sleep")
    running = await stage.start(str(tmp_path / "a) R 1 (b"), stage.nap)
    found = stat(running.identity.pid)
    assert found is not None
    assert found.identity == running.identity
    assert found.session == running.identity.pid
