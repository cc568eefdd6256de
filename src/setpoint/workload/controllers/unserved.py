"""The reason why no workload serves a Service now, from the states of the workloads that should. No I/O."""

from collections.abc import Iterable

from setpoint.objects import conditions, meta
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.progress import is_suspended
from setpoint.workload.proxy.refusal import Unserved
from setpoint.workload.service_producers import serves

_KINDS = ("Executable", "Container", "ExecutableReplicaSet")
# The reasons of a stop that a start follows.
_RESTARTS = ("Restarting", "LivenessProbeFailed", "EndingChildren")
# The reasons of states that change only by an action of a user, or after a longer time.
_STUCK = ("BackOff", "Deadlock", "NotStarted", "HeldElsewhere", "TooManyRestarts")
_ENDED = ("Finished", "Terminated", "FailedToStart", "Unknown", "Exited", "NotFound", "RuntimeUnhealthy")


def unserved(service: str, objects: Iterable[Object]) -> Unserved:
    """Returns the state of the workloads that should serve a Service. The connection waits if one of them is
    starting."""
    found = [_state(service, tree) for tree in objects if tree["kind"] in _KINDS and service in serves(tree)]
    sets = {each.workload for each in found if each.state == "starting its replicas"}
    starting = next((each for each in found if each.waits and each.workload not in sets), None)
    failed = next((each for each in found if not each.waits), None)
    nobody = Unserved(service, True, "not served by any workload")
    return starting or failed or next(iter(found), nobody)


def _state(service: str, tree: Object) -> Unserved:
    name, status = meta.name(tree), tree.get("status") or {}
    condition = conditions.of(tree, "Ready", "Started")
    reason = condition.get("reason", "")
    message = condition.get("message", "").partition("; last output:")[0]
    state = status.get("state", "")
    if is_suspended(tree):
        return Unserved(service, False, "stopped", f"`setpoint start {name}` starts it again", name)
    if meta.is_being_deleted(tree):
        return Unserved(service, False, "being deleted", "", name)
    if tree["kind"] == "ExecutableReplicaSet":
        return Unserved(service, True, "starting its replicas", message, name)
    if meta.annotations(tree).get(RESTART_REQUESTED, "") != status.get("observedRestart", ""):
        return Unserved(service, True, "restarting", message, name)
    if reason.startswith("Waiting"):
        return Unserved(service, False, "waiting", message, name)
    if state in _ENDED or reason in _STUCK:
        return Unserved(service, False, "not running", message or state, name)
    if state == "Stopping":
        waits = reason in _RESTARTS
        return Unserved(service, waits, "restarting" if waits else "stopping", message, name)
    return Unserved(service, True, "starting", message, name)
