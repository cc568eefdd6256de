"""The container of a pod that a request for its log or its processes names."""

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def chosen_container(pod: Object, wanted: str) -> str:
    """Returns the name of the container: the wanted one, or the only one. Raises BadRequest as kube-apiserver does."""
    spec, name = pod.get("spec") or {}, meta.name(pod)
    names = [container["name"] for kind in _CONTAINERS for container in spec.get(kind) or ()]
    if wanted:
        if wanted not in names:
            raise BadRequest(f"container {wanted} is not valid for pod {name}")
        return wanted
    containers = spec.get("containers") or []
    if len(containers) != 1:
        choice = f", choose one of: [{' '.join(names)}]" if containers else ""
        raise BadRequest(f"a container name must be specified for pod {name}{choice}")
    only: str = containers[0]["name"]
    return only
