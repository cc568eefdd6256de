"""The events of a kubelet about the containers of a pod, from the changes of its status. Pure functions."""

from collections.abc import Iterator
from typing import NamedTuple

from setpoint.objects.tree import Object

_LISTS = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))
_PULL_BACK_OFF = "ImagePullBackOff"


class KubeletEvent(NamedTuple):
    """An event about a container."""

    reason: str
    note: str
    field_path: str
    is_normal: bool = True


def status_events(pod: Object, status: Object) -> Iterator[KubeletEvent]:
    """Yields the events of the step from the stored status of a pod to the next one."""
    known = pod.get("status") or {}
    for containers, statuses in _LISTS:
        old = {each["name"]: each for each in known.get(statuses) or ()}
        specs = {each["name"]: each for each in pod["spec"].get(containers) or ()}
        for each in status.get(statuses) or ():
            path = f"spec.{containers}{{{each['name']}}}"
            yield from _container_events(specs[each["name"]], old.get(each["name"]), each, path)


def stop_events(pod: Object) -> Iterator[KubeletEvent]:
    """Yields the events of a pod that is being deleted."""
    known = pod.get("status") or {}
    for containers, statuses in _LISTS:
        for each in known.get(statuses) or ():
            if "running" in each["state"]:
                path = f"spec.{containers}{{{each['name']}}}"
                yield KubeletEvent("Killing", f"Stopping container {each['name']}", path)


def _container_events(spec: Object, old: Object | None, new: Object, path: str) -> Iterator[KubeletEvent]:
    image = spec.get("image", "")
    waiting = new["state"].get("waiting") or {}
    if waiting.get("reason") == _PULL_BACK_OFF:
        if old is None or (old["state"].get("waiting") or {}).get("reason") != _PULL_BACK_OFF:
            yield KubeletEvent("Pulling", f'Pulling image "{image}"', path)
            text = f'Failed to pull image "{image}": {waiting.get("message", "")}'
            yield KubeletEvent("Failed", text, path, is_normal=False)
            yield KubeletEvent("Failed", "Error: ErrImagePull", path, is_normal=False)
            yield KubeletEvent("BackOff", f'Back-off pulling image "{image}"', path)
            yield KubeletEvent("Failed", "Error: ImagePullBackOff", path, is_normal=False)
        return
    identity = new.get("containerID", "")
    if identity and (old is None or old.get("containerID") != identity):
        if spec.get("imagePullPolicy") == "Always":
            yield KubeletEvent("Pulling", f'Pulling image "{image}"', path)
            text = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
            yield KubeletEvent("Pulled", text, path)
        else:
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
            yield KubeletEvent("Pulled", text, path)
        yield KubeletEvent("Created", "Container created", path)
        yield KubeletEvent("Started", "Container started", path)
    if "running" in new["state"] and spec.get("readinessProbe") and not new["ready"] and (old is None or old["ready"]):
        text = "Readiness probe failed: as the script of the container says"
        yield KubeletEvent("Unhealthy", text, path, is_normal=False)
