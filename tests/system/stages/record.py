"""Records the scenarios with stages on kube-apiserver and KWOK: `python -m tests.system.stages.record`.

Needs the programs of `make oracle` in build/peers.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from tests.oracle.components.cluster import real_cluster
from tests.oracle.peers import companion
from tests.oracle.programs import PEERS
from tests.system.scenarios.record import prepare_nodes, reset, settle
from tests.system.scenarios.scenario import NAMESPACE, Target, run
from tests.system.stages.stage_scenarios import RECORDED, StageScenario, result_of, stage_scenarios
from tests.system.stages.stage_trees import stages

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.tree import Object


async def _record(directory: Path, each: StageScenario) -> Object:
    # KWOK manages pods only if nodes have stages, too.
    nodes = [
        tree
        for tree in yaml.safe_load_all((PEERS / "stages.yaml").read_text())
        if tree and tree["spec"]["resourceRef"]["kind"] == "Node"
    ]
    path = directory / "stages.yaml"
    path.write_text(yaml.safe_dump_all([*nodes, *stages(*each.stages)]))
    async with Client.from_kubeconfig(directory / "admin.kubeconfig") as client:
        await reset(client)
        await prepare_nodes(client, [{}], create=True)
        with companion("kwok", directory / "kwok.kubeconfig", directory, stages=path):
            await asyncio.sleep(2)
            await run(each.scenario, Target(client, lambda: settle(client), asyncio.sleep))
            found = await result_of(client)
        for pod in (await client.list("v1/Pod", NAMESPACE)).items:
            await client.patch("v1/Pod", merge({"metadata": {"finalizers": None}}), pod["metadata"]["name"], NAMESPACE)
        return found


def main() -> None:
    """Records all scenarios."""
    found: Object = {}
    with TemporaryDirectory() as directory, real_cluster(Path(directory), kwok=False):
        for each in stage_scenarios():
            found[each.scenario.name] = asyncio.run(_record(Path(directory), each))
            RECORDED.write_text(yaml.safe_dump(found, width=120))
            sys.stdout.write(f"recorded {each.scenario.name}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
