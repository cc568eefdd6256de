"""Objects for the tests of workload controllers, and steps of a kubelet that tests do by hand."""

from typing import Any

from setpoint import testing
from setpoint.client.patches import merge, strategic
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

POD = "v1/Pod"
LABELS = {"app": "web"}
TEMPLATE: Object = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
}


def replica_set(name: str = "web", replicas: int = 3, **spec: Any) -> Object:
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": TEMPLATE, **spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def pod(name: str, labels: Object = LABELS, **metadata: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": labels, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": TEMPLATE["spec"]}


async def pods(world: testing.World) -> list[Object]:
    """All pods of the namespace that are not being deleted, in order of their names."""
    found = (await world.client.list(POD, "default")).items
    return sorted(
        (each for each in found if not each["metadata"].get("deletionTimestamp")),
        key=lambda each: each["metadata"]["name"],
    )


async def report(world: testing.World, name: str, *, ready: bool = True, phase: str = "Running") -> None:
    """Writes the status of a pod, as its kubelet would."""
    moment = format_time(world.clock.now())
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": moment}
    status = {"phase": phase, "conditions": [condition]}
    await world.client.patch_status(POD, strategic({"status": status}), name, "default")


def events_of(told: list[testing.Told], reason: str) -> list[str]:
    return [each.note for each in told if each.reason == reason]


def deployment(name: str = "web", replicas: int = 3, image: str = "example.com/web:1", **spec: Any) -> Object:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": image}]}},
        **spec,
    }
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


async def replica_sets(world: testing.World) -> list[Object]:
    """The replica sets of the namespace, by their revisions."""
    found = (await world.client.list("apps/v1/ReplicaSet", "default")).items
    return sorted(found, key=lambda each: int(each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]))


async def report_all(world: testing.World) -> None:
    """Makes all new pods ready, until there are no more."""
    while True:
        await world.settle()
        waiting = [each for each in await pods(world) if not each["status"].get("conditions")]
        if not waiting:
            return
        for each in waiting:
            await report(world, each["metadata"]["name"])


async def change_spec(world: testing.World, *, kind: str, **spec: Any) -> None:
    """Changes fields of the workload `web`."""
    await world.client.patch(kind, merge({"spec": spec}), "web", "default")
    await world.settle()


async def change_image(world: testing.World, image: str, *, kind: str) -> None:
    """Changes the image of the pods of the workload `web`."""
    containers = [{"name": "web", "image": image}]
    patch = strategic({"spec": {"template": {"spec": {"containers": containers}}}})
    await world.client.patch(kind, patch, "web", "default")
    await world.settle()
