"""The resources that a pod requests of a node: the sum of its containers, or the largest step of its start."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

CPU, MEMORY = "cpu", "memory"
# The requests that a container without requests counts with, for scores only.
_DEFAULT_CPU, _DEFAULT_MEMORY = 100, 200 * 1024 * 1024

Resources = dict[str, int]


class HostPort(NamedTuple):
    """A port of the node that a pod uses."""

    address: str
    protocol: str
    port: int

    def conflicts(self, other: "HostPort") -> bool:
        """Returns True if two pods on a node cannot have these ports."""
        same = (self.protocol, self.port) == (other.protocol, other.port)
        return same and ("0.0.0.0" in (self.address, other.address) or self.address == other.address)


class PodRequests(NamedTuple):
    """The requests of a pod: CPU in thousandths, everything else in units."""

    resources: Resources
    # CPU and memory with defaults for containers without requests.
    scored_cpu: int
    scored_memory: int
    ports: tuple[HostPort, ...]

    @classmethod
    def of(cls, pod: Object) -> "PodRequests":
        spec = pod["spec"]
        resources = _total(spec, defaults={})
        scored = _total(spec, defaults={CPU: _DEFAULT_CPU, MEMORY: _DEFAULT_MEMORY})
        ports = tuple(_ports(spec))
        return _shared(tuple(resources.items()), scored.get(CPU, 0), scored.get(MEMORY, 0), ports)


@lru_cache(maxsize=4096)
def _shared(
    resources: tuple[tuple[str, int], ...], scored_cpu: int, scored_memory: int, ports: tuple[HostPort, ...]
) -> PodRequests:
    """Returns one instance for all pods with the same requests."""
    return PodRequests(dict(resources), scored_cpu, scored_memory, ports)


def amounts(quantities: Mapping[str, object] | None) -> Resources:
    """Converts quantities to numbers."""
    return {name: amount(name, str(value)) for name, value in (quantities or {}).items()}


@lru_cache(maxsize=4096)
def amount(name: str, text: str) -> int:
    """Returns a quantity as a number: thousandths of a CPU, and units of other resources."""
    return Quantity.parse(text).value(-3 if name == CPU else 0)


def _total(spec: Object, defaults: Resources) -> Resources:
    def requested(container: Object) -> Resources:
        return {**defaults, **amounts((container.get("resources") or {}).get("requests"))}

    total: Resources = {}
    for container in spec.get("containers") or ():
        _add(total, requested(container))
    sidecars: Resources = {}
    start: Resources = {}
    for container in spec.get("initContainers") or ():
        step = requested(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, step)
            step = sidecars
        else:
            step = _sum(sidecars, step)
        for name, number in step.items():
            start[name] = max(start.get(name, 0), number)
    _add(total, sidecars)
    for name, number in start.items():
        total[name] = max(total.get(name, 0), number)
    total.update(amounts((spec.get("resources") or {}).get("requests")))
    _add(total, amounts(spec.get("overhead")))
    return total


def _add(total: Resources, more: Resources) -> None:
    for name, number in more.items():
        total[name] = total.get(name, 0) + number


def _sum(one: Resources, other: Resources) -> Resources:
    found = dict(one)
    _add(found, other)
    return found


def _ports(spec: Object) -> Iterable[HostPort]:
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield HostPort(port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
