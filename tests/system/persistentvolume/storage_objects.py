"""Claims, volumes and classes for the tests of storage, and pods that use claims."""

from typing import Any

from tests.system.workload_objects import POD

from setpoint import testing
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.simulated_storage import SIMULATED
from setpoint.system.persistentvolume.storage_state import CLAIM, CLASS, VOLUME

__all__ = ["CLAIM", "CLASS", "POD", "VOLUME"]


def claim(name: str = "data", size: str = "1Gi", *, annotations: Object | None = None, **spec: Any) -> Object:
    """A claim of the empty class, which no provisioner serves, unless the class is given."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": size}},
        **spec,
    }
    metadata = {"name": name, "namespace": "default", "annotations": annotations or {}}
    spec = {key: value for key, value in spec.items() if value is not None}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def volume(name: str = "disk", size: str = "1Gi", *, labels: Object | None = None, **spec: Any) -> Object:
    """A volume in a directory that is not temporary, so that no policy can delete the volume."""
    if not {"csi", "nfs", "hostPath", "local"} & spec.keys():
        spec["hostPath"] = {"path": f"/data/{name}"}
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
    }


def storage_class(name: str = "fast", *, default: bool = False, **fields: Any) -> Object:
    """A class of the simulated provisioner with immediate binding."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = {"name": name, "annotations": annotations}
    fields = {"provisioner": SIMULATED, "volumeBindingMode": "Immediate", **fields}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, **fields}


def consumer(name: str = "web", claims: tuple[str, ...] = ("data",), **spec: Any) -> Object:
    """A pod that uses claims."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    containers = [{"name": "web", "image": "example.com/web:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": containers, "volumes": volumes, **spec},
    }


async def bound(world: testing.World, name: str = "data") -> tuple[str, str]:
    """The phase and the volume of a claim."""
    await world.settle()
    found = await world.find(CLAIM, name)
    return found["status"]["phase"], found["spec"].get("volumeName", "")


async def phase(world: testing.World, name: str = "disk") -> str:
    """The phase of a volume."""
    await world.settle()
    found: str = (await world.client.get(VOLUME, name))["status"]["phase"]
    return found
