"""Containers and networks that outlive a control plane, or do not: modes, leases, what dead sessions have left."""

import asyncio
import os
from pathlib import Path

from tests.workload.app import GROUP, condition_of
from tests.workload.controllers.ship import IMAGE, asked, made, only, running, scripted, ship
from tests.workload.engine.scripted.engine import ScriptedEngine

from setpoint.objects.clock import SystemClock
from setpoint.objects.tree import Object
from setpoint.workload.engine import labels
from setpoint.workload.engine.body import create_body
from setpoint.workload.engine_lookup import NAMESPACE

KEPT = {"containerName": "kept", "persistent": True}


async def test_a_control_plane_that_ends_stops_what_is_its_own_and_leaves_what_is_persistent(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerNetwork", "net", {})
        await world.make("ContainerNetwork", "stays", {"networkName": "stays", "persistent": True})
        await running(world, "session", networks=[{"name": "net"}])
        await running(world, "kept", **KEPT)
    assert [each.name for each in engine.containers.values()] == ["kept"]
    assert [each.name for each in engine.networks.values()] == ["stays"]
    assert asked(engine, "containers.stop") == ["containers.stop"], "it was asked to end before it was removed"
    assert only(engine).is_running


async def test_a_persistent_container_is_taken_over_started_again_or_made_anew(tmp_path: Path) -> None:
    engine = scripted()
    found = []
    changes: list[Object] = [{}, {}, {"args": ["other"]}]
    for change in changes:
        async with ship(tmp_path, engine) as world:
            found.append((await running(world, "kept", **KEPT, **change))["containerId"])
            said = await world.log("kept", "containers", source="system")
            await world.delete("Container", "kept")
        assert only(engine).is_running, "the object goes, the container stays"
        engine.exit("kept")
    assert found[0] == found[1] != found[2]
    assert "is recreated: args changed" in said
    async with ship(tmp_path, engine) as world:
        await world.make("Container", "kept", {"containerName": "kept", "mode": "cleanup"})
        await world.state("Container", "kept", "Exited")
        await world.delete("Container", "kept")
    assert not engine.containers


async def test_a_persistent_container_stops_with_the_process_that_it_is_bound_to(tmp_path: Path) -> None:
    engine = scripted()
    process = await asyncio.create_subprocess_exec("sleep", "600")
    began = SystemClock().now()
    async with ship(tmp_path, engine) as world:
        bound = {"monitorPid": process.pid, "monitorTimestamp": f"{began:%Y-%m-%dT%H:%M:%S.%fZ}"}
        await running(world, "kept", **KEPT, **bound)
        process.kill()
        await process.wait()
        found = await world.state("Container", "kept", "Exited")
        assert condition_of(found, "Started")["reason"] == "MonitoredProcessEnded"
        assert not only(engine).is_running
        # Whoever has that pid now is not the process that was meant.
        other = {**bound, "monitorPid": os.getpid(), "monitorTimestamp": "2001-01-01T00:00:00.000000Z"}
        await made(world, "late", containerName="late", persistent=True, **other)
        await world.state("Container", "late", "Exited")


async def test_one_control_plane_at_a_time_takes_care_of_a_persistent_container(tmp_path: Path) -> None:
    engine, records = scripted(), tmp_path / "records.sqlite3"
    async with ship(tmp_path / "a", engine, records=records) as first:
        await running(first, "kept", **KEPT)
        async with ship(tmp_path / "b", engine, records=records) as second:
            await made(second, "kept", **KEPT)
            found = await second.ready("Container", "kept", "False", "HeldElsewhere")
            assert "manages this container" in condition_of(found, "Ready")["message"]
            await first.delete("Container", "kept")
            await second.ready("Container", "kept")


async def test_an_existing_container_is_waited_for_used_and_left(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("Container", "theirs", {"containerName": "theirs", "mode": "existing"})
        found = await world.state("Container", "theirs", "NotFound")
        assert "container theirs does not exist" in condition_of(found, "Ready")["message"]
        request = create_body({"image": IMAGE})
        await engine.engine.containers.create("theirs", request.body)
        await engine.engine.containers.start("theirs")
        await world.ready("Container", "theirs")
        await world.delete("Container", "theirs")
    assert only(engine).is_running


async def test_a_name_that_is_taken_is_not_taken_away(tmp_path: Path) -> None:
    engine = scripted()
    await engine.engine.containers.create("theirs", create_body({"image": IMAGE}).body)
    async with ship(tmp_path, engine) as world:
        await made(world, containerName="theirs")
        found = await world.state("Container", "web", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "NameTaken"
        await world.delete("Container", "web")
    assert only(engine).name == "theirs"


async def test_what_dead_sessions_have_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path / "living", engine) as living:
        mine = living.workloads.machine.engines.made_by_us(persistent=False)
        await left(engine, "living", mine)
        boot = mine[labels.CREATOR_PROCESS_START_TIME].partition(":")[2]
        dead = {**mine, labels.CREATOR_PROCESS_START_TIME: f"1:{boot}"}
        await left(engine, "dead", dead)
        await left(engine, "rebooted", {**mine, labels.CREATOR_PROCESS_START_TIME: "1:another-boot"})
        await left(engine, "persistent", {**dead, labels.PERSISTENT: "true"})
        await left(engine, "elsewhere", {**dead, NAMESPACE: "1"})
        await left(engine, "somebody", {})
        async with ship(tmp_path / "new", engine) as world:
            await running(world)
            names = {each.name for each in engine.containers.values() if not each.name.startswith("web-")}
        kept = {"living", "persistent", "elsewhere", "somebody"}
        assert names == kept
        assert {each.name for each in engine.networks.values()} == kept


async def left(engine: ScriptedEngine, name: str, said: dict[str, str]) -> None:
    """A container and a network that somebody made."""
    await engine.engine.containers.create(name, create_body({"image": IMAGE}, labels=said).body)
    await engine.engine.networks.create(name, labels=said)


async def test_a_killed_session_is_told_by_its_labels_to_the_guardian(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await running(world)
        engines = world.workloads.machine.engines
        session = engines.made_by_us(persistent=False)[labels.SESSION]
        assert only(engine).labels[labels.SESSION] == session == world.workloads.machine.processes.session
        assert labels.SESSION not in engines.made_by_us(persistent=True)


async def test_a_network_without_room_says_what_to_do_and_is_made_when_there_is(tmp_path: Path) -> None:
    engine = scripted()
    engine.max_networks = 0
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerNetwork", "net", {})
        found = await world.ready("ContainerNetwork", "net", "False", "SubnetsExhausted")
        assert "network prune" in condition_of(found, "Ready")["message"]
        assert found["status"]["state"] == "Pending"
        engine.max_networks = 30
        # Whatever happens to networks is a reason to look again.
        engine.cut_events()
        status = (await world.ready("ContainerNetwork", "net"))["status"]
        assert (status["subnets"], status["gateways"]) == (["10.90.0.0/24"], ["10.90.0.1"])


async def test_only_what_was_connected_for_an_object_is_disconnected(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerNetwork", "net", {"networkName": "theirs", "mode": "existing"})
        await world.state("ContainerNetwork", "net", "NotFound")
        await engine.engine.networks.create("theirs")
        await world.ready("ContainerNetwork", "net")
        for name in ("ours", "others"):
            await engine.engine.containers.create(name, create_body({"image": IMAGE}).body)
        ours, others = (engine.find(name) for name in ("ours", "others"))
        assert ours is not None
        assert others is not None
        await engine.engine.networks.connect("theirs", "others")
        spec = {"containerNetworkName": "net", "containerID": ours.id, "aliases": ["a"]}
        await world.make("ContainerNetworkConnection", "c", spec)
        await world.until("ContainerNetwork", "net", lambda tree: ours.id in ids_of(tree))
        assert ours.networks["theirs"] == ["a"]
        await world.delete("ContainerNetworkConnection", "c")
        found = await world.until("ContainerNetwork", "net", lambda tree: ours.id not in ids_of(tree))
        assert found["status"]["containerIds"] == [others.id]
        await world.delete("ContainerNetwork", "net")
        assert "theirs" in {each.name for each in engine.networks.values()}


def ids_of(network: Object) -> list[str]:
    """The containers in a network, as its object says."""
    return network["status"].get("containerIds") or []


async def test_a_network_that_somebody_removes_is_made_again(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerNetwork", "net", {})
        first = (await world.ready("ContainerNetwork", "net"))["status"]["id"]
        await engine.engine.networks.remove(first)
        await world.until("ContainerNetwork", "net", lambda tree: tree["status"].get("id") not in ("", None, first))
        await world.delete("ContainerNetwork", "net")
        assert not engine.networks


async def test_a_volume_is_made_as_it_should_be_and_stays_unless_it_is_not_to(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerVolume", "stays", {"name": "stays", "driver": "nfs", "options": {"o": "ro"}})
        await world.make("ContainerVolume", "goes", {"name": "goes", "persistent": False})
        for name in ("stays", "goes"):
            await world.ready("ContainerVolume", name)
        assert engine.volumes["stays"].body["Driver"] == "nfs"
        assert engine.volumes["stays"].body["DriverOpts"] == {"o": "ro"}
        engine.fail("volumes.remove", 409, "volume is in use - [abc]", times=1)
        await world.client.delete(f"{GROUP}/ContainerVolume", "goes")
        await world.ready("ContainerVolume", "goes", "False", "InUse")
        await world.until("ContainerVolume", "goes", lambda tree: tree is None)
        await world.delete("ContainerVolume", "stays")
        assert list(engine.volumes) == ["stays"]


async def test_a_volume_that_was_only_found_is_left_to_whoever_made_it(tmp_path: Path) -> None:
    engine = scripted()
    await engine.engine.volumes.create("mine", driver="local", options={}, labels={})
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerVolume", "found", {"name": "mine", "persistent": False})
        await world.ready("ContainerVolume", "found")
        await world.delete("ContainerVolume", "found")
        assert list(engine.volumes) == ["mine"]
