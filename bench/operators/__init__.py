"""An operator for 1,000 custom resources, each with a child and a status, beside kopf and controller-runtime.

One server for all, a new one for each; the same objects, created by one program, which waits until the last has its
status and looks whether every child is as it should be. Counted are the seconds from the first creation to that, the
CPU time of the operator's process, and what it grew by since a few objects, when it has come to rest: that is what it
keeps of each object, and its share of what it grows by once. Ours runs also in the process of the server, where
creating and serving count, too. Ours and the program in Go have as many workers; kopf's handlers run in as many threads
as it chooses, and it writes no log. Where there is no Go, or no kopf, it is left out with a word.
"""

import asyncio
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import uvloop

from bench.edge import TOKEN, Served, kubeconfig_path, serve_options, serving
from bench.figure import Figure
from bench.operators.job import Job, do
from bench.operators.tank import Tank
from setpoint.client.client import Client

OBJECTS = 1000
WORKERS = 8
ROUNDS = 3
# How many objects are done beforehand, so that all is loaded and connected.
WARM = 20
PATIENCE = 60.0
# How long it takes an operator to come to rest, in seconds: its own writes come back to it.
REST = 2.0
ROOT = Path(__file__).parents[2]


def figures() -> Iterator[Figure]:
    programs = {"ours": [sys.executable, "-m", "bench.operators.ours", str(WORKERS)]}
    if importlib.util.find_spec("kopf") and importlib.util.find_spec("kubernetes"):
        path = str(ROOT / "bench/operators/by_kopf.py")
        programs["kopf"] = [sys.executable, "-m", "kopf", "run", "--standalone", "--quiet", "--namespace=default", path]
    else:
        print("operators: kopf is left out, it is not installed")
    if go := _built():
        programs["Go"] = [str(go), str(WORKERS)]
    try:
        for tls in (False, True):
            yield from _beside(programs, "TLS" if tls else "HTTP", tls)
    finally:
        shutil.rmtree(kubeconfig_path().parent, ignore_errors=True)


def _beside(programs: dict[str, list[str]], how: str, tls: bool) -> Iterator[Figure]:
    found: dict[str, list[Job]] = {name: [] for name in programs}
    within: list[Job] = []
    for _ in range(ROUNDS):
        for name, program in programs.items():
            found[name].append(_measured(program, tls))
        if not tls:
            within.append(_in_process())
    jobs = {name: _middle(rounds) for name, rounds in found.items()}
    ours, what = jobs["ours"], f"operator: {OBJECTS:,} objects over {how}"
    for name, other in jobs.items():
        if name == "ours":
            continue
        share = 0.5 if name == "Go" else 10.0
        rate, theirs = OBJECTS / ours.seconds, OBJECTS / other.seconds
        yield Figure(f"{what}, settled", rate, "objects/s", name, theirs, f"{share:g}x", rate / theirs >= share)
        yield Figure(f"{what}, CPU", ours.cpu / OBJECTS * 1e6, "µs/object", name, other.cpu / OBJECTS * 1e6)
        yield Figure(
            f"{what}, CPU of the server", ours.server / OBJECTS * 1e6, "µs/object", name, other.server / OBJECTS * 1e6
        )
        least = "" if name == "Go" else "0.1x"
        light = ours.memory <= other.memory / 10 if least else None
        yield Figure(f"{what}, memory", ours.memory, "KB/object", name, other.memory, least, light)
    if within:
        job = _middle(within)
        what = f"operator: {OBJECTS:,} objects in one process with the server"
        for name, other in jobs.items():
            yield Figure(f"{what}, settled", OBJECTS / job.seconds, "objects/s", name, OBJECTS / other.seconds)
        yield Figure(f"{what}, CPU", job.cpu / OBJECTS * 1e6, "µs/object")


def _middle(rounds: list[Job]) -> Job:
    """The median of each number."""
    return Job(*(statistics.median(numbers) for numbers in zip(*rounds, strict=True)))


def _measured(program: list[str], tls: bool) -> Job:
    """One round of an operator, with a server of its own."""
    with serving("setpoint", *serve_options(tls=tls)) as server:

        async def main() -> Job:
            async with Client.from_kubeconfig(kubeconfig_path()) as client:
                await client.install(Tank)
                with _operating(program) as operator:
                    async with asyncio.timeout(PATIENCE):
                        await do(client, WARM, "warm")
                        memory, cpu, served = operator.memory(), operator.cpu(), server.cpu()
                        seconds = await do(client, OBJECTS)
                        spent, serving_spent = operator.cpu() - cpu, server.cpu() - served
                        await asyncio.sleep(REST)
                    grown = (operator.memory() - memory) * 1024 / OBJECTS
                    return Job(seconds, spent, grown, serving_spent)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(main())


@contextmanager
def _operating(program: list[str]) -> Iterator[Served]:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig_path()), "TOKEN": TOKEN}
    process = subprocess.Popen(
        program, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield Served(process, 0)
        if process.poll() is not None:
            raise RuntimeError(f"{program} ended by itself: {process.returncode}")
    finally:
        process.terminate()
        process.wait()


def _in_process() -> Job:
    command = [sys.executable, "-m", "bench.operators.in_process", str(WORKERS), str(OBJECTS)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
    return msgspec.json.decode(done.stdout, type=Job)


def _built() -> Path | None:
    """The program in Go, built from its modules; None where that cannot be."""
    if shutil.which("go") is None:
        print("operators: controller-runtime is left out, there is no Go")
        return None
    program = ROOT / "build/peers/run"
    made = subprocess.run(["go", "build", "-o", program, "./run"], cwd=ROOT / "tests/clients/go", capture_output=True)
    if made.returncode:
        print(f"operators: controller-runtime is left out, it was not built: {made.stderr.decode()[-300:]}")
        return None
    return program
