"""A control plane of either server, with the real controller manager, the real scheduler and simulated nodes."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import yaml
from tests.oracle.components.api import Api
from tests.oracle.peers import companion, oracle, write_files

from setpoint.server.edge.certificates import Authority, Pair
from setpoint.server.edge.kubeconfig import kubeconfig

MANAGER, SCHEDULER, KWOK = "kube-controller-manager", "kube-scheduler", "kwok"
PROGRAMS = ("etcd", "kube-apiserver", MANAGER, SCHEDULER, KWOK, "stages.yaml")
# Each component is a user of its own, with the rights of the default roles. KWOK stands for all nodes and their
# administrator.
USERS: dict[str, tuple[str, tuple[str, ...]]] = {
    MANAGER: ("system:kube-controller-manager", ()),
    SCHEDULER: ("system:kube-scheduler", ()),
    KWOK: ("kwok", ("system:masters",)),
    "admin": ("admin", ("system:masters",)),
}
_START_SECONDS = 60.0


class Keys(NamedTuple):
    """The files that a controller manager needs beside its kubeconfig."""

    authority: Path
    authority_key: Path
    signing_key: Path


class Cluster(NamedTuple):
    """A running control plane. `servers` has the process of each program that serves the API, `companions` those of
    the other components."""

    api: Api
    servers: dict[str, int]
    logs: dict[str, Path]
    companions: dict[str, int]

    def processor_seconds(self) -> dict[str, float]:
        """The time that each server has used of a processor since its start."""
        ticks = os.sysconf("SC_CLK_TCK")
        found = {}
        for name, pid in self.servers.items():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[name] = (int(fields[11]) + int(fields[12])) / ticks
        return found


@contextmanager
def setpoint_cluster(directory: Path) -> Iterator[Cluster]:
    """Runs the components on Setpoint, which users and server set up with the commands that the page about servers
    tells."""
    data = directory / "data"
    options = [
        "--listen",
        "127.0.0.1:0",
        "--data",
        str(data),
        "--store",
        f"sqlite:{data / 'plane.db'}",
        "--controllers=-*",
    ]
    log = directory / "setpoint.log"
    with log.open("wb") as errors:
        server = subprocess.Popen(_command("serve", *options), stdout=subprocess.PIPE, stderr=errors, text=True)
    with ExitStack() as stack:
        stack.callback(_stop, server)
        assert server.stdout is not None
        ready, _, _ = select.select([server.stdout], [], [], _START_SECONDS)
        word, _, url = server.stdout.readline().strip().partition(" ") if ready else ("", "", "")
        if word != "ready":
            raise RuntimeError(f"setpoint serve is not ready: {log.read_text()[-3000:]}")
        for name, (user, groups) in USERS.items():
            memberships = [f"--group={group}" for group in groups]
            path = directory / f"{name}.kubeconfig"
            command = _command("user", user, *memberships, "--data", str(data), "--output", str(path))
            subprocess.run(command, check=True, capture_output=True, timeout=_START_SECONDS)
        keys = Keys(data / "ca.crt", data / "authority.pem", data / "service-accounts.pem")
        yield stack.enter_context(_components(directory, url, keys, {"setpoint": server.pid}))


@contextmanager
def real_cluster(directory: Path, client_flags: Sequence[str] = (), *, kwok: bool = True) -> Iterator[Cluster]:
    """Runs the components on kube-apiserver and etcd; without `kwok`, no nodes. `client_flags` are flags for the
    clients of the controller manager and the scheduler."""
    files = write_files(directory)
    with oracle(directory, files) as server:
        authority = Authority(Pair(files.authority.read_bytes(), files.authority_key.read_bytes()))
        now = datetime.now(UTC)
        for name, (user, groups) in USERS.items():
            pair = authority.issue_client(user, groups, now)
            text = kubeconfig(
                server.url, authority=authority.pair.certificate, certificate=pair.certificate, key=pair.key
            )
            path = directory / f"{name}.kubeconfig"
            path.touch(mode=0o600)
            path.write_text(text)
        keys = Keys(files.authority, files.authority_key, files.signing_key)
        servers = {"kube-apiserver": server.pid, "etcd": server.etcd_pid}
        with _components(directory, server.url, keys, servers, client_flags, kwok=kwok) as cluster:
            yield cluster


@contextmanager
def _components(
    directory: Path,
    url: str,
    keys: Keys,
    servers: dict[str, int],
    client_flags: Sequence[str] = (),
    *,
    kwok: bool = True,
) -> Iterator[Cluster]:
    with ExitStack() as stack:
        certificate, key = _credentials(directory / "admin.kubeconfig", directory)
        api = stack.enter_context(closing(Api(url, keys.authority, certificate, key)))
        logs, companions = {}, {}
        for name, flags in (
            (
                MANAGER,
                [
                    *("--controllers=*", "--use-service-account-credentials"),
                    *(f"--root-ca-file={keys.authority}", f"--service-account-private-key-file={keys.signing_key}"),
                    *(
                        f"--cluster-signing-cert-file={keys.authority}",
                        f"--cluster-signing-key-file={keys.authority_key}",
                    ),
                ],
            ),
            (SCHEDULER, []),
            *([(KWOK, [])] if kwok else []),
        ):
            path = directory / f"{name}.kubeconfig"
            delegated = [f"--{right}-kubeconfig={path}" for right in ("authentication", "authorization")]
            own = [] if name == KWOK else ["--leader-elect=true", *delegated, *client_flags]
            program = stack.enter_context(companion(name, path, directory, [*flags, *own]))
            logs[name], companions[name] = program.log, program.pid
        yield Cluster(api, servers, logs, companions)


def _credentials(path: Path, directory: Path) -> tuple[Path, Path]:
    """The certificate and the key of a kubeconfig, as files."""
    from base64 import b64decode

    [user] = yaml.safe_load(path.read_text())["users"]
    found = directory / "admin.pem", directory / "admin.key"
    for file, field in zip(found, ("client-certificate-data", "client-key-data"), strict=True):
        file.touch(mode=0o600)
        file.write_bytes(b64decode(user["user"][field]))
    return found


def _command(*arguments: str) -> Sequence[str]:
    return [sys.executable, "-m", "setpoint", *arguments]


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=_START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
