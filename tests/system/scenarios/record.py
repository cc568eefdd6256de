"""Records the scenarios on Kubernetes' own components: `python -m tests.system.scenarios.record [NAME...]`.

Needs the programs of `make oracle` in build/peers. Without names, all scenarios without a record are recorded; `--all`
records all again.
"""

import asyncio
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from tests.oracle.components.cluster import real_cluster
from tests.server.read.test_usage_metrics import DEFINITION
from tests.system.scenarios.external_storage import serve_storage
from tests.system.scenarios.normal_form import normal
from tests.system.scenarios.scenario import (
    CLUSTER_KINDS,
    DIRECTORY,
    EVENT,
    KINDS,
    NAMESPACE,
    VOLUME,
    Scenario,
    Target,
    collect,
    run,
    scenarios,
    volume_events,
)

from setpoint.client.client import Client
from setpoint.client.patches import merge, strategic
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.nodes.node_objects import node, node_name, node_status

RECORDED = DIRECTORY / "recorded"
# The seconds without a write after which a step is complete.
_QUIET_SECONDS, _LONGEST_SECONDS, _LOOK_SECONDS = 1.5, 20.0, 0.2


async def settle(client: Client) -> None:
    """Waits until no object has changed for some time."""
    clock = asyncio.get_running_loop().time
    start = quiet = clock()
    before: list[str] = []
    while clock() - quiet < _QUIET_SECONDS and clock() - start < _LONGEST_SECONDS:
        await asyncio.sleep(_LOOK_SECONDS)
        places = [(kind, NAMESPACE) for kind in KINDS] + [(VOLUME, "")]
        now = [
            item["metadata"]["resourceVersion"]
            for kind, namespace in places
            for item in (await client.list(kind, namespace)).items
        ]
        if now != before:
            before, quiet = now, clock()


async def prepare_nodes(client: Client, wanted: list[Object], *, create: bool) -> None:
    """Brings the nodes into the state that a scenario wants."""
    for number, each in enumerate(wanted):
        name = node_name(number)
        if create:
            with suppress(AlreadyExists):
                await client.create(node(number))
            await client.patch_status("v1/Node", strategic({"status": node_status(number, client.clock.now())}), name)
        if labels := each.get("labels"):
            await client.patch("v1/Node", merge({"metadata": {"labels": labels}}), name)
        spec = {field: each[field] for field in ("taints", "unschedulable") if field in each}
        if spec:
            await client.patch("v1/Node", merge({"spec": spec}), name)
        if allocatable := each.get("allocatable"):
            both = {"status": {"allocatable": allocatable, "capacity": allocatable}}
            await client.patch_status("v1/Node", merge(both), name)


async def reset(client: Client) -> None:
    """Removes the objects of the last scenario, and creates the namespace anew."""
    for each in (await client.list("v1/Node")).items:
        await client.delete("v1/Node", each["metadata"]["name"])
    with suppress(NotFound):
        await client.delete("v1/Namespace", NAMESPACE)
    for each in (await client.list("v1/Pod", NAMESPACE)).items:
        with suppress(NotFound):
            await client.delete("v1/Pod", each["metadata"]["name"], NAMESPACE, grace_period=0)
    for kind in CLUSTER_KINDS:
        for each in (await client.list(kind)).items:
            if not each["metadata"]["name"].startswith("system-"):
                with suppress(NotFound):
                    await client.patch(kind, merge({"metadata": {"finalizers": None}}), each["metadata"]["name"])
                    await client.delete(kind, each["metadata"]["name"])
    for each in await volume_events(client):
        await client.delete(EVENT, each["metadata"]["name"], each["metadata"]["namespace"])
    for _ in range(400):
        try:
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            break
        except AlreadyExists:
            await asyncio.sleep(0.25)
    for _ in range(100):
        with suppress(NotFound):
            await client.get("v1/ServiceAccount", "default", NAMESPACE)
            return
        await asyncio.sleep(0.1)


async def _taints_removed(client: Client, wanted: list[Object]) -> None:
    """Waits until the nodes are ready: the controller manager removes a taint then."""
    for number in range(len(wanted)):
        for _ in range(200):
            found = await client.get("v1/Node", node_name(number))
            if not any(each["key"].endswith("/not-ready") for each in found["spec"].get("taints") or ()):
                break
            await asyncio.sleep(0.1)


async def _use(client: Client, given: Object) -> None:
    """Creates the PodMetrics of all pods, by a definition in the place of metrics-server."""
    with suppress(AlreadyExists):
        await client.create(DEFINITION)
        await asyncio.sleep(2)
    # A sample of the future counts although its pod has just become ready.
    time = format_time(client.clock.now() + timedelta(minutes=1))
    for pod in (await client.list("v1/Pod", NAMESPACE)).items:
        containers = [{"name": each["name"], "usage": given} for each in pod["spec"]["containers"]]
        metadata = {"name": pod["metadata"]["name"], "labels": pod["metadata"]["labels"]}
        named = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": metadata}
        tree = {**named, "timestamp": time, "window": "15s", "containers": containers}
        await client.create(tree, namespace=NAMESPACE)


async def _record(path: Path, chosen: list[Scenario]) -> None:
    async with Client.from_kubeconfig(path) as client:
        target = Target(client, lambda: settle(client), asyncio.sleep, _use)
        serving = asyncio.ensure_future(serve_storage(client, NAMESPACE))
        for scenario in chosen:
            await reset(client)
            await prepare_nodes(client, scenario.nodes, create=True)
            await _taints_removed(client, scenario.nodes)
            # KWOK completes the status of a new node.
            await prepare_nodes(client, scenario.nodes, create=False)
            await asyncio.sleep(1)
            await run(scenario, target)
            result = normal(*await collect(client))
            place = RECORDED / f"{scenario.file}.yaml"
            known = yaml.safe_load(place.read_text()) if place.exists() else {}
            known[scenario.name] = result
            place.write_text(yaml.safe_dump(known, width=120))
            sys.stdout.write(f"recorded {scenario}\n")
            sys.stdout.flush()
        serving.cancel()


def main(arguments: list[str]) -> None:
    """Records the scenarios."""
    known = {
        f"{path.stem}: {name}" for path in RECORDED.glob("*.yaml") for name in yaml.safe_load(path.read_text()) or {}
    }
    names = [each for each in arguments if each != "--all"]
    chosen = [
        each
        for each in scenarios()
        if (each.name in names if names else "--all" in arguments or str(each) not in known)
    ]
    RECORDED.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory, real_cluster(Path(directory)):
        asyncio.run(_record(Path(directory) / "admin.kubeconfig", chosen))


if __name__ == "__main__":
    main(sys.argv[1:])
