"""The comparison of Setpoint with DCP: the same requests to `start-apiserver` of both, in turns, one table with ratios.

Processor time and memory include all processes of an instance: controllers, guardians, monitors of single processes.
`DCP` names the directory of DCP's executables; without them there is no comparison.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import msgspec

from bench.workloads import proxy_load
from bench.workloads.accounts import IDLE_SECONDS, mebibytes
from bench.workloads.dcp_instance import PATH, Instance, Program, programs, running
from bench.workloads.proxy_load import Order, Report
from bench.workloads.table import Found, heading, row
from setpoint.client.transport import Call

FEW, MANY = 100, 1000
# The number of clients that create objects at the same time.
CLIENTS = 16
ROUNDS = 3
LINES = 200_000
PROXY_SECONDS = 2.0
BACKENDS, CONNECTIONS = (1, 10), (16, 100)
_LOOK_SECONDS = 0.25
_SLEEP = shutil.which("sleep") or "/bin/sleep"
_SETTLE_SECONDS = 1.0


def lines() -> Iterator[str]:
    """Measures, and yields the lines of the table."""
    found = programs()
    if len(found) == 1:
        yield "dcp is left out: DCP names no directory with its executables, and DCP_SOURCE no built source"
        return
    yield heading([program.name for program in found])
    for measure in (_empty, _few, _many, _proxy, _logs):
        values = _best(measure, found)
        for label in values[found[0].name]:
            yield row(label, {name: each[label] for name, each in values.items()}, list(values))


def _best(measure: "Measure", found: list[Program]) -> dict[str, Found]:
    """Measures all programs in turns; the best round of each value counts, because noise only makes it worse."""
    best: dict[str, Found] = {program.name: {} for program in found}
    for _ in range(measure.rounds):
        for program in found:
            with running(program) as instance:
                values = measure.take(instance)
            known = best[program.name]
            for label, value in values.items():
                better = max if label.endswith("/s") else min
                known[label] = better(known.get(label, value), value)
    return best


class Measure(msgspec.Struct):
    """A measure of one instance, and the number of its rounds."""

    take: Callable[[Instance], Found]
    rounds: int = ROUNDS


def _measure_empty(instance: Instance) -> Found:
    time.sleep(_SETTLE_SECONDS)
    spent, memory = instance.spent(), mebibytes(instance.pids())
    stopped = instance.stop()
    return {
        "start: until the kubeconfig is written, s": instance.start_seconds,
        "start: CPU, s": spent,
        "start: memory, MiB": memory,
        "shutdown: without objects, s": stopped,
    }


def _measure_executables(instance: Instance, number: int, clients: int) -> Found:
    before, began = instance.spent(), time.perf_counter()
    times = sorted(instance.run(_create(instance, number, clients)))
    accepted = time.perf_counter() - began
    instance.run(_all_running(instance, number))
    ready = time.perf_counter() - began
    spent, memory = instance.spent() - before, mebibytes(instance.pids())
    prefix = f"{number:,} executables, {clients} client{'s' if clients > 1 else ''}"
    found = {
        f"{prefix}: creates accepted, s": accepted,
        f"{prefix}: p50 of a create, ms": times[len(times) // 2] * 1e3,
        f"{prefix}: p99 of a create, ms": times[len(times) * 99 // 100] * 1e3,
        f"{prefix}: all running, s": ready,
        f"{prefix}: CPU of an executable, ms": spent / number * 1e3,
        f"{prefix}: memory, MiB": memory,
    }
    if number <= FEW:
        # DCP needs more than five minutes for the shutdown of a thousand.
        found[f"{prefix}: shutdown, s"] = instance.stop()
    return found


async def _create(instance: Instance, number: int, clients: int) -> list[float]:
    """Creates Executables, and returns the seconds of each request."""
    numbers, times = iter(range(number)), []

    async def create() -> None:
        for each in numbers:
            began = time.perf_counter()
            await instance.create("Executable", f"e{each}", {"executablePath": _SLEEP, "args": [IDLE_SECONDS]})
            times.append(time.perf_counter() - began)

    await asyncio.gather(*(create() for _ in range(clients)))
    return times


async def _all_running(instance: Instance, number: int) -> None:
    while True:
        listed = (await instance.get("executables"))["items"]
        if sum((each.get("status") or {}).get("state") == "Running" for each in listed) == number:
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _measure_proxy(instance: Instance) -> Found:
    found: Found = {}
    for backends in BACKENDS:
        with ExitStack() as stack:
            load = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, proxy_load.__file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                )
            )
            stack.callback(load.terminate)
            assert load.stdin is not None
            assert load.stdout is not None
            print(backends, file=load.stdin, flush=True)
            ports = [int(word) for word in load.stdout.readline().split()]
            port = instance.run(_service(instance, f"s{backends}", ports))
            for connections in CONNECTIONS:
                for reconnects in (False, True):
                    order = Order(port, connections, PROXY_SECONDS, reconnects)
                    before = instance.spent()
                    print(msgspec.json.encode(order).decode(), file=load.stdin, flush=True)
                    report = msgspec.json.decode(load.stdout.readline(), type=Report)
                    spent = instance.spent() - before
                    prefix = (
                        f"proxy: {backends} backend{'s' if backends > 1 else ''}, {connections} "
                        f"{'clients that reconnect' if reconnects else 'connections'}"
                    )
                    found |= {
                        f"{prefix}, /s": report.rate,
                        f"{prefix}: p50, ms": report.p50,
                        f"{prefix}: p99, ms": report.p99,
                        f"{prefix}: CPU, µs": spent / report.answers * 1e6,
                    }
    return found


async def _service(instance: Instance, name: str, ports: list[int]) -> int:
    """Creates a Service with Endpoints at the ports, and returns the port of its proxy."""
    await instance.create("Service", name, {"protocol": "TCP"})
    for port in ports:
        spec = {"serviceName": name, "serviceNamespace": "", "address": "127.0.0.1", "port": port}
        await instance.create("Endpoint", f"{name}-{port}", spec)
    while True:
        status = (await instance.get(f"services/{name}")).get("status") or {}
        if status.get("effectivePort") and status.get("state") == "Ready":
            await asyncio.sleep(_SETTLE_SECONDS)
            effective: int = status["effectivePort"]
            return effective
        await asyncio.sleep(_LOOK_SECONDS)


def _measure_logs(instance: Instance) -> Found:
    """Reads the output of a process while the process writes."""
    program = f"import sys; [sys.stdout.write(('x' * 79 + chr(10)) * 100) for _ in range({LINES // 100})]"
    before, began = instance.spent(), time.perf_counter()
    instance.run(_read_log(instance, program))
    seconds = time.perf_counter() - began
    return {
        "logs: lines of 80 bytes read while written, /s": LINES / seconds,
        "logs: CPU per line, µs": (instance.spent() - before) / LINES * 1e6,
    }


async def _read_log(instance: Instance, program: str) -> None:
    left = LINES * 80
    spec = {"executablePath": sys.executable, "args": ["-I", "-S", "-c", program]}
    await instance.create("Executable", "writer", spec)
    path, query = f"{PATH}/executables/writer/log", (("follow", "true"), ("source", "stdout"))
    async with instance.client.stream(Call("GET", path, query, {"accept": "*/*"})) as stream:
        async for piece in stream:
            left -= len(piece)
            if left <= 0:
                return
    raise OSError(f"{left} bytes of the log are missing")


_empty = Measure(_measure_empty)
_few = Measure(lambda instance: _measure_executables(instance, FEW, 1))
_many = Measure(lambda instance: _measure_executables(instance, MANY, CLIENTS), rounds=1)
_proxy = Measure(_measure_proxy, rounds=2)
_logs = Measure(_measure_logs)
