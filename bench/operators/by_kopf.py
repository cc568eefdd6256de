"""The operator of the comparison as kopf's users write it, with the official client as in kopf's own tutorial."""

from typing import Any

import kopf
import kubernetes

api = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config())


@kopf.on.resume("operator.setpoint.example", "v1", "tanks")
@kopf.on.create("operator.setpoint.example", "v1", "tanks")
@kopf.on.update("operator.setpoint.example", "v1", "tanks", field="spec")
def write_label(
    spec: kopf.Spec, name: str, namespace: str | None, meta: kopf.Meta, patch: kopf.Patch, **_: Any
) -> None:
    label = f"{spec['capacity']}{spec.get('unit', '')}"
    child = {"metadata": {"name": name}, "data": {"label": label}}
    kopf.adopt(child)
    try:
        api.create_namespaced_config_map(namespace, child)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        api.replace_namespaced_config_map(name, namespace, child)
    patch.status["label"] = label
    patch.status["observedGeneration"] = meta["generation"]
