"""The operator of kopf's tutorial, in our words: claims for volumes that live as long as who asks for them."""

from typing import Any

import kopf
import kubernetes

GROUP, PLURAL = "kopf.dev", "ephemeralvolumeclaims"


@kopf.on.create(GROUP, "v1", PLURAL)
def claim(spec: kopf.Spec, name: str, namespace: str | None, logger: Any, **_: Any) -> dict[str, str]:
    if not spec.get("size"):
        raise kopf.PermanentError("the size must be set")
    wanted = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "growing",
            "resources": {"requests": {"storage": spec["size"]}},
        },
    }
    kopf.adopt(wanted)
    made = _volumes().create_namespaced_persistent_volume_claim(namespace, wanted)
    logger.info(f"made the claim {made.metadata.name}")
    return {"pvc-name": made.metadata.name}


@kopf.on.update(GROUP, "v1", PLURAL)
def resize(spec: kopf.Spec, status: kopf.Status, namespace: str | None, **_: Any) -> None:
    change = {"spec": {"resources": {"requests": {"storage": spec["size"]}}}}
    _volumes().patch_namespaced_persistent_volume_claim(status["claim"]["pvc-name"], namespace, change)


@kopf.on.field(GROUP, "v1", PLURAL, field="metadata.labels")
def relabel(diff: kopf.Diff, status: kopf.Status, namespace: str | None, **_: Any) -> None:
    if "claim" not in status:
        return
    labels = {field[0]: new for operation, field, old, new in diff if field}
    change = {"metadata": {"labels": labels}}
    _volumes().patch_namespaced_persistent_volume_claim(status["claim"]["pvc-name"], namespace, change)


def _volumes() -> Any:
    kubernetes.config.load_kube_config()
    return kubernetes.client.CoreV1Api()
