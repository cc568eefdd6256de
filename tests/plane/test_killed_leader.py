"""Two `setpoint serve` on one etcd: the death or a pause of the one that runs the system controllers."""

import asyncio
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.store.etcd_server import etcd, require_etcd

from setpoint.client.client import Client
from setpoint.objects.errors import NotFound

pytestmark = pytest.mark.slow
SECONDS = 60
_LEADS = 'leader_election_master_status{name="setpoint-system-controllers"} 1\n'


class ServerProcess:
    def __init__(self, directory: Path, store: str, stack: ExitStack) -> None:
        directory.mkdir()
        self._kubeconfig = directory / "kubeconfig"
        options = ["--store", store, "--data", str(directory), "--kubeconfig", str(self._kubeconfig)]
        with (directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "setpoint", "serve", "--listen", "127.0.0.1:0", *options],
                stdout=subprocess.PIPE,
                stderr=log,
            )
        stack.callback(self._end)
        assert self.process.stdout is not None
        printed, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if printed else b""
        assert line.startswith(b"ready "), (directory / "log").read_text()

    def client(self) -> Client:
        return Client.from_kubeconfig(str(self._kubeconfig))

    async def leads(self) -> bool:
        async with self.client() as client:
            return _LEADS in (await client.raw("GET", "/metrics")).body.decode()

    def _end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[ServerProcess]]:
    require_etcd()
    with etcd() as (member,), ExitStack() as stack:
        made = [ServerProcess(tmp_path / name, f"etcd:http://{member.endpoint}", stack) for name in ("a", "b")]
        yield made


async def until_leading(server: ServerProcess) -> None:
    while not await server.leads():
        await asyncio.sleep(0.1)


async def delete_namespace(server: ServerProcess) -> None:
    async with server.client() as client:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}})
        await client.delete("v1/Namespace", "short")
        while True:
            try:
                await client.get("v1/Namespace", "short")
            except NotFound:
                return
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
async def test_another_server_takes_over(servers: list[ServerProcess], sign: signal.Signals) -> None:
    first, second = servers
    async with asyncio.timeout(SECONDS):
        await until_leading(first)
        assert not await second.leads()
        first.process.send_signal(sign)
        await until_leading(second)
        await delete_namespace(second)
        if sign == signal.SIGSTOP:
            first.process.send_signal(signal.SIGCONT)
            while await first.leads():
                await asyncio.sleep(0.1)
            await delete_namespace(first)
            assert await second.leads()
