"""Steps with volumes and devices."""

from collections.abc import Callable

from tests.oracle.components.api import Api
from tests.oracle.components.manifests import named, pod_spec

HERE = "/api/v1/namespaces/default"
VOLUME = "/api/v1/persistentvolumes/disk"
RESOURCES = "/apis/resource.k8s.io/v1"


def a_claim_is_bound(api: Api) -> None:
    """A claim finds its volume, and a claim in use is protected from deletion."""
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "storageClassName": "own",
    }
    api.create("/api/v1/persistentvolumes", named("disk", volume))
    # A controller that knows the claim before the volume waits for its next round.
    _until_phase(api, VOLUME, "Available")
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "own",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    path = f"{HERE}/persistentvolumeclaims"
    api.create(path, named("data", claim))
    for bound in (f"{path}/data", VOLUME):
        _until_phase(api, bound, "Bound")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    api.create(f"{HERE}/pods", named("user", pod_spec(volumes=volumes)))
    _until_phase(api, f"{HERE}/pods/user", "Running")
    api.delete(f"{path}/data")
    assert api.get(f"{path}/data")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    api.delete(f"{HERE}/pods/user")
    api.until_gone(f"{path}/data")
    _until_phase(api, VOLUME, "Released")


def a_device_is_allocated(api: Api) -> None:
    """A claim is created from its template, and the scheduler allocates a device of a node."""
    selector = {"cel": {"expression": 'device.driver == "optics.example.com"'}}
    api.create(f"{RESOURCES}/deviceclasses", named("lens", {"selectors": [selector]}))
    slice_spec = {
        "driver": "optics.example.com",
        "nodeName": "node-b",
        "pool": {"name": "node-b", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "lens-1"}],
    }
    api.create(f"{RESOURCES}/resourceslices", named("node-b-optics", slice_spec))
    request = {"name": "lens", "exactly": {"deviceClassName": "lens"}}
    api.create(
        f"{RESOURCES}/namespaces/default/resourceclaimtemplates",
        named("lens", {"spec": {"devices": {"requests": [request]}}}),
    )
    claims = [{"name": "lens", "resourceClaimTemplateName": "lens"}]
    api.create(f"{HERE}/pods", named("camera", pod_spec(resourceClaims=claims)))
    _until_phase(api, f"{HERE}/pods/camera", "Running")
    assert api.get(f"{HERE}/pods/camera")["spec"]["nodeName"] == "node-b"
    [claim] = api.items(f"{RESOURCES}/namespaces/default/resourceclaims")
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("node-b", "lens-1")
    api.delete(f"{HERE}/pods/camera")
    api.until("the claim is deleted", lambda: not api.items(f"{RESOURCES}/namespaces/default/resourceclaims"))


STEPS: tuple[Callable[[Api], None], ...] = (a_claim_is_bound, a_device_is_allocated)


def _until_phase(api: Api, path: str, phase: str) -> None:
    api.until(f"{path} is {phase}", lambda: api.get(path)["status"].get("phase") == phase)
