"""The same for containers: a control plane that is killed takes with it what was to end with it, and nothing else."""

import asyncio
import random
from pathlib import Path

import pytest
from tests.workload.app import GROUP
from tests.workload.chaos.fleet import Served
from tests.workload.podman import IMAGE, Service, connected

from setpoint.client.client import Client
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object
from setpoint.workload.engine.engine import Engine

CONTAINER = f"{GROUP}/Container"
SESSION = ("chaos-one", "chaos-two", "chaos-three")
KEPT = ("chaos-kept", "chaos-stays")


@pytest.mark.timeout(3600)  # with --long
async def test_containers_that_are_to_stay_stay_and_all_others_go_with_a_killed_control_plane(
    tmp_path: Path, request: pytest.FixtureRequest, podman: Service
) -> None:
    rounds = 50 if request.config.getoption("--long") else 3
    chance = random.Random(10)
    served, told = Served(tmp_path, podman.address), dict[str, str]()
    async with connected(podman) as engine:
        try:
            for number in range(rounds):
                await asyncio.to_thread(served.start)
                async with served.client() as client:
                    await _apply(client)
                    if number % 2 == 0:
                        await _converge(client, told)
                    await asyncio.sleep(chance.uniform(0, 0.5))
                await asyncio.to_thread(served.kill)
                there = await _there(engine)
                assert not there.keys() & set(SESSION), f"round {number}"
                assert told.items() <= there.items(), f"round {number}: one that was to stay is lost"
            await asyncio.to_thread(served.start)
            async with served.client() as client:
                await _converge(client, told)
            assert await asyncio.to_thread(served.stop) == 0
            assert (await _there(engine)).keys() == set(KEPT)
        finally:
            await asyncio.to_thread(served.end)
            for container in (await _there(engine)).values():
                await engine.containers.remove(container, force=True)


async def _apply(client: Client) -> None:
    for name in (*SESSION, *KEPT):
        spec: Object = {"image": IMAGE, "args": ["sleep", "86400"], "containerName": name, "stopTimeout": "0s"}
        if name in KEPT:
            spec["persistent"] = True
        tree: Object = {"apiVersion": GROUP, "kind": "Container", "metadata": {"name": name}, "spec": spec}
        try:
            await client.create(tree)
        except AlreadyExists:
            continue


async def _converge(client: Client, told: dict[str, str]) -> None:
    """Returns when all run; those that are kept must be the ones that ran before."""

    async def until_running(name: str) -> None:
        seen: Object = {}

        def runs(tree: Object | None) -> bool:
            nonlocal seen
            seen = (tree or {}).get("status") or {}
            return seen.get("state") == "Running"

        try:
            await client.wait_for(CONTAINER, name, until=runs, timeout=60)
        except TimeoutError:
            raise AssertionError(f"{name} does not run: {seen}") from None
        if name in KEPT:
            assert told.setdefault(name, seen["containerId"]) == seen["containerId"], f"{name} is another one now"

    await asyncio.gather(*map(until_running, (*SESSION, *KEPT)))


async def _there(engine: Engine) -> dict[str, str]:
    """Our containers that run, by name."""
    found = await engine.containers.list(every=True)
    return {each.name: each.id for each in found if each.name.startswith("chaos-")}
