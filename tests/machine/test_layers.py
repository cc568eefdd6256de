"""The two process layers return the same facts, and the portable one uses no function of Linux."""

import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from setpoint.machine import kqueue_exits, linux, portable
from setpoint.machine.chosen import choose, problem
from setpoint.machine.layer import Layer
from setpoint.machine.program_replacement import settled_environment

pytest.importorskip("psutil", reason="the portable layer needs psutil")
LAYERS: list[Layer] = [linux, portable]


@pytest.fixture
def sleeper() -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(["sleep", "1000"], env={"SETPOINT_WORKLOAD": "a b"}, start_new_session=True)
    while linux.program(process.pid) != "sleep":
        time.sleep(0.01)
    return process


def test_both_layers_see_the_same_process(sleeper: "subprocess.Popen[bytes]") -> None:
    try:
        ours, theirs = (layer.fields(sleeper.pid) for layer in LAYERS)
        assert ours is not None
        assert theirs is not None
        assert (ours.pid, ours.parent, ours.group, ours.session) == theirs[:1] + theirs[2:5]
        assert abs(linux.since_boot(ours.started) - portable.since_boot(theirs.started)) < 2
        for layer in LAYERS:
            assert sleeper.pid in layer.pids()
            assert layer.program(sleeper.pid) == "sleep"
            assert b"SETPOINT_WORKLOAD=a b\0" in layer.environment(sleeper.pid)
            assert layer.usage(sleeper.pid) is not None
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize("layer", LAYERS, ids=["linux", "portable"])
def test_the_end_of_a_process_makes_its_descriptor_readable(layer: Layer, sleeper: "subprocess.Popen[bytes]") -> None:
    descriptor = layer.exit_descriptor(sleeper.pid)
    assert descriptor is not None
    assert select.select([descriptor], [], [], 0)[0] == []
    sleeper.kill()
    assert select.select([descriptor], [], [], 30)[0] == [descriptor]
    os.close(descriptor)
    sleeper.wait()
    assert layer.exit_descriptor(sleeper.pid) is None
    assert layer.fields(sleeper.pid) is None
    assert layer.program(sleeper.pid) == ""


@pytest.mark.parametrize("layer", LAYERS, ids=["linux", "portable"])
def test_the_process_at_a_port_is_found(layer: Layer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert layer.port_holder("tcp", port) == os.getpid()
    assert not layer.port_holder("tcp", port)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "::"])
@pytest.mark.parametrize("layer", LAYERS, ids=["linux", "portable"])
def test_listening_sockets_have_an_address_and_a_process(layer: Layer, host: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        try:
            server.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no address {host}")
        port = server.getsockname()[1]
        assert layer.listening(port) == []
        server.listen()
        (found,) = layer.listening(port)
        assert found.address == host
        assert layer.has_socket(os.getpid(), [found.key])
        assert not layer.has_socket(os.getppid(), [found.key])


@pytest.mark.parametrize("layer", LAYERS, ids=["linux", "portable"])
def test_a_family_has_all_descendants(layer: Layer) -> None:
    with subprocess.Popen(["sh", "-c", "sh -c 'echo; read line; :'; :"], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        assert len({process.pid, *layer.family(process.pid)}) == 2
        assert process.pid in layer.family(os.getpid())
        process.stdin.close()
    assert list(layer.family(process.pid)) == [process.pid]


def test_both_layers_measure_this_process() -> None:
    ours, theirs = linux.resources(), portable.resources()
    assert ours is not None
    assert theirs is not None
    assert (ours.descriptors, ours.most_descriptors) == (theirs.descriptors, theirs.most_descriptors)
    assert abs(ours.started - theirs.started) < 2
    assert 0.5 < ours.resident_memory / theirs.resident_memory < 2
    assert 0.5 < ours.virtual_memory / theirs.virtual_memory < 2


def test_a_layer_that_cannot_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert linux.problem() is portable.problem() is problem() is None
    monkeypatch.setattr(portable, "find_spec", lambda name: None)
    assert portable.problem() == ("psutil and watchfiles not installed", "run `pip install psutil watchfiles`")
    monkeypatch.delattr(os, "pidfd_open")
    assert "Linux 5.3 or newer" in (linux.problem() or ("",))[0]
    assert "WSL" in (problem("win32") or ("", ""))[1]


@pytest.mark.parametrize("layer", LAYERS, ids=["linux", "portable"])
def test_a_memory_file_has_no_name(layer: Layer) -> None:
    descriptor = layer.memory_file()
    os.pwrite(descriptor, b"data", 0)
    assert os.fstat(descriptor).st_nlink == 0
    assert os.pread(descriptor, 10, 0) == b"data"
    os.close(descriptor)


def test_the_layer_depends_on_platform_and_switch() -> None:
    assert choose("linux", "") is linux
    assert choose("linux", "1") is portable
    assert choose("darwin", "") is portable


def test_psutil_is_not_imported_on_linux() -> None:
    program = (
        "import sys, setpoint.workload.workloads, setpoint.workload.process.processes\n"
        "sys.exit(any(name in sys.modules for name in ('psutil', 'watchfiles')))"
    )
    environ = {name: value for name, value in os.environ.items() if name != "SETPOINT_PORTABLE"}
    assert subprocess.run([sys.executable, "-c", program], env=environ).returncode == 0


def test_the_module_that_is_never_executed_is_short() -> None:
    assert len(Path(kqueue_exits.__file__).read_text().splitlines()) < 80


@pytest.mark.parametrize("layer", LAYERS, ids=["linux", "portable"])
def test_a_process_that_replaces_its_program_keeps_its_environment(layer: Layer) -> None:
    again = 'exec sh -c "$1" sh "$1"'
    process = subprocess.Popen(["sh", "-c", again, "sh", again], env={"SETPOINT_WORKLOAD": "a b"})
    try:
        assert all(layer.environment(process.pid) for _ in range(1000))
    finally:
        process.kill()
        process.wait()


def test_an_empty_environment_costs_no_wait() -> None:
    reads: list[str] = []

    def read(name: str, found: bytes) -> bytes:
        reads.append(name)
        return found

    assert settled_environment(lambda: read("environment", b""), lambda: bool(read("arguments", b"sleep"))) == b""
    assert reads == ["environment", "arguments", "environment", "arguments"]
