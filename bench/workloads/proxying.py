"""The proxy of a Service beside a direct connection and socat: how much passes, and how many connections are made."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import debian

from bench.figure import Figure, in_turns
from bench.workloads.accounts import seconds as cpu
from bench.workloads.control_plane import GROUP, ControlPlane, running

MEBIBYTES = 512
CONNECTIONS = 400
ROUNDS = 3

# Answers a byte for a byte, or with so many mebibytes as the first eight bytes say.
_BACKEND = """
import os, socket, threading
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)
block = bytes(1 << 20)
def talk(connection):
    with connection:
        wanted = connection.recv(8)
        if len(wanted) < 8:
            connection.sendall(wanted)
            return
        for _ in range(int(wanted)):
            connection.sendall(block)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=talk, args=(connection,)).start()
"""


def figures() -> Iterator[Figure]:
    with (
        tempfile.TemporaryDirectory() as name,
        _backend() as backend,
        _socat(backend) as other,
        running(Path(name)) as ours,
    ):
        ways = {"a direct connection": backend, **({"socat": other} if other is not None else {})}
        yield from _ours(ours, backend, ways)


def _ours(ours: ControlPlane, backend: int, ways: dict[str, int]) -> Iterator[Figure]:
    ours.apply(
        _object("Service", "bench", {}),
        _object("Endpoint", "bench", {"serviceName": "bench", "address": "127.0.0.1", "port": backend}),
    )
    port = ours.port_of("bench")
    yield from _both("proxy: throughput", "MB/s", port, ways, _throughput)
    yield from _both("proxy: connections, one after the other", "/s", port, ways, _connections)
    before = cpu(ours.pids())
    _throughput(port)
    yield Figure("proxy: CPU for a GiB", (cpu(ours.pids()) - before) * 1024 / MEBIBYTES * 1e3, "ms")
    before = cpu(ours.pids())
    _connections(port)
    yield Figure("proxy: CPU for a connection", (cpu(ours.pids()) - before) / CONNECTIONS * 1e6, "µs")


def _both(what: str, unit: str, port: int, ways: dict[str, int], rate: Callable[[int], float]) -> Iterator[Figure]:
    def seconds(port: int) -> Callable[[], float]:
        return lambda: 1 / rate(port)

    ours, *others = in_turns(ROUNDS, seconds(port), *map(seconds, ways.values()))
    for name, found in zip(ways, others, strict=True):
        yield Figure(what, 1 / ours, unit, name, 1 / found)


def _throughput(port: int) -> float:
    """Megabytes in a second."""
    room = bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.perf_counter()
        connection.sendall(b"%08d" % MEBIBYTES)
        left = MEBIBYTES << 20
        while left:
            got = connection.recv_into(room)
            if not got:
                raise RuntimeError(f"{left} bytes are missing")
            left -= got
        return (MEBIBYTES << 20) / 1e6 / (time.perf_counter() - start)


def _connections(port: int) -> float:
    """Connections in a second that ask and are answered."""
    start = time.perf_counter()
    for _ in range(CONNECTIONS):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"x")
            if connection.recv(1) != b"x":
                raise RuntimeError("the answer is missing")
    return CONNECTIONS / (time.perf_counter() - start)


def _object(kind: str, name: str, spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}


@contextmanager
def _backend() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", _BACKEND], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def _socat(backend: int) -> Iterator[int | None]:
    """Where socat listens, if it can be had."""
    if why := debian.missing("socat", "socat"):
        print(f"proxy: {why}")
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    process = subprocess.Popen(
        ["socat", f"TCP-LISTEN:{port},fork,reuseaddr,backlog=512", f"TCP:127.0.0.1:{backend}"], process_group=0
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        yield port
    finally:
        os.killpg(process.pid, 9)
        process.wait()
