"""`async with manager`: it runs beside what follows, and neither outlives the other."""

import asyncio

import pytest

import setpoint as sp


async def test_it_works_while_the_block_runs_and_not_longer() -> None:
    seen = asyncio.Event()

    @sp.controller("v1/ConfigMap")
    async def see(ctx: sp.Context, request: sp.Request) -> None:
        if request.name == "a":
            seen.set()

    async with sp.ControlPlane(system=False) as plane, plane.client() as client:
        async with sp.Manager(client, controllers=[see], health="127.0.0.1:0") as manager:
            assert manager.url_of("health")
            tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
            await client.create(tree)
            await seen.wait()
        assert not manager.controllers[0].working
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_what_ends_it_ends_the_block_and_is_raised() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        manager = sp.Manager(client)

        async def fail() -> None:
            raise LookupError("something broke")

        manager.run_beside("broken", fail)
        with pytest.raises(LookupError, match="something broke"):
            async with manager:
                await asyncio.Event().wait()


async def test_what_the_block_raises_ends_it_and_is_raised() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        with pytest.raises(LookupError, match="the test failed"):
            async with sp.Manager(client) as manager:
                raise LookupError("the test failed")
        with pytest.raises(RuntimeError, match="a manager can run only once"):
            await manager.run()


async def test_an_address_that_is_taken_is_told_at_once() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        url = await plane.listen(tls=False)
        with pytest.raises(OSError, match=r"cannot serve health at 127\.0\.0\.1:"):
            async with sp.Manager(client, health=url.removeprefix("http://")):
                pytest.fail("it began all the same")
