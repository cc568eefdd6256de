"""The API server over HTTP, beside a bare server with the same parser and loop that always says the same kilobyte.

Each side of the wire has a core of its own where the machine has two. Rates on a busy machine say little by themselves;
the CPU time that a request costs the server, as the system counts it, stands beside each. The same requests of a client
that accepts protobuf, as a Go controller does, stand beside those that accept JSON.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httptools
import msgspec
import uvloop

from bench.edge_load import Order, Report
from bench.figure import Figure

CONNECTIONS = 32
ROUNDS = 3
SECONDS = 1.5
TOKEN = "bench"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PADDING = "x" * 700
CONFIG_MAP = (
    f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"NAME"}},"data":{{"key":"{PADDING}","n":"VALUE"}}}}'
)
MANY = 10_000
LISTS = 40
BARE_BODY = b"x" * 1024
BARE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n\r\n" + BARE_BODY
AIMS = {"get": 0.4, "create": 0.07, "apply": 0.04}
# As client-go asks when its content type is protobuf, and the ratio of its CPU time to that of JSON.
PROTOBUF = "application/vnd.kubernetes.protobuf,application/json"
PROTOBUF_AIM = 1.2
# The clock of the CPU time of a process, in the numbers of clocks that Linux derives from the number of the process.
_CPU_CLOCK = 2


def figures() -> Iterator[Figure]:
    try:
        yield from _start()
        yield from _many()
        yield from _rates()
    finally:
        shutil.rmtree(_scratch(), ignore_errors=True)


def _rates() -> Iterator[Figure]:
    with serving("bench.edge") as bare, serving("setpoint", *serve_options()) as ours:
        wanted = orders(ours.port)
        ask(wanted["seed"])
        rates: dict[str, float] = {}
        costs: dict[str, float] = {}
        plain = Order(bare.port, SECONDS, CONNECTIONS, "GET", f"{CONFIG_MAPS}/one")
        for turn in range(ROUNDS):
            for name, server, order in (
                ("bare", bare, plain),
                *((name, ours, wanted[name]) for name in AIMS),
                *((_protobuf(name), ours, msgspec.structs.replace(wanted[name], accept=PROTOBUF)) for name in AIMS),
            ):
                first = turn * 10_000_000 + (5_000_000 if order.accept == PROTOBUF else 0)
                rate, cost = server.measure(msgspec.structs.replace(order, first=first))
                rates[name] = max(rates.get(name, 0.0), rate)
                costs[name] = min(costs.get(name, float("inf")), cost)
        for name, aim in AIMS.items():
            met = rates[name] / rates["bare"] >= aim
            yield Figure(f"http: {name}", rates[name], "requests/s", "bare", rates["bare"], f"{aim}x", met)
            yield Figure(f"http: CPU of the server, {name}", costs[name], "µs", "bare", costs["bare"])
        for name in AIMS:
            rate, cost = rates[_protobuf(name)], costs[_protobuf(name)]
            yield Figure(f"http: {_protobuf(name)}", rate, "requests/s", "JSON", rates[name])
            met = cost <= PROTOBUF_AIM * costs[name]
            yield Figure(
                f"http: CPU of the server, {_protobuf(name)}", cost, "µs", "JSON", costs[name], f"{PROTOBUF_AIM}x", met
            )


def _protobuf(name: str) -> str:
    """The name of a figure for a client that accepts protobuf."""
    return f"{name}, protobuf"


def _many() -> Iterator[Figure]:
    """What many objects weigh, and how fast they are listed."""
    with serving("setpoint", *serve_options()) as server:
        wanted = orders(server.port)
        made = ask(msgspec.structs.replace(wanted["create"], seconds=60.0, most=MANY))
        if made.statuses != {201: MANY}:
            raise RuntimeError(f"not all objects were made: {made.statuses}")
        memory = server.memory()
        yield Figure(f"serve: resident memory, {MANY:,} ConfigMaps", memory, "MB", aim="under 200", met=memory < 200)
        listing = msgspec.structs.replace(wanted["get"], path=CONFIG_MAPS, connections=1)
        size = ask(msgspec.structs.replace(listing, seconds=30.0, most=1)).size
        rate, cost = _listed(server, listing)
        yield Figure(f"http: list of {MANY:,} objects", rate, "MB/s", aim="150", met=rate >= 150)
        yield Figure(f"http: size of a list of {MANY:,} objects", size / 1e6, "MB")
        yield Figure(f"http: CPU of the server, list of {MANY:,} objects", cost * 1000, "ms")
        yield Figure("serve: resident memory after those lists", server.memory(), "MB")
        first = ask(msgspec.structs.replace(listing, accept=PROTOBUF, seconds=30.0, most=1))
        yield Figure(f"http: first list of {MANY:,} objects, protobuf", first.seconds * 1000, "ms")
        yield Figure(f"http: size of a list of {MANY:,} objects, protobuf", first.size / 1e6, "MB", "JSON", size / 1e6)
        _, shared = _listed(server, msgspec.structs.replace(listing, accept=PROTOBUF))
        met = shared <= PROTOBUF_AIM * cost
        yield Figure(
            f"http: CPU of the server, list of {MANY:,} objects, protobuf",
            shared * 1000,
            "ms",
            "JSON",
            cost * 1000,
            f"{PROTOBUF_AIM}x",
            met,
        )
        yield Figure("serve: resident memory after lists in protobuf", server.memory(), "MB")


def _listed(server: "Served", order: Order) -> tuple[float, float]:
    """The megabytes a second of lists, and the seconds of the server's CPU for each. The number of the lists is fixed,
    because the CPU of an unfinished list would count for the others."""
    rate, cost = 0.0, float("inf")
    order = msgspec.structs.replace(order, seconds=60.0, most=LISTS)
    for _ in range(ROUNDS):
        before = server.cpu()
        report = ask(order)
        if report.content_type not in order.accept or report.statuses != {200: LISTS}:
            raise RuntimeError(f"{order.path}: {report.statuses} in {report.content_type}, not in {order.accept}")
        rate = max(rate, report.size / report.seconds / 1e6)
        cost = min(cost, (server.cpu() - before) / LISTS)
    return rate, cost


def orders(port: int) -> dict[str, Order]:
    def order(method: str, path: str, content_type: str = "", body: str = "", connections: int = CONNECTIONS) -> Order:
        return Order(port, SECONDS, connections, method, path, TOKEN, content_type, body)

    one = CONFIG_MAP.replace("NAME", "one").replace("VALUE", "0")
    many = CONFIG_MAP.replace("NAME", "many-{n}").replace("VALUE", "0")
    changing = CONFIG_MAP.replace("NAME", "applied").replace("VALUE", "{n}")
    seed = order("PATCH", f"{CONFIG_MAPS}/one?fieldManager=bench", "application/apply-patch+yaml", one, 1)
    return {
        "seed": msgspec.structs.replace(seed, seconds=0.1),
        "get": order("GET", f"{CONFIG_MAPS}/one"),
        "create": order("POST", CONFIG_MAPS, "application/json", many),
        "apply": order(
            "PATCH", f"{CONFIG_MAPS}/applied?fieldManager=bench&force=true", "application/apply-patch+yaml", changing
        ),
    }


def _start() -> Iterator[Figure]:
    seconds = spent = float("inf")
    memory = 0.0
    with serving("setpoint", *serve_options(tls=True), core=None):
        pass  # now everything is compiled, as it is when it was installed
    for _ in range(5):
        start = time.perf_counter()
        with serving("setpoint", *serve_options(tls=True), core=None) as server:
            seconds, spent = min(seconds, time.perf_counter() - start), min(spent, server.cpu())
            memory = server.memory()
    yield Figure("serve: from process start to ready", seconds * 1000, "ms", aim="under 600", met=seconds < 0.6)
    yield Figure("serve: CPU from process start to ready", spent * 1000, "ms")
    yield Figure("serve: resident memory, idle", memory, "MB", aim="under 90", met=memory < 90)


def serve_options(*, tls: bool = False) -> list[str]:
    # The API server alone: what it is held against has no controllers in its process either.
    options = ["serve", "--listen", "127.0.0.1:0", "--token", TOKEN, "--controllers=-*"]
    options += ["--kubeconfig", str(kubeconfig_path())]
    return options if tls else [*options, "--plain-http"]


def kubeconfig_path() -> Path:
    """Where the server writes its kubeconfig."""
    return _scratch() / "kubeconfig"


class Served:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port

    def measure(self, order: Order) -> tuple[float, float]:
        """Answers a second, and microseconds of the server's CPU for each."""
        before = self.cpu()
        report = ask(order)
        spent = self.cpu() - before
        good = sum(number for status, number in report.statuses.items() if status < 300)
        if not good or good != sum(report.statuses.values()):
            raise RuntimeError(f"{order.method} {order.path}: {report.statuses}")
        return report.answers / report.seconds, spent / good * 1e6

    def cpu(self) -> float:
        """Seconds of CPU so far, which only Linux tells. The clock of the process counts nanoseconds; its times in
        /proc count hundredths of a second, too few for a list."""
        try:
            return time.clock_gettime((~self.process.pid << 3) | _CPU_CLOCK)
        except OSError:
            return float("nan")

    def memory(self) -> float:
        """Resident megabytes."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except FileNotFoundError:
            return float("nan")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def ask(order: Order) -> Report:
    done = subprocess.run(
        [sys.executable, "-m", "bench.edge_load"],
        input=msgspec.json.encode(order),
        stdout=subprocess.PIPE,
        check=True,
        preexec_fn=lambda: _settle(1),
    )
    return msgspec.json.decode(done.stdout, type=Report)


@contextmanager
def serving(module: str, *arguments: str, core: int | None = 0) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_as_installed(),
        preexec_fn=lambda: _settle(core),
    )
    assert process.stdout is not None
    try:
        yield Served(process, int(process.stdout.readline().rpartition(":")[2]))
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _as_installed() -> dict[str, str]:
    """Our environment, but for what keeps Python from keeping what it compiled: an installed package is compiled."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(_scratch() / "compiled")}


def _scratch() -> Path:
    return Path(tempfile.gettempdir()) / f"setpoint-bench-{os.getpid()}"


def _settle(core: int | None) -> None:
    """Keeps to one core, where there are two and the system lets us choose."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[core]})


class _Bare(asyncio.Protocol):
    """The least that a server written so can do."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(BARE)


async def _serve_bare() -> None:
    server = await asyncio.get_running_loop().create_server(_Bare, "127.0.0.1", 0)
    print(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve_bare())
