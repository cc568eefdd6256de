"""Helpers for plugins that examine pods."""

from collections.abc import Iterator
from typing import Any

from setpoint.objects.field import index
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.server.registry.resource import Resource

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")

# The path of the pod template in each resource; empty for pods.
TEMPLATES: dict[GroupResource, tuple[str, ...]] = {
    GroupResource("", "pods"): (),
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("", "replicationcontrollers"): ("spec", "template"),
    GroupResource("batch", "jobs"): ("spec", "template"),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    **{
        GroupResource("apps", plural): ("spec", "template")
        for plural in ("daemonsets", "deployments", "replicasets", "statefulsets")
    },
}


def is_pods(resource: Resource) -> bool:
    """Returns True for the pods resource."""
    return resource.resource == "pods" and not resource.group


def makes_pods(resource: Resource) -> bool:
    """Returns True if the objects of a resource are pods or have a pod template."""
    return resource.group_resource in TEMPLATES


def pod_in(resource: Resource, tree: Object) -> Object | None:
    """Returns the pod itself, or the pod template of an object."""
    found: Any = tree
    for name in TEMPLATES[resource.group_resource]:
        found = (found or {}).get(name)
    return found if isinstance(found, dict) else None


def containers(spec: Object, path: str = "spec") -> Iterator[tuple[str, Object]]:
    """Yields all containers of a pod with their paths, in start order."""
    for field in _CONTAINERS:
        for position, container in enumerate(spec.get(field) or ()):
            yield index(f"{path}.{field}", position), container
