"""A leader whose event loop is blocked keeps its lease up to the renew deadline, and loses it afterwards."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import pytest
from tests.client.served import client_of, served, token
from tests.controller.leader.worlds import START

from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.sync import SyncClient
from setpoint.client.transport import Answer, Call
from setpoint.controller.leader import LEASE, Elector, LeaderElection
from setpoint.controller.lease_renewal import client_for_thread
from setpoint.controller.tracing import find_tracer, traced
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

ELECTION = LeaderElection("operator", "default", identity="a")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Provides a server in a thread of its own."""
    with served() as url:
        yield url


class Observer:
    """Looks at the lease from a blocked loop."""

    def __init__(self, client: SyncClient, name: str) -> None:
        self._client, self._name = client, name
        self.renewals: dict[str, None] = {}

    def until(self, holds: Callable[[Object], bool]) -> None:
        """Blocks the calling thread until the lease is as wanted. Counts the renewals by `a` on the way."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            spec = self._client.get(LEASE, self._name, "default")["spec"]
            if spec.get("holderIdentity") == "a":
                self.renewals[spec["renewTime"]] = None
            if holds(spec):
                return
            time.sleep(0.005)
        raise AssertionError(f"the lease is {spec}")


@asynccontextmanager
async def leading(url: str, config: LeaderElection, block: Callable[[Elector], None]) -> AsyncIterator["Leader"]:
    """A replica that blocks its event loop as soon as it leads."""
    async with client_of(url) as client:
        leader = Leader(client, config, block)
        leader.task = asyncio.ensure_future(leader.elector.run(leader.work))
        try:
            async with asyncio.timeout(PATIENCE):
                await leader.unblocked.wait()
                yield leader
        finally:
            leader.task.cancel()
            await asyncio.gather(leader.task, return_exceptions=True)


class Leader:
    """A replica, and the ends of its terms."""

    task: "asyncio.Future[None]"

    def __init__(self, client: Client, config: LeaderElection, block: Callable[[Elector], None]) -> None:
        self.changes: list[bool] = []
        self.unblocked, self.ended = asyncio.Event(), asyncio.Event()
        self.elector = Elector(client, config, on_change=self.changes.append)
        self._block = block

    async def work(self) -> None:
        try:
            if not self.unblocked.is_set():
                self._block(self.elector)
                self.unblocked.set()
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_a_call_that_blocks_for_less_than_the_deadline_does_not_end_the_term(url: str) -> None:
    config = ELECTION._replace(name="short", lease_seconds=120, renew_seconds=60, retry_seconds=0.05)
    with SyncClient(client_of(url)) as client:
        observer = Observer(client, "short")
        async with leading(url, config, lambda _: observer.until(lambda _: len(observer.renewals) == 5)) as leader:
            assert leader.elector.is_leader
            leader.elector.fence.check()
            # The renewals go on.
            await asyncio.to_thread(observer.until, lambda _: len(observer.renewals) == 10)
        assert leader.changes == [True, False]
        assert not client.get(LEASE, "short", "default")["spec"].get("holderIdentity")


async def test_a_leader_whose_loop_hangs_loses_the_lease_to_another(url: str) -> None:
    config = ELECTION._replace(name="long", lease_seconds=1, renew_seconds=0.5, retry_seconds=0.1)
    fences = []
    with SyncClient(client_of(url)) as client:
        observer = Observer(client, "long")

        def block(elector: Elector) -> None:
            with candidate(url, config._replace(identity="b")):
                observer.until(lambda spec: spec.get("holderIdentity") == "b")
            # The loop has not turned yet, and writes are refused already.
            assert elector.is_leader
            fences.append(elector.fence.seconds)

        async with leading(url, config, block) as leader:
            await leader.ended.wait()
            assert fences == [0.0]
            assert leader.changes[:2] == [True, False]
    # One at the beginning, and one for each retry until the deadline.
    assert len(observer.renewals) <= 2 + config.renew_seconds / config.retry_seconds


@contextmanager
def candidate(url: str, config: LeaderElection) -> Iterator[None]:
    """Another replica, in another thread."""

    async def stand() -> None:
        async with client_of(url) as client:
            stopped = asyncio.Event()
            stops.append((asyncio.get_running_loop(), stopped))
            running = asyncio.ensure_future(Elector(client, config).run(asyncio.Event().wait))  # type: ignore[arg-type]
            await stopped.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    thread = threading.Thread(target=asyncio.run, args=[stand()])
    thread.start()
    try:
        yield
    finally:
        loop, stopped = stops[0]
        loop.call_soon_threadsafe(stopped.set)
        thread.join()


async def test_simulations_and_servers_in_the_same_process_renew_in_the_loop(url: str) -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        assert await client_for_thread(client) is None
    manual = Client(HttpTransport(endpoint(url), credentials=token), clock=ManualClock(START))
    assert await client_for_thread(manual) is None
    async with client_of(url) as client:
        found = await client_for_thread(traced(client, find_tracer()))
        assert found is not None
        assert isinstance(found.transport, HttpTransport)
        assert found.transport is not client.transport


async def test_credentials_of_another_loop_come_from_the_first_and_are_renewed_when_rejected(url: str) -> None:
    asked = []

    async def rotated(refused: Mapping[str, str] | None) -> Mapping[str, str]:
        asked.append((threading.get_ident(), refused))
        return await token(None) if refused is not None else {"authorization": "Bearer old"}

    other = await HttpTransport(endpoint(url), credentials=rotated).for_other_loop()

    async def send() -> Answer:
        try:
            return await other.send(Call("GET", "/api/v1/namespaces"))
        finally:
            await other.close()

    answer = await asyncio.to_thread(asyncio.run, send())
    assert answer.status == 200
    assert {thread for thread, _ in asked} == {threading.get_ident()}
    assert {"authorization": "Bearer old"} in [refused for _, refused in asked]
