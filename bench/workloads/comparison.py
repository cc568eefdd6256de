"""The comparison of Setpoint with tools that run services: one table, measured in one run, with ratios.

All tools run the same services with the same probes, in turns. A ratio is the value of Setpoint divided by the value of
the other tool. honcho and supervisord have no probes, so their services are ready as soon as they listen.
"""

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path

from bench.workloads import peers
from bench.workloads.accounts import mebibytes
from bench.workloads.scene import Scene, scene, until_ready
from bench.workloads.table import Found, heading, row
from bench.workloads.tools import Honcho, Plan, ProcessCompose, Setpoint, Supervisord, Tool, processor_seconds

FEW, MANY = 10, 60
SETTLE_SECONDS, IDLE_SECONDS = 20.0, 30.0
LINES = 500_000
ROUNDS = 3
COMMANDS = 10
PROBE_PERIOD = 10
ENDED_SECONDS = 5.0


def lines() -> Iterator[str]:
    """Measures, and yields the lines of the table."""
    tools = yield from _tools()
    names = [tool.name for tool in tools]
    yield f"CPU of an interpreter that does nothing: {_idle_interpreter():.0f} ms (more on a busy machine)"
    yield heading(names)
    for measure in (_start, _idle, _restart, _logs, _commands, _kill):
        found = {tool.name: measure(tool) for tool in tools}
        for label in found[names[0]]:
            yield row(label, {name: values[label] for name, values in found.items() if label in values}, names)


def _tools() -> Generator[str, None, list[Tool]]:
    """Yields a line for each tool that is left out, and returns the others, Setpoint first."""
    found: list[Tool] = [Setpoint()]
    try:
        if program := peers.process_compose():
            found.append(ProcessCompose(program))
        else:
            yield "process-compose is left out: PROCESS_COMPOSE names no directory with its source"
    except OSError as error:
        yield f"process-compose is left out: {error}"
    try:
        programs = peers.python_peers()
        found += [Honcho(programs), Supervisord(programs)]
    except OSError as error:
        yield f"honcho and supervisord are left out: {error}"
    return found


def _idle_interpreter() -> float:
    """Returns the milliseconds of processor time of an interpreter that does nothing, as a measure of the machine."""
    with tempfile.TemporaryDirectory() as name:
        plan = Plan(Path(name), Path(name), [])
        return min(processor_seconds([sys.executable, "-c", "pass"], plan) for _ in range(ROUNDS)) * 1e3


def _start(tool: Tool) -> Found:
    seconds: dict[int, float] = {}
    spent: dict[int, float] = {}
    for number in (FEW, MANY):
        rounds = [_started(tool, number) for _ in range(ROUNDS)]
        seconds[number] = min(each[0] for each in rounds)
        spent[number] = min(each[1] for each in rounds)
    return {
        f"start: all of {FEW} services ready, s": seconds[FEW],
        f"start: all of {MANY} services ready, s": seconds[MANY],
        f"start: CPU of {FEW} services, per service, ms": spent[FEW] / FEW * 1e3,
        f"start: CPU of {MANY} services, per service, ms": spent[MANY] / MANY * 1e3,
        "start: CPU of each further service, ms": (spent[MANY] - spent[FEW]) / (MANY - FEW) * 1e3,
    }


def _started(tool: Tool, number: int) -> tuple[float, float]:
    with scene(tool, number) as running:
        return running.start(until_ready(tool, running.plan))


def _idle(tool: Tool) -> Found:
    with scene(tool, FEW, period=PROBE_PERIOD) as running:
        running.start(running.plan.names)
        time.sleep(SETTLE_SECONDS)
        before = running.spent()
        time.sleep(IDLE_SECONDS)
        spent = running.spent() - before
        return {
            f"idle: CPU, {FEW} services, probes every {PROBE_PERIOD} s, %": spent / IDLE_SECONDS * 100,
            f"idle: memory of the tool, {FEW} services, MiB": mebibytes(running.processes()),
        }


def _restart(tool: Tool) -> Found:
    with scene(tool, FEW) as running:
        if "restart" not in tool.commands("s0"):
            return {}
        running.start(until_ready(tool, running.plan))
        return {
            "restart: from the command to the new process, ms": _median(running, _by_command),
            "restart: from a crash to the new process, ms": _median(running, _by_crash),
        }


def _median(running: Scene, restart: Callable[[Scene, str], None]) -> float:
    found = []
    for name in running.plan.names[:ROUNDS]:
        began = time.perf_counter()
        restart(running, name)
        running.reports.wait(name)
        found.append(time.perf_counter() - began)
    return statistics.median(found) * 1e3


def _by_command(running: Scene, name: str) -> None:
    processor_seconds(running.tool.commands(name)["restart"], running.plan)


def _by_crash(running: Scene, name: str) -> None:
    os.kill(running.reports.pids[name], signal.SIGKILL)


def _logs(tool: Tool) -> Found:
    with scene(tool, 1, f"lines={LINES}", PROBE_PERIOD) as running:
        running.start(until_ready(tool, running.plan))
        before, began = running.spent(), time.perf_counter()
        os.kill(running.reports.pids["s0"], signal.SIGUSR1)
        running.reports.wait("s0")
        seconds = time.perf_counter() - began
        return {
            "logs: lines of 80 bytes captured, /s": LINES / seconds,
            "logs: CPU per line, µs": (running.spent() - before) / LINES * 1e6,
        }


def _commands(tool: Tool) -> Found:
    found: Found = {}
    with scene(tool, FEW, period=PROBE_PERIOD) as running:
        running.start(until_ready(tool, running.plan))
        for purpose, command in tool.commands("s0").items():
            if purpose == "restart":
                continue
            processor_seconds(command, running.plan)
            before = running.spent()
            spent = sum(processor_seconds(command, running.plan) for _ in range(COMMANDS))
            found[f"command: CPU of `{purpose}`, ms"] = (spent + running.spent() - before) / COMMANDS * 1e3
    return found


def _kill(tool: Tool) -> Found:
    label = f"survivors of {2 * FEW} processes"
    found = {f"kill -9 of the main process: {label}, ": _survivors(tool, all_processes=False, command="")}
    found[f"kill -9 of all processes: {label}, "] = _survivors(tool, all_processes=True, command="")
    found["  … and the next command of the tool, "] = _survivors(tool, all_processes=True, command="ps")
    return found


def _survivors(tool: Tool, *, all_processes: bool, command: str) -> float:
    """Kills processes of the tool and returns the number of services that remain, after a command if one is given."""
    with scene(tool, FEW, "tree") as running:
        names = running.plan.names
        running.start([*names, *(f"{name}-child" for name in names)])
        watched = {running.reports.pids[name] for name in (*names, *(f"{name}-child" for name in names))}
        main = running.main_process("s0")
        while pids := [pid for pid in running.processes() if all_processes or pid == main]:
            # Stopped first, so that all end at the same time and none can react to the end of another.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
            running.reap()
        if command and command in tool.commands("s0"):
            with suppress(OSError):
                processor_seconds(tool.commands("s0")[command], running.plan)
        deadline = time.monotonic() + ENDED_SECONDS
        while (left := watched.intersection(running.services())) and time.monotonic() < deadline:
            time.sleep(0.05)
        return float(len(left))
