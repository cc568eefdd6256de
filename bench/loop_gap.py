"""Measures the longest gap between two iterations of the server's event loop while it handles one expensive request.

    python -m bench.loop_gap [--stacks FILE] [SUBSTRING ...]

The server is `setpoint serve` (TLS, RBAC, system controllers) in a process of its own. A probe in its event loop ticks
every millisecond: the longest time between two ticks is the time that every other user waited. The table shows it
beside the CPU that the process, and the loop's thread alone, used in the worst gap: on a busy machine a gap also
contains time in which the process did not run. Gaps are measured until the server is idle again, so that work after
the response counts too.

With `--stacks` a thread samples the stacks of all threads in every gap of more than 15 ms and appends the samples to
the file. Sampling takes time itself: measure without the option.

A module `bench.loop_gap_*` that offers `gap_cases() -> Iterable[GapCase]` takes part.
"""

import asyncio
import gc
import http.client
import importlib
import os
import pkgutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec

import bench
from bench.figure import Figure

LIMIT_MS = 50.0
TOKEN = "bench"
JSON, YAML = "application/json", "application/yaml"
_TICK_SECONDS = 0.001
_SAMPLE_SECONDS, _SAMPLED_GAP = 0.004, 0.015
_STACKS = "LOOP_GAP_STACKS"
_IDLE_CPU = 0.05
_LONGEST_WAIT = 60.0
# An answer may have more headers than http.client accepts: one for each warning.
http.client._MAXHEADERS = 10_000  # type: ignore[attr-defined]


class Ask(NamedTuple):
    """A request of a case."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class GapCase(NamedTuple):
    """An expensive request. `before` prepares for it and is not measured; all of `measured` is."""

    name: str
    size: str
    measured: tuple[Ask, ...]
    before: tuple[Ask, ...] = ()
    # The answers of the preparation must be good ones, unless the case says otherwise.
    checked: bool = True


class Gap(msgspec.Struct):
    """The worst gap since the last reset: its length, and the CPU of the process and of the loop's thread in the worst
    gap; and the CPU of the loop's thread, and of the process, in total."""

    longest: float
    process_in_gap: float
    cpu_in_gap: float
    cpu: float
    process: float
    ticks: int


class Probe:
    """Ticks in the event loop and remembers the longest time between two ticks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.is_measuring = False
        self.reset()
        self._tick()

    def reset(self) -> None:
        self._longest = self._cpu_in_gap = self._process_in_gap = 0.0
        self._ticks = 0
        self._last, self._last_cpu = time.monotonic(), time.thread_time()
        self._start_cpu, self._last_process = self._last_cpu, time.process_time()
        self._start_process = self._last_process

    def _tick(self) -> None:
        self._look()
        self._ticks += 1
        self._loop.call_later(_TICK_SECONDS, self._tick)

    def _look(self) -> None:
        now, cpu, process = time.monotonic(), time.thread_time(), time.process_time()
        self._longest = max(self._longest, now - self._last)
        self._cpu_in_gap = max(self._cpu_in_gap, cpu - self._last_cpu)
        self._process_in_gap = max(self._process_in_gap, process - self._last_process)
        self._last, self._last_cpu, self._last_process = now, cpu, process

    def sample(self, path: str) -> None:
        """Appends the stacks of the other threads to the file every few milliseconds while a gap lasts. Never
        returns."""
        own = threading.get_ident()
        with open(path, "a") as out:
            while True:
                time.sleep(_SAMPLE_SECONDS)
                lasted = time.monotonic() - self._last
                if not self.is_measuring or lasted < _SAMPLED_GAP:
                    continue
                for thread, frame in sys._current_frames().items():
                    if thread != own:
                        print(f"{lasted * 1000:.0f} ms: {_stack(frame)}", file=out, flush=True)

    def read(self) -> Gap:
        self._look()
        return Gap(
            self._longest,
            self._process_in_gap,
            self._cpu_in_gap,
            self._last_cpu - self._start_cpu,
            self._last_process - self._start_process,
            self._ticks,
        )


def _stack(frame: FrameType) -> str:
    """The functions of a stack, innermost first, without the machinery of imports."""
    stack = reversed(traceback.extract_stack(frame))
    return " < ".join(
        f"{Path(at.filename).name}:{at.lineno} {at.name}" for at in stack if "importlib" not in at.filename
    )


async def _serve(kubeconfig: str, stop: asyncio.Event) -> None:
    """Serves as `setpoint serve` does, and answers the lines `reset` and `read` on stdin."""
    from setpoint.cli.admin import serve
    from setpoint.config.loader import read_config

    loop = asyncio.get_running_loop()
    probe = Probe(loop)

    def told(line: str) -> None:
        if line == "reset":
            probe.reset()
            probe.is_measuring = True
        print(msgspec.json.encode(probe.read()).decode(), flush=True)

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(told, line.strip())
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=listen, daemon=True).start()
    if path := os.environ.get(_STACKS):
        threading.Thread(target=probe.sample, args=(path,), daemon=True).start()
    config = read_config(None, {"--listen": "127.0.0.1:0", "--token": TOKEN, "--kubeconfig": kubeconfig})
    await serve._serve(config, stop)


class Served:
    """The server under measurement."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self._process = process
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._port = port

    def tell(self, line: str) -> Gap:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Gap)

    def cpu_seconds(self) -> float:
        """The CPU that the process has used so far, in all of its threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, asks: Iterable[Ask]) -> list[int]:
        """The statuses of the answers to these requests, over one connection."""
        found = []
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=300)
        try:
            for ask in asks:
                headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": ask.content_type} | dict(ask.headers)
                connection.request(ask.method, ask.path, ask.body or None, headers)
                answer = connection.getresponse()
                self.last = answer.read()
                found.append(answer.status)
        finally:
            connection.close()
        return found

    def until_idle(self) -> Gap:
        """Waits until the server uses hardly any CPU, and returns what the probe saw until then."""
        deadline = time.monotonic() + _LONGEST_WAIT
        before = self.tell("read")
        while True:
            time.sleep(0.3)
            now = self.tell("read")
            if now.process - before.process < _IDLE_CPU or time.monotonic() > deadline:
                return now
            before = now


@contextmanager
def serving() -> Iterator[Served]:
    """A server in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.loop_gap", "--serve", str(Path(directory) / "kubeconfig")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Served(process, int(process.stdout.readline().rpartition(":")[2]))
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


def all_cases() -> Iterator[GapCase]:
    """The cases of every module `bench.loop_gap_*`."""
    for module in sorted(pkgutil.iter_modules(bench.__path__), key=lambda found: found.name):
        if module.name.startswith("loop_gap_"):
            offered = getattr(importlib.import_module(f"bench.{module.name}"), "gap_cases", None)
            if offered is not None:
                yield from offered()


class Row(NamedTuple):
    """A line of the table."""

    case: GapCase
    gap: Gap
    seconds: float
    statuses: list[int]
    answer: bytes


def rows(wanted: Iterable[str] = ()) -> Iterator[Row]:
    """Measures the cases whose names contain one of the texts, each on a server of its own: no case sees the objects
    of another."""
    texts = list(wanted)
    for case in all_cases():
        if texts and not any(text in case.name for text in texts):
            continue
        with serving() as server:
            for ask in case.before:
                (status,) = server.ask([ask])
                if case.checked and status >= 300:
                    raise RuntimeError(f"{case.name}: {ask.method} {ask.path}: {status} {server.last[:300]!r}")
            server.until_idle()
            server.tell("reset")
            start = time.monotonic()
            statuses = server.ask(case.measured)
            seconds = time.monotonic() - start
            yield Row(case, server.until_idle(), seconds, statuses, server.last)


def figures() -> Iterator[Figure]:
    for row in rows():
        longest = row.gap.longest * 1000
        name = f"loop gap: {row.case.name}, {row.case.size}"
        yield Figure(name, longest, "ms", aim=f"under {LIMIT_MS:.0f}", met=longest < LIMIT_MS)


def main(wanted: list[str]) -> None:
    heading = f"{'request':<58} {'size':<22} {'gap ms':>8} {'CPU in it':>10} {'loop CPU':>9}"
    print(f"{heading} {'CPU ms':>8} {'answer ms':>10}  status")
    for row in rows(wanted):
        statuses = {status: row.statuses.count(status) for status in sorted(set(row.statuses))}
        shown = ", ".join(f"{status}" if number == 1 else f"{number}x {status}" for status, number in statuses.items())
        gap = row.gap
        mark = "" if gap.longest * 1000 < LIMIT_MS else "  over" if gap.process_in_gap * 1000 >= LIMIT_MS else "  busy"
        print(
            f"{row.case.name:<58} {row.case.size:<22} {gap.longest * 1000:>8.1f} "
            f"{gap.process_in_gap * 1000:>10.1f} {gap.cpu_in_gap * 1000:>9.1f} "
            f"{gap.cpu * 1000:>8.0f} {row.seconds * 1000:>10.0f}  {shown}{mark}",
            flush=True,
        )
        if max(row.statuses) >= 500:
            print(f"    {row.answer[:300]!r}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        from setpoint import process

        gc.disable()  # as `setpoint serve` does until it is ready
        sys.exit(process.run(lambda stop: _serve(sys.argv[2], stop)))
    wanted = sys.argv[1:]
    if wanted[:1] == ["--stacks"]:
        os.environ[_STACKS], wanted = wanted[1], wanted[2:]
    main(wanted)
