"""Setpoint with the users, keys and flags of the real server that it is compared with."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.oracle.peers import ISSUER, SERVICE_RANGE, Files

SECONDS = 60.0


class OurServer(NamedTuple):
    """A Setpoint server that serves."""

    port: int
    log: Path
    kubeconfig: Path
    pid: int


@contextmanager
def our_server(directory: Path, files: Files, *, plain: bool = True, controllers: str = "-*") -> Iterator[OurServer]:
    """Runs `setpoint serve` over a store in memory, by default without controllers and TLS, until the block ends."""
    log, kubeconfig = directory / "setpoint.log", directory / "setpoint.kubeconfig"
    options = [
        *("--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig), f"--controllers={controllers}"),
        *("--token-auth-file", str(files.users), "--anonymous-auth", "always"),
        *("--service-cluster-ip-range", SERVICE_RANGE, "--service-account-issuer", ISSUER),
        *("--service-account-signing-key-file", str(files.signing_key), "--history-revisions", "500000"),
    ]
    if plain:
        options.append("--plain-http")
    else:
        options += ["--tls-cert-file", str(files.certificate), "--tls-private-key-file", str(files.key)]
        options += ["--client-ca-file", str(files.authority)]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # Another one than that of the users, who are all in the file of both servers.
            env={**os.environ, "SETPOINT_TOKEN": "token-of-the-kubeconfig"},
        )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        word, _, url = process.stdout.readline().strip().partition(" ") if ready else ("", "", "")
        if word != "ready":
            raise RuntimeError(f"setpoint serve is not ready: {log.read_text()[-3000:]}")
        yield OurServer(int(url.rpartition(":")[2]), log, kubeconfig, process.pid)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
