"""The usage of a pod: the object itself, and its CPU, memory, storage and device requests.

A finished pod counts as an object only. A pod in resize counts with the maximum of its requested, allocated and actual
resources. Usage does not depend on the time: an overdue pod counts until deleted.
"""

from collections.abc import Callable, Mapping
from typing import Any

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.server.quota.amounts import ONE, Amounts, read
from setpoint.server.registry.kinds.core.pod.resources import (
    add_amounts,
    is_extended,
    is_huge_pages,
    quality_of_service,
    total,
)

COUNT = "count/pods"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
NAMES = frozenset(
    (
        *(COUNT, "pods"),
        *_COMPUTE,
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE),
    )
)
# The amounts that every container must specify if a quota counts them.
_REQUIRED = frozenset(
    (
        *("cpu", "memory"),
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in ("cpu", "memory")),
    )
)

_Of = Callable[[Object], Mapping[str, Json]]


def pod_usage(pod: Object) -> dict[str, Quantity]:
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return {COUNT: ONE}
    return {COUNT: ONE, "pods": ONE, **_compute(_requests(pod), _limits(pod))}


def _compute(requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
    """Returns the requests and limits under their quota names."""
    found: dict[str, Quantity] = {}
    for name, quantity in requests.items():
        if name in _COMPUTE or is_huge_pages(name):
            found[name] = found[f"requests.{name}"] = quantity
        elif is_extended(name):
            found[f"requests.{name}"] = quantity
    return found | {f"limits.{name}": quantity for name, quantity in limits.items() if name in _COMPUTE}


def _requests(pod: Object) -> dict[str, Quantity]:
    spec = pod["spec"]
    found = _most(pod, "requests")
    found |= {name: quantity for name, quantity in read(_own(spec, "requests")).items() if _is_of_pods(name)}
    add_amounts(found, spec.get("overhead") or {})
    return found


def _limits(pod: Object) -> dict[str, Quantity]:
    spec = pod["spec"]
    found = _most(pod, "limits")
    found |= {name: quantity for name, quantity in read(_own(spec, "limits")).items() if _is_of_pods(name)}
    overhead = spec.get("overhead") or {}
    add_amounts(found, {name: value for name, value in overhead.items() if name in found and found[name].sign})
    return found


def _own(holder: Object, kind: str) -> Mapping[str, Json]:
    found: Mapping[str, Json] = (holder.get("resources") or {}).get(kind) or {}
    return found


def _is_of_pods(name: str) -> bool:
    """Returns True if the resource may be specified at pod level instead of in the containers."""
    return name in ("cpu", "memory") or is_huge_pages(name)


def _most(pod: Object, kind: str) -> dict[str, Quantity]:
    """Returns the maximum of the requested, allocated and actual resources of the containers."""
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    known: dict[Any, Object] = {found.get("name"): found for found in statuses}
    requested = total(spec, lambda container: _own(container, kind))
    if not any("resources" in found or "allocatedResources" in found for found in statuses):
        return requested
    is_infeasible = any(
        found.get("type") == "PodResizePending" and found.get("reason") == "Infeasible"
        for found in status.get("conditions") or ()
    )

    def granted(container: Object) -> Mapping[str, Json]:
        found: Mapping[str, Json] | None = known.get(container.get("name"), {}).get("allocatedResources")
        return found if found is not None else {} if is_infeasible else _own(container, kind)

    def had(container: Object) -> Mapping[str, Json]:
        state = known.get(container.get("name"), {})
        if state.get("resources") is not None:
            return _own(state, kind)
        return granted(container) if kind == "requests" else {} if is_infeasible else _own(container, kind)

    views = ([] if is_infeasible else [requested]) + [total(spec, had)]
    if kind == "requests":
        views.append(total(spec, granted))
    found: dict[str, Quantity] = {}
    for view in views:
        for name, quantity in view.items():
            found[name] = max(found.get(name, quantity), quantity)
    return found


def missing_from_pod(names: frozenset[str], pod: Object) -> str:
    """Returns an error if containers lack values that quotas require, or an empty string."""
    spec = pod["spec"]
    if any(_is_of_pods(name) for kind in ("requests", "limits") for name in _own(spec, kind)):
        return ""
    required = names & _REQUIRED
    silent: dict[str, set[str]] = {}
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            declared = _compute(read(_own(container, "requests")), read(_own(container, "limits")))
            for name in required - declared.keys():
                silent.setdefault(name, set()).add(container.get("name") or "")
    parts = [f"{name} for: {','.join(sorted(silent[name]))}" for name in sorted(silent)]
    return f"must specify {'; '.join(parts)}" if parts else ""


# --- scopes ---


def is_terminating(pod: Object) -> bool:
    """Returns True if the pod has an active deadline (scope Terminating)."""
    return bool((pod["spec"].get("activeDeadlineSeconds") or 0) >= 0) and "activeDeadlineSeconds" in pod["spec"]


def is_best_effort(pod: Object) -> bool:
    return quality_of_service(pod["spec"]) == "BestEffort"


def has_cross_namespace_affinity(pod: Object) -> bool:
    """Returns True if the pod's affinity refers to pods of other namespaces."""
    affinity = pod["spec"].get("affinity") or {}
    terms: list[Object] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms += rules.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        terms += [weighted.get("podAffinityTerm") or {} for weighted in preferred]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)
