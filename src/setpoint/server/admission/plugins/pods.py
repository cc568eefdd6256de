"""What rules about pods ask of a request and of a pod."""

from collections.abc import Iterator

from setpoint.objects.field import index
from setpoint.objects.tree import Object
from setpoint.server.resource import Resource

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def is_pods(resource: Resource) -> bool:
    """Whether a resource is that of pods."""
    return resource.resource == "pods" and not resource.group


def containers(spec: Object) -> Iterator[tuple[str, Object]]:
    """All containers of a pod with their paths, in the order in which they start."""
    for field in _CONTAINERS:
        for position, container in enumerate(spec.get(field) or ()):
            yield index(f"spec.{field}", position), container
