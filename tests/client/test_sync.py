"""The client without `await`: the same methods, in scripts, notebooks and threads, and with Ctrl-C."""

import asyncio
import inspect
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.client.pod_server import Channel, pod_server
from tests.client.served import client_of, served

from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.sync import SyncClient
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


@pytest.fixture(name="client", scope="module")
def client_fixture() -> Iterator[SyncClient]:
    with served() as url, SyncClient(client_of(url)) as client:
        yield client


def test_it_has_every_method_of_the_client() -> None:
    known = {name for name, _ in inspect.getmembers(Client, callable) if not name.startswith("_")}
    assert known - set(dir(SyncClient)) == {"raw_list", "raw_watch", "socket", "stream"}


def test_objects_are_made_read_changed_and_deleted(client: SyncClient) -> None:
    client.create(config_map("a", k="1"))
    client.edit("v1/ConfigMap", "a", "default", lambda tree: tree["data"].update(k="2"))
    assert client.get("v1/ConfigMap", "a", "default")["data"] == {"k": "2"}
    assert "a" in [item["metadata"]["name"] for item in client.each("v1/ConfigMap", "default", limit=1)]
    client.with_options(namespace="default").delete("v1/ConfigMap", "a")
    with pytest.raises(NotFound):
        client.get("v1/ConfigMap", "a", "default")


def test_a_watch_is_iterated_over_and_left(client: SyncClient) -> None:
    with client.watch("v1/ConfigMap", "default", bookmarks=False) as events:
        client.create(config_map("b"))
        assert next(events).type == "ADDED"
        client.delete("v1/ConfigMap", "b", "default")
        assert next(events).type == "DELETED"
    assert not list(events)


def test_threads_share_it(client: SyncClient) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: client.create(config_map(f"t{number}")), range(20)))
    names = {item["metadata"]["name"] for item in client.list("v1/ConfigMap", "default").items}
    assert {f"t{number}" for number in range(20)} <= names


def test_it_works_where_a_loop_runs_already(client: SyncClient) -> None:
    async def notebook() -> Object:
        return client.get("v1/Namespace", "default")

    assert asyncio.run(notebook())["kind"] == "Namespace"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal: who is started in the background inherits that it means nothing."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_what_is_waited_for_and_the_client_goes_on(client: SyncClient) -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        client.wait_for("v1/ConfigMap", "never", "default", timeout=60)
    timer.join()
    assert client.get("v1/Namespace", "default")


def test_once_closed_it_says_so() -> None:
    client = SyncClient(Client(HttpTransport(endpoint("http://127.0.0.1:1"))))
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.get("v1/Namespace", "default")
    assert client._own_loop is not None
    assert not [thread for thread in threading.enumerate() if thread is client._own_loop._thread]


async def test_a_running_loop_does_not_keep_it_from_being_closed() -> None:
    with SyncClient(Client(HttpTransport(endpoint("http://127.0.0.1:1")))) as client:
        pass
    assert client._own_loop is not None
    assert client._own_loop._loop.is_closed()


def test_processes_are_talked_with_too() -> None:
    async def talk(channel: Channel) -> None:
        await channel.send(b"\x01" + (await channel.message())[1:])
        await channel.status(status="Success")

    async def main() -> None:
        async with pod_server(talk) as url:
            await asyncio.to_thread(use, url)

    def use(url: str) -> None:
        with (
            SyncClient(Client(HttpTransport(endpoint(url)))) as client,
            client.open_exec("web", "default", command=["cat"], stdin=True) as process,
        ):
            process.write(b"hello")
            assert [data for _, data in process] == [b"hello"]
            assert process.exit_code == 0

    asyncio.run(main())
