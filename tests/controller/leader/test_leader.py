"""Leader election: client-go's timings and rules, stepping down without leaving, and the fence."""

import asyncio
import logging

import pytest
from tests.controller.leader.worlds import ELECTION, World, runs

from setpoint.client.options import Impersonation
from setpoint.controller.fence import NotLeading
from setpoint.controller.leader import LEASE, Elector, LeaderElection


@pytest.mark.feature("E81")
async def test_the_first_that_asks_leads_and_says_so_in_the_lease(world: World) -> None:
    replica = world.replica("a", ELECTION._replace(labels={"app": "operator"}))
    await world.settle()
    assert world.leaders == ["a"]
    assert await world.lease() == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    assert (await world.client.get(LEASE, "operator", "default"))["metadata"]["labels"] == {"app": "operator"}
    assert replica.running == 1


async def test_a_leader_renews_every_two_seconds_with_one_request(world: World) -> None:
    replica = world.replica("a")
    await world.settle()
    replica.way.requests.clear()
    await world.pass_time(20.5)
    lease = await world.lease()
    assert lease["renewTime"] == "2026-01-01T00:00:20.000000Z"
    assert lease["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert lease["leaseTransitions"] == 0
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/operator"
    assert replica.way.requests == [f"PUT {path}"] * 10
    assert replica.elector.slow_paths == 0


async def test_the_lease_of_a_dead_leader_runs_out_for_others_when_they_have_seen_it_unchanged_for_so_long(
    world: World,
) -> None:
    leader = world.replica("a")
    await world.settle()
    waiting = world.replica("b")
    await world.pass_time(5)
    leader.way.is_cut = True  # it can say nothing any more, and the work of it is cut as well
    await world.pass_time(15)
    # b saw the lease change at some moment after the renewal at 4 s, which was the last.
    assert not waiting.elector.is_leader or world.clock.monotonic() - 4 >= 15
    await world.pass_time(2 + 2 * 2.2)
    assert world.leaders == ["b"]
    assert (await world.lease())["leaseTransitions"] == 1


async def test_what_the_lease_says_of_the_time_counts_for_nothing(world: World) -> None:
    spec = {
        "holderIdentity": "elsewhere",
        "leaseDurationSeconds": 15,
        "renewTime": "1999-01-01T00:00:00.000000Z",
        "acquireTime": "1999-01-01T00:00:00.000000Z",
        "leaseTransitions": 4,
    }
    metadata = {"name": "operator", "namespace": "default"}
    await world.client.create(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    )
    replica = world.replica("a")
    await world.pass_time(14.9)
    assert not replica.elector.is_leader
    assert replica.elector.leader == "elsewhere"
    await world.pass_time(4.6)
    assert replica.elector.is_leader
    assert (await world.lease())["leaseTransitions"] == 5


async def test_a_leader_that_cannot_renew_stops_its_work_and_stands_by_and_may_lead_again(world: World) -> None:
    replica = world.replica("a")
    await world.settle()
    replica.way.is_cut = True
    await world.pass_time(11.9)
    assert replica.elector.is_leader  # the round began 2 s after the last renewal, and lasts 10 s
    await world.pass_time(0.2)
    assert not replica.elector.is_leader
    assert replica.running == 0
    assert not replica.task.done()
    replica.way.is_cut = False
    await world.pass_time(4.5)
    assert replica.elector.is_leader
    assert replica.running == 1
    assert replica.changes == [True, False, True]


async def test_a_leader_steps_down_at_once_when_the_lease_is_somebody_elses(world: World) -> None:
    replica = world.replica("a")
    await world.settle()
    lease = await world.client.get(LEASE, "operator", "default")
    lease["spec"]["holderIdentity"] = "b"
    await world.client.update(lease)
    await world.pass_time(2)
    assert not replica.elector.is_leader
    assert replica.elector.slow_paths == 1
    assert replica.running == 0


async def test_it_stands_by_again_only_when_all_work_of_its_term_has_ended(world: World) -> None:
    replica = world.replica("a")
    await world.settle()
    replica.stubborn = True  # its work does not heed that it is cancelled
    replica.way.is_cut = True
    await world.pass_time(13)
    assert not replica.elector.is_leader
    assert replica.running == 1
    acted = len(await world.actors())
    replica.way.is_cut = False
    await world.pass_time(20)
    assert not replica.elector.is_leader
    assert len(await world.actors()) == acted
    assert replica.refused > 10
    with pytest.raises(RuntimeError, match="its work has not stopped"):
        replica.elector.check()
    replica.finish.set()
    await world.pass_time(5)
    assert replica.running == 0


@pytest.mark.feature("E81", "E82")
async def test_one_that_ends_gives_the_lease_back_and_the_next_takes_it_at_once(world: World) -> None:
    first = world.replica("a")
    await world.settle()
    world.replica("b")
    await world.pass_time(10)
    first.finish.set()
    await world.pass_time(0.5)
    assert first.task.done()
    lease = await world.lease()
    assert (lease["holderIdentity"] or "", lease["leaseDurationSeconds"]) == ("", 1)
    await world.pass_time(2 * 2.2)
    assert world.leaders == ["b"]


async def test_work_that_fails_ends_the_election_with_its_failure(world: World) -> None:
    elector = Elector(world.client, ELECTION._replace(identity="a"))

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await elector.run(fail)
    assert not elector.is_leader
    assert not (await world.lease()).get("holderIdentity")


@pytest.mark.feature("E81")
async def test_of_three_never_two_act_however_often_each_is_cut_off(world: World) -> None:
    replicas = [world.replica(name) for name in "abc"]
    for turn in range(12):
        for index, replica in enumerate(replicas):
            replica.way.is_cut = index == turn % 3
        for _ in range(25):
            await world.pass_time(1)
            assert len(world.leaders) <= 1
    actors = await world.actors()
    assert set(actors) == {"a", "b", "c"}
    # Each hand-over is one transition of the lease, and so who acts changes as often as that at most.
    assert len(runs(actors)) - 1 <= (await world.lease())["leaseTransitions"]


async def test_the_fence_lets_nothing_through_that_a_paused_leader_still_had_in_hand(world: World) -> None:
    replica = world.replica("a")
    await world.pass_time(1)
    before = len(await world.actors())
    # The process stood still: time has passed, and its work wakes before it was told that it leads no more.
    world.clock.advance(60)
    assert replica.elector.is_leader
    with pytest.raises(NotLeading):
        replica.elector.fence.check()
    await replica.act()
    assert replica.refused == 1
    assert len(await world.actors()) == before


async def test_a_deleted_lease_is_made_anew_by_who_leads(world: World) -> None:
    replica = world.replica("a")
    await world.settle()
    await world.client.delete(LEASE, "operator", "default")
    await world.pass_time(2)
    assert replica.elector.is_leader
    assert (await world.lease())["holderIdentity"] == "a"


@pytest.mark.feature("E81", "G33")
async def test_an_identity_is_the_host_and_something_unique(world: World) -> None:
    one, other = (Elector(world.client, ELECTION).identity for _ in range(2))
    assert one != other
    assert one.partition("_")[0] == other.partition("_")[0] != ""


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (LeaderElection("a", lease_seconds=10, renew_seconds=10), "must be greater than renew_seconds"),
        (LeaderElection("a", renew_seconds=2.4), r"must be greater than retry_seconds \* 1.2"),
        (LeaderElection("a", lease_seconds=0), "whole number of seconds"),
        (LeaderElection("a", retry_seconds=0), "retry_seconds must be greater"),
        (LeaderElection(""), "needs the name"),
    ],
)
def test_what_cannot_work_is_refused(config: LeaderElection, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        config.check()


async def test_being_cancelled_while_leading_ends_the_work_first_and_gives_the_lease_back(world: World) -> None:
    replica = world.replica("a")
    await world.settle()
    replica.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await replica.task
    assert replica.running == 0
    assert not (await world.lease()).get("holderIdentity")


async def test_a_missing_right_is_an_error_that_names_the_right_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    client = world.client.with_options(impersonate=Impersonation("jane"))
    elector = Elector(client, LeaderElection("operator", "default"))
    running = asyncio.ensure_future(elector.run(asyncio.Event().wait))  # type: ignore[arg-type]
    await world.pass_time(30)
    running.cancel()
    [error] = [each for each in caplog.records if each.levelno == logging.ERROR]
    text = error.getMessage()
    assert 'User "jane" cannot get resource "leases"' in text
    assert "Grant the verbs get, create and update on leases (coordination.k8s.io) in the namespace default" in text


async def test_the_lease_is_in_the_namespace_of_the_pod(world: World) -> None:
    client = world.client.with_options()
    client.namespace = "system"
    assert Elector(client, LeaderElection("operator")).namespace == "system"
    assert Elector(client, LeaderElection("operator", "other")).namespace == "other"
    assert Elector(world.client, LeaderElection("operator")).namespace == "default"
