"""Real etcd servers for the tests: on free ports, in a folder of their own, stopped, killed and started again."""

import atexit
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
from aetcd.rpc import rpc_pb2 as pb
from aetcd.rpc.rpc_pb2_grpc import AuthStub, KVStub
from tests.debian import require
from tests.ports import free_ports

START_SECONDS = 30.0


def require_etcd() -> None:
    require("etcd", "etcd-server")


class EtcdServer:
    """One member of a cluster."""

    def __init__(
        self,
        folder: Path,
        ports: tuple[int, int, int],
        name: str = "m0",
        cluster: str = "",
        flags: Sequence[str] = (),
        scheme: str = "http",
        durable: bool = False,
    ) -> None:
        port, peer_port, health_port = ports
        self.endpoint = f"127.0.0.1:{port}"
        self._health = f"http://127.0.0.1:{health_port}"
        self.log = folder / f"{name}.log"
        peer = f"http://127.0.0.1:{peer_port}"
        self._command = [
            "etcd",
            f"--name={name}",
            f"--data-dir={folder / name}",
            f"--listen-client-urls={scheme}://{self.endpoint}",
            f"--advertise-client-urls={scheme}://{self.endpoint}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--listen-metrics-urls={self._health}",
            f"--initial-cluster={cluster or f'{name}={peer}'}",
            *([] if durable else ["--unsafe-no-fsync"]),
            *flags,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, wait: bool = True) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        if wait:
            self.wait()

    def wait(self) -> None:
        """Waits until the member serves, which it does once its cluster has a leader."""
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urlopen(f"{self._health}/health", timeout=1) as answer:
                    if answer.status == 200:
                        return
            except HTTPError as error:
                error.close()
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"etcd did not start:\n{self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        """Ends it without a warning, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Sends a signal to the running process, such as SIGSTOP."""
        assert self._process is not None
        self._process.send_signal(number)

    def restart(self) -> None:
        self.kill()
        self.start()


@contextmanager
def etcd(
    members: int = 1, flags: Sequence[str] = (), scheme: str = "http", durable: bool = False
) -> Iterator[list[EtcdServer]]:
    """A fresh cluster, started."""
    free = iter(free_ports(3 * members))
    ports = list(zip(free, free, free, strict=True))
    cluster = ",".join(f"m{n}=http://127.0.0.1:{peer}" for n, (_, peer, _) in enumerate(ports))
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        servers = [
            EtcdServer(Path(folder), own, f"m{n}", cluster, flags, scheme, durable) for n, own in enumerate(ports)
        ]
        try:
            for server in servers:
                server.start(wait=False)
            for server in servers:
                server.wait()
            yield servers
        finally:
            for server in servers:
                server.kill()


@cache
def shared_etcd() -> EtcdServer:
    """One server for all tests of this process that need nothing special; each takes a root of its own in it."""
    context = etcd()
    (server,) = context.__enter__()
    atexit.register(context.__exit__, None, None, None)
    return server


class Outsider:
    """Somebody else who uses the same etcd, and knows nothing of our store."""

    def __init__(self, server: EtcdServer) -> None:
        self._channel = grpc.aio.insecure_channel(server.endpoint)
        self.kv = KVStub(self._channel)
        self.auth = AuthStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def put(self, key: str, value: bytes = b"x") -> int:
        """Writes a key; returns etcd's revision."""
        return int((await self.kv.Put(pb.PutRequest(key=key.encode(), value=value))).header.revision)

    async def delete(self, key: str) -> None:
        await self.kv.DeleteRange(pb.DeleteRangeRequest(key=key.encode()))

    async def under(self, prefix: str) -> dict[str, Any]:
        """The keys with a prefix, as etcd keeps them."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = await self.kv.Range(pb.RangeRequest(key=prefix.encode(), range_end=end.encode()))
        return {kv.key.decode(): kv for kv in found.kvs}

    async def compact(self) -> int:
        """Compacts etcd up to its current revision, after moving that well beyond whatever it was."""
        for _ in range(3):
            revision = await self.put("/elsewhere/compaction")
        await self.kv.Compact(pb.CompactionRequest(revision=revision))
        return revision
