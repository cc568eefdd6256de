"""The status of a daemon set: the numbers of its nodes and pods."""

from setpoint.objects.tree import Object
from setpoint.system.daemonset.placement import is_updated
from setpoint.system.daemonset.plan import View, oldest_first
from setpoint.system.pods.state import is_ready
from setpoint.system.turns import in_turns

_REQUIRED = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
_OPTIONAL = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")


async def new_status(view: View) -> Object | None:
    """Returns the status of a daemon set; None if the status is unchanged."""
    before = view.daemon_set.get("status") or {}
    numbers = dict.fromkeys((*_REQUIRED, *_OPTIONAL), 0)
    async for name, decision in in_turns(view, tuple(view.nodes.items())):
        pods = view.pods.get(name)
        if not decision.should_run:
            numbers["numberMisscheduled"] += bool(pods)
            continue
        numbers["desiredNumberScheduled"] += 1
        if not pods:
            continue
        pod = oldest_first(pods)[0]
        numbers["currentNumberScheduled"] += 1
        numbers["numberReady"] += is_ready(pod)
        numbers["numberAvailable"] += view.is_available(pod)
        numbers["updatedNumberScheduled"] += is_updated(pod, view.daemon_set, view.revision)
    numbers["numberUnavailable"] = numbers["desiredNumberScheduled"] - numbers["numberAvailable"]
    generation = view.daemon_set["metadata"].get("generation", 0)
    is_same = all(before.get(name, 0) == number for name, number in numbers.items())
    if is_same and before.get("observedGeneration", 0) >= generation:
        return None
    kept = {name: value for name, value in before.items() if name not in _OPTIONAL}
    shown = {name: number for name, number in numbers.items() if number or name in _REQUIRED}
    return {**kept, **shown, "observedGeneration": generation}
