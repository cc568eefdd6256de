"""A quiet user beside one who takes as much as the server gives, over TLS and with RBAC.

One user sends lists, Tables, applies or watches over 50 connections. Another reads and writes an object of its own now
and then, and a controller renews a Lease. Each kind of noise is measured beside an idle server in the same run. The
clients of the noise run with a lower priority than the quiet ones: the subject is the server, not the scheduling of
clients on the same processors.
"""

import base64
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec
import yaml

from bench.edge import Served, kubeconfig_path, serve_options, serving
from bench.figure import Figure
from bench.quiet_load import TABLE, Answers, Ask, Order

OBJECTS = 10_000
CONNECTIONS = 50
SECONDS = 5.0
MOST = 5.0
NOISY, QUIET, LEADER, ADMIN = "noisy-token", "quiet-token", "leader-token", "bench"
USERS = (
    (NOISY, "noisy", "tenants"),
    (QUIET, "quiet", "tenants"),
    (LEADER, "system:kube-controller-manager", ""),
)
NOISY_MAPS, QUIET_MAPS = (f"/api/v1/namespaces/{name}/configmaps" for name in ("noisy", "quiet"))
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"
APPLY = "application/apply-patch+yaml"
PADDING = "x" * 700


def config_map(name: str, value: str = "0") -> str:
    return (
        f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"n":"{value}"}}}},'
        f'"data":{{"key":"{PADDING}"}}}}'
    )


LEASE = (
    '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"leader","resourceVersion":"{version}"},'
    '"spec":{"holderIdentity":"bench","leaseDurationSeconds":15,"leaseTransitions":0}}'
)
INITIAL = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def noises() -> dict[str, list[Ask]]:
    """The requests of the noisy user, by their kind."""
    apply = Ask("apply", "PATCH", f"{NOISY_MAPS}/a{{n}}?fieldManager=noisy", NOISY, config_map("a{n}"), APPLY)
    again = Ask("watch", "GET", f"{NOISY_MAPS}?{INITIAL}", NOISY, connections=CONNECTIONS // 2, again=True)
    return {
        "lists": [Ask("list", "GET", NOISY_MAPS, NOISY, connections=CONNECTIONS)],
        "Tables": [Ask("table", "GET", NOISY_MAPS, NOISY, accept=TABLE, connections=CONNECTIONS)],
        "applies": [msgspec.structs.replace(apply, connections=CONNECTIONS)],
        "watches": [
            again,
            Ask("open", "GET", f"{NOISY_MAPS}?watch=true", NOISY, connections=CONNECTIONS * 2),
            msgspec.structs.replace(apply, connections=CONNECTIONS // 2),
        ],
    }


def quiet() -> list[Ask]:
    """The requests of the users who are measured."""
    changed = config_map("mine", "{n}")
    return [
        Ask("reads", "GET", f"{QUIET_MAPS}/mine", QUIET, pause=0.01),
        Ask("writes", "PATCH", f"{QUIET_MAPS}/mine?fieldManager=quiet&force=true", QUIET, changed, APPLY, pause=0.01),
        Ask("leases", "PUT", f"{LEASES}/leader", LEADER, LEASE, pause=0.1, renews=True),
    ]


def figures(kinds: Sequence[str] = ()) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        tokens = Path(directory) / "tokens"
        tokens.write_text("".join(f'{token},{user},{user},"{groups}"\n' for token, user, groups in USERS))
        options = [*serve_options(tls=True), "--token-auth-file", str(tokens)]
        with serving("setpoint", *options) as server:
            bench = _Bench(server)
            bench.seed()
            yield from bench.figures(kinds)


class _Bench:
    def __init__(self, server: Served) -> None:
        self._server = server
        cluster = yaml.safe_load(kubeconfig_path().read_text())["clusters"][0]["cluster"]
        self._authority = base64.b64decode(cluster["certificate-authority-data"]).decode()

    def seed(self) -> None:
        """Makes the namespaces, the rights and the objects."""
        admin = [
            Ask(
                f"namespace {name}",
                "POST",
                "/api/v1/namespaces",
                ADMIN,
                f'{{"metadata":{{"name":"{name}"}}}}',
                pause=60,
            )
            for name in ("noisy", "quiet")
        ]
        self._run(admin, 0.5)
        rights = [
            Ask(
                f"right {name}",
                "POST",
                BINDINGS.format(name),
                ADMIN,
                f'{{"metadata":{{"name":"{name}"}},"subjects":[{{"kind":"User","name":"{name}","apiGroup":'
                f'"rbac.authorization.k8s.io"}}],"roleRef":{{"apiGroup":"rbac.authorization.k8s.io",'
                f'"kind":"ClusterRole","name":"admin"}}}}',
                pause=60,
            )
            for name in ("noisy", "quiet")
        ]
        mine = Ask("mine", "POST", QUIET_MAPS, ADMIN, config_map("mine"), pause=60)
        lease = Ask("lease", "POST", LEASES, ADMIN, LEASE.replace("{version}", ""), pause=60)
        many = Ask("many", "POST", NOISY_MAPS, ADMIN, config_map("o{n}"), connections=32)
        made = self._run([*rights, mine, lease], 0.5)
        if any(set(answers.statuses) != {201} for answers in made.values()):
            raise RuntimeError(f"not all was made: {made}")
        count = 0
        while count < OBJECTS:
            answers = self._run([many], 1.5)["many"]
            count += answers.statuses.get(201, 0)
            if set(answers.statuses) != {201}:
                raise RuntimeError(f"not all was made: {answers.statuses}")

    def figures(self, kinds: Sequence[str]) -> Iterator[Figure]:
        idle = self._measure([])
        lost = 0
        for kind, noise in noises().items():
            if kinds and kind not in kinds:
                continue
            loaded = self._measure(noise)
            for name in ("reads", "writes"):
                for label, part in (("p50", 0.5), ("p99", 0.99)):
                    value, base = (_part(found[name].seconds, part) * 1000 for found in (loaded, idle))
                    met = value <= MOST * base
                    yield Figure(
                        f"quiet tenant: {name} beside {kind}, {label}", value, "ms", "idle", base, f"{MOST:g}x", met
                    )
            refused = sum(n for name in ("reads", "writes") for n in _bad(loaded[name]))
            yield Figure(f"quiet tenant: refused beside {kind}", refused, "requests", aim="0", met=not refused)
            slowest = max(loaded["leases"].seconds, default=SECONDS)
            lost = sum(_bad(loaded["leases"])) + (slowest > 1)
            yield Figure(f"quiet tenant: leases lost beside {kind}", lost, "renewals", aim="0", met=not lost)
            yield Figure(f"quiet tenant: slowest renewal beside {kind}", slowest * 1000, "ms")
            for answers in self.noise.values():
                good = sum(n for status, n in answers.statuses.items() if status < 300)
                yield Figure(f"quiet tenant: noise served, {kind}", good / SECONDS, "answers/s")
            yield Figure(f"quiet tenant: memory beside {kind}", self._server.memory(), "MB")

    def _measure(self, noise: Sequence[Ask]) -> dict[str, Answers]:
        noisy = self._start(noise, SECONDS + 2, nice=True) if noise else None
        quiet_clients = self._start(quiet(), SECONDS, wait=1.0 if noise else 0.0)
        found = _answers(quiet_clients)
        self.noise = _answers(noisy) if noisy is not None else {}
        return found

    def _run(self, asks: Sequence[Ask], seconds: float) -> dict[str, Answers]:
        return _answers(self._start(asks, seconds))

    def _start(
        self, asks: Sequence[Ask], seconds: float, *, nice: bool = False, wait: float = 0.0
    ) -> "subprocess.Popen[bytes]":
        time.sleep(wait)
        order = Order(self._server.port, self._authority, seconds, list(asks), nice)
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.quiet_load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(order))
        process.stdin.close()
        return process


def _answers(process: "subprocess.Popen[bytes]") -> dict[str, Answers]:
    assert process.stdout is not None
    found = msgspec.json.decode(process.stdout.read(), type=dict[str, Answers])
    process.wait()
    process.stdout.close()
    return found


def _part(seconds: Sequence[float], part: float) -> float:
    ordered = sorted(seconds)
    if not ordered:
        return SECONDS
    return median(ordered) if part == 0.5 else ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _bad(answers: Answers) -> list[int]:
    return [n for status, n in answers.statuses.items() if status >= 300]
