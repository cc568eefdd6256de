"""The program that envtest starts as kube-apiserver: our server, told by the flags of the real one.

It serves with the certificates that it is given and knows users by those of the authority that it is given. SIGTERM or
SIGINT stops it at once. What it cannot do as it was told it says on standard error, and ends; flags that change nothing
here it names there, and serves.
"""

import asyncio
import gc
import logging
import secrets
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from setpoint import process
from setpoint.envtest import keeping
from setpoint.envtest.flags import Flags
from setpoint.objects.clock import SystemClock
from setpoint.plane import ControlPlane, PlaneError
from setpoint.server.http import files
from setpoint.server.http.tls import Certificates
from setpoint.store.contract import Store, StoreError
from setpoint.store.memory import MemoryStore

_CERTIFICATES = "/var/run/kubernetes"


def main(arguments: Sequence[str]) -> int:
    """Serves until it is told to stop. Returns the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        flags = Flags.parse(arguments)
        for name in flags.ignored():
            _say(f"--{name} has no effect here")
        return process.run(lambda stop: _serve(flags, stop))
    except (PlaneError, StoreError, OSError, ValueError) as error:
        _say(str(error))
        return 1


async def _serve(flags: Flags, stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        plane = ControlPlane(
            await _store(flags, stack),
            token=secrets.token_urlsafe(32),
            service_cidr=_service_cidr(flags),
            with_admission=flags.many("enable-admission-plugins"),
            without_admission=[*flags.many("disable-admission-plugins"), *_allowed(flags)],
            aggregated_discovery=flags.gate("AggregatedDiscoveryEndpoint"),
        )
        await stack.enter_async_context(plane)
        host, port = flags.text("bind-address", "0.0.0.0"), flags.port("secure-port", 6443)
        await plane.listen(host, port, tls=_certificates(flags))
        # What is there now stays: the collector need not look at it again and again.
        gc.freeze()
        await stop.wait()


async def _store(flags: Flags, stack: AsyncExitStack) -> Store | str:
    """The store that the flags mean; the stack leaves it in order."""
    kept = await keeping.find(flags.many("etcd-servers"))
    if kept.etcd:
        return f"etcd:{kept.etcd}"
    store = MemoryStore(clock=SystemClock())
    stack.push_async_callback(store.close)
    if kept.directory is not None:
        await keeping.restore(store, kept.directory)
        stack.push_async_callback(keeping.keep, store, kept.directory)
    return store


def _allowed(flags: Flags) -> Sequence[str]:
    """The plugins of ours that do what a flag of the real server switches off."""
    return ("DenyPrivilegedContainers",) if flags.switch("allow-privileged", False) else ()


def _service_cidr(flags: Flags) -> str:
    first, *others = flags.many("service-cluster-ip-range", ["10.0.0.0/24"])
    if others:
        _say(f"Services have addresses of one family here, of {first}")
    return first


def _certificates(flags: Flags) -> Certificates:
    """The files to serve with. Where there are none yet in `--cert-dir`, they are made, as the real server does."""
    authorities = flags.text("client-ca-file")
    directory = Path(flags.text("cert-dir", _CERTIFICATES))
    given = [flags.text(name) for name in ("tls-cert-file", "tls-private-key-file")]
    if any(given) and not all(given):
        raise ValueError("--tls-cert-file and --tls-private-key-file go together: give both, or neither")
    certificate, key = map(Path, given) if all(given) else (directory / "apiserver.crt", directory / "apiserver.key")
    if not any(given) and not certificate.exists():
        from setpoint.server.certificates import KUBERNETES_NAMES, Authority

        now = SystemClock().now()
        authority = Authority.create(now)
        pair = authority.issue_server([*KUBERNETES_NAMES, flags.text("bind-address", "localhost")], now)
        directory.mkdir(parents=True, exist_ok=True)
        files.write(key, pair.key)
        files.write(certificate, pair.certificate + authority.pair.certificate, 0o644)
    return Certificates(certificate, key, Path(authorities) if authorities else None)


def _say(text: str) -> None:
    sys.stderr.write(f"kube-apiserver: {text}\n")
