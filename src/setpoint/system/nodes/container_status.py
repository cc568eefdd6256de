"""The status of one container on a simulated node, in each of its states. Pure functions."""

from datetime import datetime
from hashlib import sha256

from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.node_scripts import Behaviour

KILLED_CODE = 137


def waiting(pod: Object, container: Object, reason: str, message: str = "") -> Object:
    """Returns the status of a container that was never started."""
    state = {"reason": reason, **({"message": message} if message else {})}
    image = container.get("image", "")
    fields = {"name": container["name"], "image": image, "imageID": "", "restartCount": 0, "lastState": {}}
    return {**fields, "ready": False, "started": False, "state": {"waiting": state}}


def running(pod: Object, container: Object, run: int, last_state: Object, now: datetime) -> Object:
    """Returns the status of a container at the start of a run."""
    image = container.get("image", "")
    identity = sha256(f"{pod['metadata']['uid']}/{container['name']}/{run}".encode()).hexdigest()
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"simulated://{image}",
        "containerID": f"simulated://{identity}",
        "restartCount": run,
        "lastState": last_state,
        "ready": False,
        "started": False,
        "state": {"running": {"startedAt": format_time(now)}},
    }


def reported(status: Object) -> Object:
    """Returns the status of a pod as a node sends the status: without the empty last states of containers, which the
    server adds. A server compares every empty value of a request with the object again."""
    found = dict(status)
    for name in ("containerStatuses", "initContainerStatuses"):
        if name in found:
            found[name] = [
                {field: value for field, value in each.items() if field != "lastState" or value} for each in found[name]
            ]
    return found


def ended(status: Object, code: int, now: datetime, behaviour: Behaviour | None = None) -> Object:
    """Returns the state of a running container after its end."""
    reason = (behaviour.reason if behaviour else "") or ("Error" if code else "Completed")
    found = {"exitCode": code, "reason": reason}
    if behaviour is not None and behaviour.message:
        found["message"] = behaviour.message
    found["startedAt"] = status["state"]["running"]["startedAt"]
    found["finishedAt"] = format_time(now)
    found["containerID"] = status["containerID"]
    return {"terminated": found}


def stopped(status: Object, code: int, now: datetime) -> Object:
    """Returns the status of a container that its node has stopped; only a running one changes."""
    if "running" not in status["state"]:
        return status
    return {**status, "ready": False, "started": False, "state": ended(status, code, now)}


def backing_off(pod: Object, status: Object, last_state: Object, seconds: int) -> Object:
    """Returns the status of a container between two runs."""
    metadata = pod["metadata"]
    place = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    text = f"back-off {duration(seconds)} restarting failed container={status['name']} pod={place}"
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
    return {**status, "ready": False, "started": False, "lastState": last_state, "state": state}


def duration(seconds: int) -> str:
    """Returns seconds in the form of Go, such as `2m40s`."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def exit_code(status: Object) -> int | None:
    """Returns the exit code of a container that has ended for good, or None."""
    found = status["state"].get("terminated")
    return None if found is None else found["exitCode"]


def started_at(status: Object) -> datetime:
    """Returns the reported start of a running container."""
    return parse_time(status["state"]["running"]["startedAt"])
