"""What a workload left in a container engine goes with `cleanup`, networks after the containers in them."""

from pathlib import Path
from typing import Any

from tests.workload.app import app
from tests.workload.controllers.ship import running, scripted, ship

from setpoint.workload.cleanup import CleanUp
from setpoint.workload.engine.choice import Unavailable


async def _left(directory: Path, engine: Any) -> None:
    """A control plane leaves a persistent container in a persistent network."""
    async with ship(directory, engine, workload_id="mine") as world:
        await world.make("ContainerNetwork", "net", {"networkName": "shop-net", "mode": "persistent"})
        await running(
            world, "db", containerName="shop-db", mode="persistent", networks=[{"name": "net", "aliases": ["db"]}]
        )


async def test_containers_and_networks_are_removed_and_forgotten(tmp_path: Path) -> None:
    engine = scripted()
    await _left(tmp_path, engine)
    assert engine.find("shop-db") is not None
    async with app(tmp_path, workload_id="other") as world:
        records = world.workloads.machine.records
        report = await CleanUp(world.workloads.machine, engine.connect).run("mine")
        assert report.to_json() == {
            "workloadId": "mine",
            "stopped": {"containers": 1, "executables": 0, "networks": 1},
        }
        assert engine.find("shop-db") is None
        assert "shop-net" not in {each.name for each in engine.networks.values()}
        assert records.all_kept("mine") == []
        again = await CleanUp(world.workloads.machine, engine.connect).run("mine")
        assert set(again.stopped.values()) == {0}


async def test_without_an_engine_nothing_is_forgotten_and_each_says_why(tmp_path: Path) -> None:
    engine = scripted()
    await _left(tmp_path, engine)

    async def nowhere() -> Unavailable:
        return Unavailable("NotRunning", "the engine is stopped", "start it")

    async with app(tmp_path) as world:
        report = await CleanUp(world.workloads.machine, nowhere).run("mine")
        assert [(each["kind"], each["resourceKey"], each["error"]) for each in report.failures] == [
            ("containernetworks", "shop-net", "the engine is stopped: start it"),
            ("containers", "shop-db", "the engine is stopped: start it"),
        ]
        assert len(world.workloads.machine.records.all_kept("mine")) == 2
        done = await CleanUp(world.workloads.machine, engine.connect).run("mine")
        assert not done.failures
