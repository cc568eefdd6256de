"""The objects of the scenario."""

from typing import Any

Tree = dict[str, Any]


def named(name: str, spec: Tree | None = None, **metadata: Any) -> Tree:
    """An object with a name, and with a specification if there is one."""
    return {"metadata": {"name": name, **metadata}} | ({} if spec is None else {"spec": spec})


def node(name: str, **labels: str) -> Tree:
    """A node with room for four pods that request a processor each."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return named(name, {}, labels={"type": "kwok", **labels}) | {"status": {"capacity": room, "allocatable": room}}


def pod_spec(image: str = "example.com/one", *, cpu: str = "", **spec: Any) -> Tree:
    container: Tree = {"name": "main", "image": image}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}


def template(app: str, **spec: Any) -> Tree:
    """The template of pods with a label."""
    return {"metadata": {"labels": {"app": app}}, "spec": pod_spec(**spec)}


def workload(app: str, replicas: int | None = None, **spec: Any) -> Tree:
    """A Deployment, a StatefulSet or, without replicas, a DaemonSet."""
    found = {"selector": {"matchLabels": {"app": app}}, "template": template(app), **spec}
    return named(app, found if replicas is None else {**found, "replicas": replicas})


def job(name: str, **spec: Any) -> Tree:
    return named(name, {"template": template(name, restartPolicy="Never"), **spec})
