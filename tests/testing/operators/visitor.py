"""A kopf operator with a login of its own, and a handler that finds its cluster as any program does."""

from typing import Any

import kopf


@kopf.on.login()
def login(**arguments: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.create("example.com", "v1", "reminders")
def write(name: str, namespace: str | None, **_: Any) -> None:
    from kubernetes import client, config

    config.load_kube_config()
    child = {"metadata": {"name": f"{name}-child"}}
    kopf.adopt(child)
    client.CoreV1Api().create_namespaced_config_map(namespace, child)
