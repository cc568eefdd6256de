"""Fields of pods that belong to features that are off."""

from collections.abc import Sequence

from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.cells import lookup

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def drop_disabled_pod_fields(tree: Object, old: Object | None, path: Sequence[str]) -> None:
    """Removes the stop signals, the group and the responders of the pod spec at a path, in place, unless the stored
    object has them."""
    spec, stored = lookup(tree, *path), lookup(old or {}, *path) or {}
    if not spec:
        return
    for name in ("schedulingGroup", "evictionResponders"):
        if name in spec and name not in stored:
            del spec[name]
    if _signalled(stored):
        return
    for container in _signalled(spec):
        del container["lifecycle"]["stopSignal"]
        if not container["lifecycle"]:
            del container["lifecycle"]


def _signalled(spec: Object) -> list[Object]:
    """Returns the containers with a stop signal."""
    return [
        container
        for field in _CONTAINERS
        for container in spec.get(field) or ()
        if "stopSignal" in (container.get("lifecycle") or ())
    ]
