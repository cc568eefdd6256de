"""The objects of a real cluster become the state of a world. `make oracle` builds the cluster."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.oracle.peers import oracle, write_files, write_kubeconfig
from tests.oracle.programs import missing
from tests.oracle.users import TOKENS

import setpoint as sp
from setpoint import testing
from setpoint.cli.main import main
from setpoint.client.kubeconfig import load
from setpoint.objects.clock import SystemClock

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        bool(missing("etcd", "kube-apiserver")), reason="the real control plane is not built; run `make oracle`"
    ),
]
KINDS = ("v1/ConfigMap", "v1/Namespace", "apps/v1/Deployment", "autoscaling/v2/HorizontalPodAutoscaler", "v1/Service")


class CrateSpec(sp.Model):
    """What a crate should be."""

    bottles: int = 0


class CrateStatus(sp.Model):
    """What a crate is."""

    filled: int = 0
    observed_generation: int = 0


class Crate(sp.Resource, group="example.com", version="v1"):
    """A crate."""

    spec: CrateSpec
    status: CrateStatus | None = None


@sp.controller(Crate, owns=["v1/ConfigMap"])
async def crates(ctx: sp.Context[Crate], request: sp.Request) -> None:
    crate = await ctx.object()
    if crate is None:
        return
    label = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": request.name}}
    await ctx.client.apply(ctx.own({**label, "data": {"bottles": f"{crate.spec.bottles}"}}))
    ctx.status.filled = crate.spec.bottles


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


async def prepare(client: sp.Client) -> None:
    """Creates the objects of an operator at work."""
    await client.install(Crate)
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    await client.create(
        Crate(metadata=sp.ObjectMeta(name="red", namespace="shop"), spec=CrateSpec(bottles=12)),
    )
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"}}
    await client.create({**secret, "stringData": {"password": "correct-horse-battery"}})
    await client.create(deployment())
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": deployment()["metadata"]}
    await client.create({**scaler, "spec": {"scaleTargetRef": target, "maxReplicas": 3}})
    async with sp.Manager(client, controllers=[crates], preflight=False):
        for _ in range(300):
            found = await client.get(Crate, "red", "shop")
            if found.status is not None and found.status.filled == 12:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the controller did not fill the crate")


async def state(client: sp.Client) -> dict[str, Any]:
    found = {}
    for kind in (*KINDS, "example.com/v1/Crate", "apiextensions.k8s.io/v1/CustomResourceDefinition"):
        for item in (await client.list(kind)).items:
            meta = item["metadata"]
            found[f"{kind} {meta.get('namespace', '')}/{meta['name']}"] = item
    return found


async def has_no_configmap(world: testing.World) -> bool:
    return "red" not in await world.names("v1/ConfigMap", "shop")


def test_a_real_cluster_becomes_the_state_of_a_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    everything, seen = tmp_path / "all.setpoint", tmp_path / "seen.setpoint"
    with oracle(tmp_path, files := write_files(tmp_path)) as server:

        async def at_the_cluster() -> dict[str, Any]:
            connection = load((server.kubeconfig,)).connection("", {}, SystemClock())
            async with sp.Client(connection.transport()) as client:
                await prepare(client)
                return await state(client)

        real = asyncio.run(at_the_cluster())
        done = CliRunner().invoke(
            main, ["export", "--cluster", str(everything), "--kubeconfig", str(server.kubeconfig)]
        )
        assert done.exit_code == 0, done.output
        limited = tmp_path / "viewer.kubeconfig"
        write_kubeconfig(limited, server.url, files.authority, TOKENS["nobody"])
        refused = CliRunner().invoke(main, ["export", "--cluster", str(seen), "--kubeconfig", str(limited)])
        assert (refused.exit_code, seen.exists()) == (1, False)
        assert "no object could be read" in refused.output

    assert "not included" not in done.output

    async def in_a_world() -> None:
        async with testing.world(state=everything) as world:
            ours = await state(world.client)
            assert {name: ours.get(name) for name in real} == real
            secret = await world.client.get("v1/Secret", "key", "shop")
            assert list(secret["data"]) == ["password"]
            await world.run(crates)
            assert await world.client.get("v1/ConfigMap", "red", "shop") == real["v1/ConfigMap shop/red"]
            await world.client.edit(Crate, "red", "shop", lambda crate: setattr(crate.spec, "bottles", 6))
            await world.settle()
            assert (await world.find(Crate, "red", "shop")).status.filled == 6
            assert (await world.find("v1/ConfigMap", "red", "shop"))["data"] == {"bottles": "6"}
        # The owners are the same objects: the garbage collector finds the child.
        async with testing.world(state=everything, system=True) as world:
            await world.client.delete(Crate, "red", "shop")
            await world.eventually(lambda: has_no_configmap(world))

    asyncio.run(in_a_world())
