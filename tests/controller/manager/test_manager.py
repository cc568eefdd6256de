"""The manager: what it starts and ends, in which order, what it says of itself, and that only one leads."""

import asyncio
import os
import signal
import socket
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from tests.controller.manager.worlds import (
    CONFIG_MAP,
    Log,
    Timed,
    config_map,
    fetch,
    running,
    until,
)

from setpoint.client.client import Client
from setpoint.client.transport import Call
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.declare import controller
from setpoint.controller.leader import LeaderElection
from setpoint.controller.manager import Manager
from setpoint.controller.program import run_until_signal
from setpoint.controller.request import Request
from setpoint.plane import ControlPlane

ELECTION = LeaderElection("operator", "default")


async def test_it_runs_what_was_declared_until_it_is_told_to_stop(plane: ControlPlane, client: Client) -> None:
    seen: list[str] = []

    @controller(CONFIG_MAP, namespaces=["default"])
    async def maps(ctx: Context, request: Request) -> None:
        seen.append(request.name)

    stop = asyncio.Event()
    async with running(Manager(client, controllers=[maps]), stop) as task:
        await client.create(config_map("one"))
        await until(lambda: "one" in seen)
        stop.set()
        await task
    await client.create(config_map("two"))
    await asyncio.sleep(0.02)
    assert "two" not in seen


@pytest.mark.feature("E82")
async def test_a_reconcile_that_runs_may_finish_and_one_that_does_not_is_ended(world: Timed) -> None:
    ended: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        try:
            await ctx.clock.sleep(10 if request.name == "short" else 1000)
            ended.append(f"{request.name} finished")
        except asyncio.CancelledError:
            ended.append(f"{request.name} cancelled after {ctx.clock.monotonic():g}")
            raise

    await world.client.create(config_map("short"))
    await world.client.create(config_map("long"))
    slow = Controller("slow", reconcile, kind=CONFIG_MAP, namespaces=["default"], concurrency=3, timeout=None)
    stop = asyncio.Event()
    async with running(Manager(world.client, controllers=[slow]), stop) as task:
        await world.pass_time(1)
        stop.set()
        await world.pass_time(29)
        assert ended == ["short finished"]
        await world.pass_time(2)
        assert ended == ["short finished", "long cancelled after 31"]
        await task


@pytest.mark.feature("E80", "E81")
async def test_pages_come_first_and_go_last_and_leaders_start_when_the_others_have(
    plane: ControlPlane, client: Client
) -> None:
    log = Log()
    urls: list[str] = []

    def beside(name: str) -> Any:
        async def run() -> None:
            log.lines.append(f"{name} begins, pages {bool(manager.url_of('health'))}")
            try:
                await asyncio.Event().wait()
            finally:
                served = (await fetch(manager.url_of("health"), "/healthz")).status
                log.lines.append(f"{name} ends, pages {served}")

        return run

    manager = Manager(client, health="127.0.0.1:0", leader_election=ELECTION)
    manager.run_beside("led", beside("led"))
    manager.run_beside("everywhere", beside("everywhere"), everywhere=True)
    stop = asyncio.Event()
    async with running(manager, stop) as task:
        await until(lambda: len(log.lines) == 2)
        urls.append(manager.url_of("health"))
        stop.set()
        await task
    assert log.lines == [
        "everywhere begins, pages True",
        "led begins, pages True",
        "everywhere ends, pages 200",
        "led ends, pages 200",
    ]
    with pytest.raises(Exception, match="cannot connect"):
        await fetch(urls[0], "/healthz")


async def test_a_part_that_fails_ends_all_and_its_failure_is_raised(plane: ControlPlane, client: Client) -> None:
    async def fail() -> None:
        await asyncio.sleep(0.01)
        raise ValueError("broken")

    log = Log()
    manager = Manager(client, controllers=[log.controller("maps")])
    manager.run_beside("broken", fail)
    with pytest.raises(ValueError, match="broken"):
        await manager.run()


async def test_a_part_that_ends_well_ends_nothing_else(plane: ControlPlane, client: Client) -> None:
    log = Log()

    async def once() -> None:
        log.lines.append("once")

    manager = Manager(client, controllers=[log.controller("maps")])
    manager.run_beside("once", once)
    async with running(manager) as task:
        await until(lambda: "once" in log.lines)
        await client.create(config_map("one"))
        await until(lambda: "maps one" in log.lines)
        assert not task.done()


async def test_an_address_that_is_taken_ends_it_before_anything_reconciles(plane: ControlPlane, client: Client) -> None:
    log = Log()
    await client.create(config_map("one"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OSError, match="in use"):
            await Manager(client, controllers=[log.controller("maps")], metrics=address).run()
    assert log.lines == []


async def test_controllers_come_and_go_while_it_runs(plane: ControlPlane, client: Client) -> None:
    log = Log()
    await client.create(config_map("one"))
    manager = Manager(client, controllers=[log.controller("first")])
    async with running(manager):
        await until(lambda: "first one" in log.lines)
        second = manager.add(log.controller("second"))
        await until(lambda: "second one" in log.lines)
        await manager.remove(second)
        await client.create(config_map("two"))
        await until(lambda: "first two" in log.lines)
        await asyncio.sleep(0.01)
        assert "second two" not in log.lines
        with pytest.raises(ValueError, match="choose another name"):
            manager.add(log.controller("first"))


async def test_one_manager_works_on_several_clusters(plane: ControlPlane, client: Client) -> None:
    seen: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        found = await ctx.cluster("other").list(CONFIG_MAP, "default")
        seen.extend(item["metadata"]["name"] for item in found.items)

    async with ControlPlane(system=False) as elsewhere, elsewhere.client() as other:
        await other.create(config_map("far"))
        await client.create(config_map("near"))
        maps = Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"])
        async with running(Manager(client, controllers=[maps], clusters={"other": other})):
            await until(lambda: "far" in seen)


@pytest.mark.feature("E81")
async def test_two_managers_one_works_and_the_other_takes_over_when_it_ends(world: Timed) -> None:
    first, second = Log(), Log()
    stop = asyncio.Event()
    managers = [
        Manager(
            world.plane.client(),
            controllers=[log.controller("maps"), log.controller("both", leader_election=False)],
            leader_election=ELECTION._replace(identity=name),
        )
        for log, name in ((first, "a"), (second, "b"))
    ]
    await world.client.create(config_map("one"))
    async with running(managers[0], stop) as task:
        await world.settle()
        async with running(managers[1]):
            await world.pass_time(5)
            assert "maps one" in first.lines
            assert "maps one" not in second.lines
            assert "both one" in first.lines
            assert "both one" in second.lines
            stop.set()
            await world.settle()
            assert task.done()
            await world.client.create(config_map("two"))
            await world.pass_time(2 * 2.2)
            assert "maps two" in second.lines
            assert "maps two" not in first.lines
            assert managers[1].is_leader


@pytest.mark.parametrize("warm", [False, True])
async def test_a_manager_that_loses_the_lease_stands_by_and_works_again_later(world: Timed, warm: bool) -> None:
    log = Log()
    manager = Manager(world.plane.client(), controllers=[log.controller("maps")], leader_election=ELECTION, warm=warm)
    async with running(manager) as task:
        await world.pass_time(1)
        lease = await world.client.get("coordination.k8s.io/v1/Lease", "operator", "default")
        lease["spec"]["holderIdentity"] = "somebody"
        await world.client.update(lease)
        await world.pass_time(3)
        assert not manager.is_leader
        assert not task.done()
        await world.client.create(config_map("one"))
        await world.pass_time(5)
        assert log.lines == []
        [maps] = manager.controllers
        # Who stays warm has read it, and knows what there is to do.
        assert [len(maps.queue), maps.working] == [1 if warm else 0, False]
        await world.pass_time(15)
        assert manager.is_leader
        assert log.lines == ["maps one"]


async def test_it_stands_by_only_when_everything_that_ran_beside_its_controllers_has_ended(world: Timed) -> None:
    release = asyncio.Event()
    begun: list[float] = []

    async def stubborn() -> None:
        begun.append(world.clock.monotonic())
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()

    manager = Manager(world.plane.client(), leader_election=ELECTION)
    manager.run_beside("stubborn", stubborn)
    async with running(manager):
        await world.pass_time(1)
        lease = await world.client.get("coordination.k8s.io/v1/Lease", "operator", "default")
        lease["spec"]["holderIdentity"] = "somebody"
        await world.client.update(lease)
        await world.pass_time(60)
        # Nobody holds the lease any more, but something of the last term still runs.
        assert not manager.is_leader
        assert len(begun) == 1
        release.set()
        await world.pass_time(30)
        assert manager.is_leader
        assert len(begun) == 2


async def test_a_manager_runs_once(plane: ControlPlane, client: Client) -> None:
    stop = asyncio.Event()
    stop.set()
    manager = Manager(client)
    await manager.run(stop)
    with pytest.raises(RuntimeError, match="can run only once"):
        await manager.run(stop)


@pytest.mark.feature("E80")
async def test_readiness_says_what_keeps_a_controller_from_beginning(plane: ControlPlane, client: Client) -> None:
    log = Log()
    manager = Manager(client, controllers=[log.controller("maps")], health="127.0.0.1:0")
    async with running(manager):
        await until(lambda: manager.url_of("health") != "")
        await until(lambda: manager.controllers[0].working)
        url = manager.url_of("health")
        assert (await fetch(url, "/readyz")).status == 200
        manager.add(Controller("odd", _nothing, kind="example.com/v1/Nowhere"))
        await asyncio.sleep(0.05)
        answer = await fetch(url, "/readyz/caches")
        assert answer.status == 500
        assert b"odd" in answer.body
        assert b"Nowhere" in answer.body
        assert (await fetch(url, "/healthz")).status == 200
        listed = (await fetch(url, "/readyz?verbose")).body.decode()
        assert "[-]caches failed: reason withheld" in listed
        assert (await fetch(url, "/readyz?exclude=caches")).status == 200


async def _nothing(ctx: Context, request: Request) -> None:
    """Does nothing."""


@pytest.mark.feature("E80", "E81")
async def test_who_stands_by_is_ready_and_says_so_in_the_metrics(plane: ControlPlane, client: Client) -> None:
    leader = Manager(client, leader_election=ELECTION, metrics="127.0.0.1:0")
    other = Manager(client, leader_election=ELECTION, metrics="127.0.0.1:0", health="127.0.0.1:0")
    async with running(leader):
        await asyncio.wait_for(leader.elected(), 5)
        async with running(other):
            await until(lambda: other.elector is not None and other.elector.leader != "")
            assert (await fetch(other.url_of("health"), "/readyz/leader-election")).body == b"ok"
            for manager, led in ((leader, "1.0"), (other, "0.0")):
                page = (await fetch(manager.url_of("metrics"), "/metrics")).body.decode()
                assert f'leader_election_master_status{{name="operator"}} {led}\n' in page


async def test_checks_of_ones_own_count(plane: ControlPlane, client: Client) -> None:
    manager = Manager(client, health="127.0.0.1:0")

    async def broken() -> None:
        raise RuntimeError("the disk is full")

    manager.check_alive("disk", broken)
    manager.check_ready("quick", lambda: None)
    with pytest.raises(ValueError, match="already"):
        manager.check_ready("quick", lambda: None)
    async with running(manager):
        await until(lambda: manager.url_of("health") != "")
        url = manager.url_of("health")
        assert (await fetch(url, "/healthz")).status == 500
        assert (await fetch(url, "/healthz/disk")).body == b"internal server error: the disk is full\n"
        assert (await fetch(url, "/readyz/quick")).body == b"ok"
        assert (await fetch(url, "/readyz/nothing")).status == 404
        assert (await fetch(url, "/elsewhere")).status == 404


@pytest.mark.feature("E75")
async def test_metrics_and_reconciles_are_told_under_the_names_that_dashboards_know(
    plane: ControlPlane, client: Client
) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.recorder.normal(await ctx.object(), "Seen", "it was seen")
        if request.name == "bad":
            raise ValueError("no good")

    maps = Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"], concurrency=2)
    manager = Manager(client, controllers=[maps], metrics="127.0.0.1:0")
    async with running(manager):
        await client.create(config_map("good"))
        await client.create(config_map("bad"))
        await until(lambda: maps.queue.retries(Request("bad", "default")) >= 2)
        await until(lambda: manager.events.written >= 2)
        url = manager.url_of("metrics")
        lines = (await fetch(url, "/metrics")).body.decode().splitlines()
        values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}
        assert values['controller_runtime_reconcile_total{controller="maps",result="success"}'] >= 1
        assert values['controller_runtime_reconcile_errors_total{controller="maps"}'] >= 2
        assert values['controller_runtime_max_concurrent_reconciles{controller="maps"}'] == 2
        assert values['controller_runtime_active_workers{controller="maps"}'] == 0
        assert values['controller_runtime_reconcile_time_seconds_bucket{controller="maps",le="60"}'] >= 3
        assert values['workqueue_adds_total{controller="maps",name="maps"}'] >= 3
        assert values['workqueue_retries_total{controller="maps",name="maps"}'] >= 2
        assert values['workqueue_depth{controller="maps",name="maps",priority="0"}'] == 0
        assert values['setpoint_events_total{result="written"}'] >= 2
        assert "process_resident_memory_bytes" in values
        assert any(name.startswith('rest_client_requests_total{code="200",method="GET"') for name in values)
        shown = msgspec.json.decode((await fetch(url, "/debug/reconciles")).body)
        latest = shown["controllers"]["maps"]["runs"][0]
        assert (latest["kind"], latest["object"]) == ("ConfigMap", "default/bad")
        assert latest["error"] == "ValueError: no good"
        assert latest["because"]


async def test_secure_metrics_are_for_those_whom_the_server_lets(plane: ControlPlane, client: Client) -> None:
    for name in ("reader", "nobody"):
        await client.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}}
        )
    rbac = "rbac.authorization.k8s.io"
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    metadata = {"name": "metrics-reader"}
    await client.create({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
    await client.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "metrics-reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
        }
    )
    tokens = {name: await _token(client, name) for name in ("reader", "nobody")}
    manager = Manager(client, metrics="127.0.0.1:0", secure_metrics=True)
    async with running(manager):
        await until(lambda: manager.url_of("metrics") != "")
        url = manager.url_of("metrics")
        assert url.startswith("https:")
        assert (await fetch(url, "/metrics")).status == 401
        assert (await fetch(url, "/metrics", "nonsense")).status == 401
        assert (await fetch(url, "/metrics", tokens["nobody"])).status == 403
        assert (await fetch(url, "/metrics", tokens["reader"])).status == 200
        assert (await fetch(url, "/debug/reconciles", tokens["reader"])).status == 403


async def _token(client: Client, account: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
    headers = {"content-type": "application/json"}
    answer = await client.send(Call("POST", path, (), headers, msgspec.json.encode(request)))
    token: str = msgspec.json.decode(answer.body)["status"]["token"]
    return token


@pytest.mark.feature("E82")
async def test_a_signal_ends_it_cleanly(plane: ControlPlane, client: Client) -> None:
    log = Log()
    manager = Manager(client, controllers=[log.controller("maps")], leader_election=ELECTION)
    task = asyncio.ensure_future(run_until_signal(manager))
    await asyncio.wait_for(manager.elected(), 5)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(task, 5)
    lease = await client.get("coordination.k8s.io/v1/Lease", "operator", "default")
    assert not lease["spec"].get("holderIdentity")


async def test_what_cannot_work_is_said_at_once(plane: ControlPlane, client: Client) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        Manager(client, metrics="nowhere")
    with pytest.raises(ValueError, match="greater than renew_seconds"):
        Manager(client, leader_election=LeaderElection("x", lease_seconds=5))
    with pytest.raises(TypeError, match="decorate it"):
        Manager(client, controllers=["text"])
