"""What the admission plugins that are on by default do to a pod without asking anybody: tolerations and priority.

Nobody comes to own what they add, as it is added after the managed fields are made.
"""

from setpoint.objects.tree import Object

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# The classes that every cluster has.
_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def tolerate_unready_nodes(spec: Object) -> None:
    """A pod stays for a while on a node that is not ready or out of reach, unless it says otherwise itself."""
    tolerations = spec.get("tolerations") or []
    missing = [taint for taint in _TAINTS if not any(_covers(toleration, taint) for toleration in tolerations)]
    if missing:
        spec["tolerations"] = [
            *tolerations,
            *(
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
                for taint in missing
            ),
        ]


def _covers(toleration: Object, taint: str) -> bool:
    return toleration.get("key", "") in (taint, "") and toleration.get("effect", "") in ("NoExecute", "")


def give_priority(spec: Object, stored: Object | None) -> None:
    """The priority of a pod follows from its class, and never changes."""
    if stored is not None:
        for name in ("priority", "preemptionPolicy"):
            if name not in spec and name in stored:
                spec[name] = stored[name]
        return
    spec["priority"] = _PRIORITIES.get(spec.get("priorityClassName") or "", spec.get("priority", 0))
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
