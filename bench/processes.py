"""Processes: starting a hundred, and what two hundred idle ones cost; beside it stands Python's own subprocess."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from setpoint.client.loop import loop_factory
from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.workload.process.command import Command
from setpoint.workload.process.processes import Processes, Running

ROUNDS = 5
IDLE = 200
IDLE_SECONDS = 5.0
_TICKS = os.sysconf("SC_CLK_TCK")


class _Null:
    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def figures() -> Iterator[Figure]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        yield from runner.run(_all())


async def _all() -> list[Figure]:
    processes = Processes(SystemClock(), SystemIds())
    await _stop(processes, await _start(processes, 1))
    ours = plain = stopping = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        running = await _start(processes, 100)
        ours = min(ours, time.perf_counter() - start)
        start = time.perf_counter()
        await _stop(processes, running)
        stopping = min(stopping, time.perf_counter() - start)
        plain = min(plain, _popen())
    guardian = processes._links[False].pid
    before = _memory(os.getpid())
    idle = await _start(processes, IDLE)
    grown = _memory(os.getpid()) - before
    spent_before = time.process_time() + _cpu(guardian)
    await asyncio.sleep(IDLE_SECONDS)
    spent = time.process_time() + _cpu(guardian) - spent_before
    found = [
        Figure("100 processes started, all running", ours * 1e3, "ms", "subprocess.Popen", plain * 1e3),
        Figure("100 trees stopped, nothing left", stopping * 1e3, "ms"),
        Figure(f"memory of the guardian with {IDLE} processes", _memory(guardian) / 1024, "MiB"),
        Figure(f"memory of ours for each of {IDLE} processes", grown / IDLE, "KiB"),
        Figure(f"CPU while {IDLE} processes idle, both", spent / IDLE_SECONDS * 1e3, "ms/s"),
    ]
    await _stop(processes, idle)
    await processes.close()
    return found


async def _start(processes: Processes, number: int) -> list[Running]:
    environment = {"PATH": os.environ["PATH"]}
    commands = [Command("sleep", ("1000",), environment, "/", processes.cookie(f"{place}")) for place in range(number)]
    return await asyncio.gather(*(processes.start(command, _Null(), _Null()) for command in commands))


async def _stop(processes: Processes, running: list[Running]) -> None:
    await asyncio.gather(*(processes.stop(process) for process in running))


def _popen() -> float:
    start = time.perf_counter()
    started = [
        subprocess.Popen(
            ["sleep", "1000"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in range(100)
    ]
    spent = time.perf_counter() - start
    for process in started:
        process.kill()
    for process in started:
        process.communicate()
    return spent


def _memory(pid: int) -> float:
    """Resident KiB that no other process shares."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return float(line.split()[1])
    return 0.0


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
