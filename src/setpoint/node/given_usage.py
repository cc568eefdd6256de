"""The usage that annotations of a pod give to each of its containers, by KWOK's names."""

from typing import NamedTuple

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

CPU_ANNOTATION, MEMORY_ANNOTATION = "kwok.x-k8s.io/usage-cpu", "kwok.x-k8s.io/usage-memory"


class GivenUsage(NamedTuple):
    """The CPU in cores and the memory in bytes; None for an amount without a valid annotation."""

    cpu_cores: float | None
    memory_bytes: int | None


def given_usage(pod: Object) -> GivenUsage:
    """Returns the amounts of the annotations."""
    annotations = pod["metadata"].get("annotations") or {}
    memory = _amount(annotations.get(MEMORY_ANNOTATION))
    return GivenUsage(_amount(annotations.get(CPU_ANNOTATION)), None if memory is None else int(memory))


def _amount(text: str | None) -> float | None:
    """Returns the amount of an annotation; None without a valid one."""
    if text is None:
        return None
    try:
        found = Quantity.parse(text)
    except ValueError:
        return None
    return found.as_float() if found.is_computable and found.sign >= 0 else None
