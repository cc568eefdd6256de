"""Logs: how fast the output of a chatty process is captured, and read back.

Beside the capture stand the same process with its output straight in a file, and through a second `cat`: what a shell
does without us, and the least that anything costs that reads a pipe. Lines of 80 bytes, 256 MiB of them.
"""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, in_turns
from setpoint.client.loop import loop_factory
from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.workload.logs.capture import Capture, Limits
from setpoint.workload.logs.log_reader import read
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.process.command import Command
from setpoint.workload.process.processes import Processes

MEBIBYTES = 256
ROUNDS = 5
LIMITS = Limits(max_bytes=1 << 30, max_files=4)


class _Null:
    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name, asyncio.Runner(loop_factory=loop_factory()) as runner:
        folder = Path(name)
        big = folder / "big"
        line = b"x" * 79 + b"\n"
        big.write_bytes(line * ((MEBIBYTES << 20) // len(line)))
        size = big.stat().st_size / (1 << 20)
        processes = Processes(SystemClock(), SystemIds())

        def ours() -> float:
            return runner.run(_captured(processes, big, folder))

        def straight() -> float:
            return _shell(f"cat {big} > {folder}/straight")

        def piped() -> float:
            return _shell(f"cat {big} | cat > {folder}/piped")

        captured, direct, pipe = in_turns(ROUNDS, ours, straight, piped)
        yield Figure("output of a chatty process captured", size / captured, "MB/s", "cat > file", size / direct)
        yield Figure("the same", size / captured, "MB/s", "cat | cat > file", size / pipe)
        yield from _reading(runner, folder, big)
        runner.run(processes.close())


async def _captured(processes: Processes, big: Path, folder: Path) -> float:
    capture = Capture(folder, "captured", SystemClock(), LIMITS)
    command = Command("cat", (str(big),), {"PATH": os.environ["PATH"]}, "/", processes.cookie("bench"))
    start = time.perf_counter()
    running = await processes.start(command, capture, _Null())
    await running.wait()
    await running.drained()
    spent = time.perf_counter() - start
    assert capture.complete() == big.stat().st_size // 80
    capture.remove()
    return spent


def _shell(text: str) -> float:
    start = time.perf_counter()
    subprocess.run(["sh", "-c", text], check=True)
    return time.perf_counter() - start


def _reading(runner: asyncio.Runner, folder: Path, big: Path) -> Iterator[Figure]:
    capture = Capture(folder, "read", SystemClock(), LIMITS)
    with big.open("rb") as file:
        while data := file.read(1 << 16):
            capture.write(data)
    size = big.stat().st_size / (1 << 20)

    async def spend(options: LogOptions) -> float:
        start = time.process_time()
        async for _ in read({"stdout": capture}, options, asyncio.Event(), SystemClock()):
            pass
        return time.process_time() - start

    def plain() -> float:
        start = time.process_time()
        with big.open("rb", buffering=0) as file:
            while file.read(1 << 18):
                pass
        return time.process_time() - start

    whole, stamped, tail, base = in_turns(
        3,
        lambda: runner.run(spend(LogOptions())),
        lambda: runner.run(spend(LogOptions(timestamps=True, line_numbers=True))),
        lambda: runner.run(spend(LogOptions(tail=1000))),
        plain,
    )
    yield Figure("reading a log", size / whole, "MB/s CPU", "reading the file", size / base)
    yield Figure("reading it with times and numbers", size / stamped, "MB/s CPU")
    yield Figure("its last 1,000 lines of 3,355,443", tail * 1e3, "ms CPU")
    capture.remove()
