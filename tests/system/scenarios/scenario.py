"""Scenarios for workload controllers: steps that a user takes, run on any server.

A file `NAME.yaml` of this directory has scenarios by name. `nodes` are the nodes (a list with `labels`, `taints`,
`allocatable`; one plain node by default), `steps` the actions: `create` (objects), `patch` (`kind`, `name`, `merge`),
`status` (a patch of the status), `scale` (`kind`, `name`, `replicas`), `delete` (`kind`, `name`), `usage` (the `cpu`
and `memory` of every container), `sleep` (seconds), and `end`: the end of pods that no node runs, with the exit
`code`, for a completion `index` only, or for a `number` of pods. After each step all work that needs no time is done.
`recorded/NAME.yaml` has the results of Kubernetes' own components (`python -m tests.system.scenarios.record`).
"""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from setpoint.client.client import Client
from setpoint.client.patches import merge, strategic
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.job.indexed_pods import INDEX
from setpoint.system.pods.state import is_active

DIRECTORY = Path(__file__).parent
NAMESPACE = "scenario"
# The kinds whose objects are compared.
KINDS = (
    "apps/v1/Deployment",
    "apps/v1/ReplicaSet",
    "v1/ReplicationController",
    "apps/v1/StatefulSet",
    "apps/v1/ControllerRevision",
    "batch/v1/CronJob",
    "batch/v1/Job",
    "v1/PersistentVolumeClaim",
    "v1/Pod",
    "apps/v1/DaemonSet",
    "policy/v1/PodDisruptionBudget",
    "v1/Endpoints",
    "discovery.k8s.io/v1/EndpointSlice",
    "autoscaling/v2/HorizontalPodAutoscaler",
)
# The kinds without a namespace that scenarios create.
CLUSTER_KINDS = (
    "v1/PersistentVolume",
    "storage.k8s.io/v1/StorageClass",
    "scheduling.k8s.io/v1/PriorityClass",
)
VOLUME, EVENT = "v1/PersistentVolume", "events.k8s.io/v1/Event"
# The namespace of the events of objects without a namespace.
_NO_NAMESPACE = "default"


class Scenario(NamedTuple):
    """A scenario of a file."""

    file: str
    name: str
    nodes: list[Object]
    steps: list[Object]

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


class Target(NamedTuple):
    """A server with controllers: its client, a wait for all work that needs no time, and a pause."""

    client: Client
    settle: Callable[[], Awaitable[Any]]
    sleep: Callable[[float], Awaitable[Any]]
    # Sets the usage of the containers of all pods.
    use: "Callable[[Client, Object], Awaitable[None]] | None" = None


def scenarios() -> Iterator[Scenario]:
    """Yields all scenarios."""
    for path in sorted(DIRECTORY.glob("*.yaml")):
        for name, content in yaml.safe_load(path.read_text()).items():
            if not name.startswith("."):
                yield Scenario(path.stem, name, content.get("nodes", [{}]), content["steps"])


async def run(scenario: Scenario, target: Target) -> None:
    """Takes the steps."""
    client = target.client
    await target.settle()
    for step in scenario.steps:
        [(action, given)] = step.items()
        if action == "create":
            for obj in given if isinstance(given, list) else [given]:
                await client.create(obj, namespace=_namespace_of(f"{obj['apiVersion']}/{obj['kind']}"))
        elif action == "patch":
            await client.patch(given["kind"], merge(given["merge"]), given["name"], _namespace_of(given["kind"]))
        elif action == "delete":
            await client.delete(given["kind"], given["name"], _namespace_of(given["kind"]), propagation="Background")
        elif action == "status":
            status = merge({"status": given["merge"]})
            await client.patch_status(given["kind"], status, given["name"], _namespace_of(given["kind"]))
        elif action == "end":
            await _end_pods(client, given)
        elif action == "scale":
            await client.scale(given["kind"], given["name"], NAMESPACE, given["replicas"])
        elif action == "usage":
            await _annotate(client, given)
            if target.use is not None:
                await target.use(client, given)
        elif action == "sleep":
            await target.sleep(given)
        else:
            raise ValueError(f"{scenario}: unknown action {action!r}")
        await target.settle()


def _namespace_of(kind: str) -> str:
    return "" if kind in (*CLUSTER_KINDS, "v1/Node") else NAMESPACE


async def _annotate(client: Client, given: Object) -> None:
    """Gives the usage of all pods by annotations, which simulated nodes report."""
    annotations = {f"kwok.x-k8s.io/usage-{name}": value for name, value in given.items()}
    for pod in (await client.list("v1/Pod", NAMESPACE)).items:
        await client.patch(
            "v1/Pod", merge({"metadata": {"annotations": annotations}}), pod["metadata"]["name"], NAMESPACE
        )


async def _end_pods(client: Client, given: Object) -> None:
    """Reports the end of active pods, as a kubelet would."""
    moment, code = format_time(client.clock.now()), given.get("code", 0)
    ended = {"exitCode": code, "startedAt": moment, "finishedAt": moment}
    found = [each for each in (await client.list("v1/Pod", NAMESPACE)).items if is_active(each)]
    if "index" in given:
        found = [each for each in found if each["metadata"]["annotations"].get(INDEX) == str(given["index"])]
    for pod in found[: given.get("number")]:
        container = {"name": pod["spec"]["containers"][0]["name"], "image": "i", "imageID": "", "ready": False}
        container |= {"restartCount": 0, "state": {"terminated": ended}}
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
        if conditions := given.get("conditions"):
            status["conditions"] = conditions
        await client.patch_status("v1/Pod", strategic({"status": status}), pod["metadata"]["name"], NAMESPACE)


async def collect(client: Client) -> tuple[list[Object], list[Object]]:
    """Returns the objects and the events of the namespace, and of the volumes."""
    found = [item for kind in KINDS for item in (await client.list(kind, NAMESPACE)).items]
    found += (await client.list(VOLUME)).items
    return found, [*(await client.list(EVENT, NAMESPACE)).items, *await volume_events(client)]


async def volume_events(client: Client) -> list[Object]:
    """Returns the events of volumes."""
    events = (await client.list(EVENT, _NO_NAMESPACE)).items
    return [each for each in events if each["regarding"]["kind"] == "PersistentVolume"]
