"""Jobs for tests, and the end of their pods as a kubelet reports it."""

from typing import Any

from tests.system.workload_objects import POD

from setpoint import testing
from setpoint.client.patches import strategic
from setpoint.objects.errors import NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.job.indexed_pods import INDEX

KIND = "batch/v1/Job"
SPEC: Object = {"restartPolicy": "Never", "containers": [{"name": "work", "image": "example.com/work:1"}]}


def job(name: str = "work", **spec: Any) -> Object:
    spec = {"template": {"spec": SPEC}, **spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


async def running(world: testing.World) -> list[Object]:
    """The pods that have neither ended nor are being deleted, by index and name."""
    found = (await world.client.list(POD, "default")).items
    active = [
        each
        for each in found
        if not each["metadata"].get("deletionTimestamp") and each["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    return sorted(active, key=lambda each: (int(index(each) or 0), each["metadata"]["name"]))


def index(pod: Object) -> str | None:
    found: str | None = (pod["metadata"].get("annotations") or {}).get(INDEX)
    return found


async def end(world: testing.World, pod: Object, code: int = 0, *conditions: Object) -> None:
    """Reports the end of a pod's container with an exit code, and lets the controllers work."""
    moment = format_time(world.clock.now())
    status = {
        "phase": "Failed" if code else "Succeeded",
        "conditions": list(conditions),
        "containerStatuses": [
            {
                "name": "work",
                "image": "example.com/work:1",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": {"exitCode": code, "startedAt": moment, "finishedAt": moment}},
            }
        ],
    }
    await world.client.patch_status(POD, strategic({"status": status}), pod["metadata"]["name"], "default")
    await world.settle()


async def start(world: testing.World, pod: Object) -> None:
    """Reports that a pod runs and is ready."""
    moment = format_time(world.clock.now())
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": moment}
    patch = strategic({"status": {"phase": "Running", "conditions": [ready]}})
    await world.client.patch_status(POD, patch, pod["metadata"]["name"], "default")
    await world.settle()


async def remove_terminating(world: testing.World) -> None:
    """Ends pods that are being deleted, as their kubelet would."""
    for each in (await world.client.list(POD, "default")).items:
        if each["metadata"].get("deletionTimestamp"):
            try:
                await world.client.delete(POD, each["metadata"]["name"], "default", grace_period=0)
            except NotFound:
                continue
    await world.settle()
