"""The shutdown ends in time, in whatever order the stop, the loss of the lease and hung work come."""

import asyncio
from contextlib import AbstractAsyncContextManager, suppress

import pytest
from tests.controller.manager.worlds import CONFIG_MAP, Timed, config_map, running

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.daemon import DaemonContext, daemon
from setpoint.controller.leader import LEASE, Elector, LeaderElection
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.controller.shutdown import SHUTDOWN_SECONDS, ShutdownTimeout

GRACEFUL = 20.0
ELECTION = LeaderElection("operator", "default", identity="a")


class Line(Transport):
    """The connection of a manager: it can refuse requests, or never answer them."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.state = ""

    async def send(self, call: Call) -> Answer:
        if self.state == "refuses":
            raise TransportError("the network is down", sent=False)
        if self.state == "is silent":
            await asyncio.Event().wait()
        return await self.transport.send(call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self.transport.stream(call)

    async def close(self) -> None:
        await self.transport.close()


class Job:
    """One reconcile of a leader: short, long, or stubborn, which ignores its cancellation."""

    def __init__(self, world: Timed, kind: str) -> None:
        self.world, self.kind = world, kind
        self.begun: list[float] = []
        self.ended: list[float] = []
        self.release = asyncio.Event()
        self.line = Line(world.plane.client().transport)
        self.manager = Manager(
            Client(self.line, clock=world.clock),
            controllers=[Controller("jobs", self.reconcile, kind=CONFIG_MAP, namespaces=["default"])],
            leader_election=ELECTION,
            graceful=GRACEFUL,
            preflight=False,
        )

    async def reconcile(self, ctx: Context, request: Request) -> None:
        if request.name != "job":
            return
        self.begun.append(self.world.clock.monotonic())
        try:
            if self.kind == "stubborn":
                while not self.release.is_set():
                    with suppress(asyncio.CancelledError):
                        await self.release.wait()
            else:
                await ctx.clock.sleep(5 if self.kind == "short" else 1000)
        finally:
            self.ended.append(self.world.clock.monotonic())

    async def lose(self, how: str) -> None:
        """Begins the loss of the lease."""
        if how == "is taken":
            lease = await self.world.client.get(LEASE, ELECTION.name, "default")
            lease["spec"]["holderIdentity"] = "b"
            await self.world.client.update(lease)
        else:
            self.line.state = how


async def until_done(world: Timed, task: "asyncio.Future[None]") -> None:
    """Passes time until a task ends."""
    began = world.clock.monotonic()
    while not task.done():
        assert world.clock.monotonic() < began + GRACEFUL + SHUTDOWN_SECONDS + 1
        await world.pass_time(0.5)


@pytest.mark.parametrize("kind", ["short", "long", "stubborn"])
@pytest.mark.parametrize(
    ("how", "seconds"),
    [
        ("", 0),
        *((how, seconds) for how in ("refuses", "is silent", "is taken") for seconds in (-16, -3, -0.5, 0.5, 3)),
    ],
)
async def test_the_shutdown_ends_in_time(world: Timed, kind: str, how: str, seconds: float) -> None:
    """The lease is lost some seconds before (negative) or after the stop."""
    job = Job(world, kind)
    stop = asyncio.Event()
    await world.client.create(config_map("job"))
    async with running(job.manager, stop) as task:
        await world.pass_time(1)
        assert len(job.begun) == 1
        if how and seconds < 0:
            await job.lose(how)
            await world.pass_time(-seconds)
        begun = len(job.begun)
        stop.set()
        stopped = world.clock.monotonic()
        if how and seconds > 0:
            await world.pass_time(seconds)
            await job.lose(how)
        await until_done(world, task)
        took = world.clock.monotonic() - stopped
        assert len(job.begun) == begun  # no new term
        assert not job.manager.is_leader
        if kind == "stubborn":
            assert GRACEFUL + 5 <= took <= GRACEFUL + SHUTDOWN_SECONDS
            with pytest.raises(ShutdownTimeout, match=r"still running: jobs at .*reconcile \(test_shutdown.py:\d+\)"):
                await task
            job.release.set()
            await world.settle()
        else:
            await task
            assert took <= GRACEFUL + SHUTDOWN_SECONDS
            assert len(job.ended) == begun
            if kind == "long" and how:
                # The reconcile was cancelled when the lease was lost, not at the end of the grace period.
                assert job.ended[-1] - (stopped + seconds) <= ELECTION.renew_seconds + 2 * ELECTION.retry_seconds


async def test_a_shutdown_without_a_limit_waits_for_the_end(world: Timed) -> None:
    job = Job(world, "stubborn")
    job.manager.graceful = None
    stop = asyncio.Event()
    await world.client.create(config_map("job"))
    async with running(job.manager, stop) as task:
        await world.pass_time(1)
        stop.set()
        await world.pass_time(1000)
        assert not task.done()
        job.release.set()
        await world.settle()
        await task


async def test_the_lease_of_given_up_work_is_left_to_expire(world: Timed) -> None:
    job = Job(world, "stubborn")
    stop = asyncio.Event()
    await world.client.create(config_map("job"))
    async with running(job.manager, stop) as task:
        await world.pass_time(1)
        stop.set()
        await until_done(world, task)
        spec = (await world.client.get(LEASE, ELECTION.name, "default"))["spec"]
        assert spec["holderIdentity"] == "a"
        assert job.manager.elector is not None
        assert job.manager.elector.fence.seconds == 0  # the work cannot write any more
        job.release.set()
        await world.settle()
        with pytest.raises(ShutdownTimeout):
            await task


async def test_a_second_cancellation_ends_the_wait(world: Timed) -> None:
    job = Job(world, "long")
    stop = asyncio.Event()
    await world.client.create(config_map("job"))
    async with running(job.manager, stop) as task:
        await world.pass_time(1)
        stop.set()
        await world.settle()
        task.cancel()
        await world.settle()
        assert task.cancelled()
        assert len(job.ended) == 1


async def test_daemons_end_when_the_lease_is_lost_during_the_shutdown(world: Timed) -> None:
    ended: list[float] = []

    @daemon(CONFIG_MAP, namespaces=["default"], grace=GRACEFUL)
    async def patrol(ctx: DaemonContext, request: Request) -> None:
        try:
            await ctx.clock.sleep(1000)
        finally:
            ended.append(world.clock.monotonic())

    line = Line(world.plane.client().transport)
    client = Client(line, clock=world.clock)
    manager = Manager(client, controllers=[patrol], leader_election=ELECTION, graceful=GRACEFUL, preflight=False)
    stop = asyncio.Event()
    await world.client.create(config_map("job"))
    async with running(manager, stop) as task:
        await world.pass_time(1)
        stop.set()
        stopped = world.clock.monotonic()
        line.state = "refuses"
        await until_done(world, task)
        await task
    assert ended
    assert max(ended) - stopped <= 13


async def test_no_term_begins_if_the_stop_comes_while_the_lease_is_acquired(world: Timed) -> None:
    stop, led = asyncio.Event(), []

    class Stopping(Line):
        async def send(self, call: Call) -> Answer:
            answer = await super().send(call)
            if call.method == "POST":
                stop.set()
            return answer

    async def lead() -> None:
        led.append(1)

    client = Client(Stopping(world.plane.client().transport), clock=world.clock)
    await Elector(client, ELECTION).run(lead, stop)
    assert not led
    spec = (await world.client.get(LEASE, ELECTION.name, "default"))["spec"]
    assert not spec.get("holderIdentity")
