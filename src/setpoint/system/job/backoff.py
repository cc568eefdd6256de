"""The delay before a failed pod is replaced: ten seconds, doubled with each further failure, at most ten minutes."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import condition_of

FIRST_SECONDS, MOST_SECONDS = 10.0, 600.0


class Backoff(NamedTuple):
    """The failures of a job since its last success."""

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Sequence[Object], failed: Sequence[Object]) -> "Backoff":
        """Returns the state after further pods have ended."""
        times = sorted(map(finished_at, failed))
        if not succeeded:
            return Backoff(self.failures + len(times), times[-1]) if times else self
        last_success = max(map(finished_at, succeeded))
        later = [each for each in times if each > last_success]
        return Backoff(len(later), later[-1] if later else None)

    def seconds_left(self, now: datetime) -> float:
        """Returns the seconds until the next pod may be created."""
        if not self.failures or self.last_failure is None:
            return 0.0
        # The largest useful power is 6: a larger one could overflow.
        delay = min(FIRST_SECONDS * 2.0 ** min(self.failures - 1, 6), MOST_SECONDS)
        return max(delay - (now - self.last_failure).total_seconds(), 0.0)


def finished_at(pod: Object) -> datetime:
    """Returns the time at which a pod ended: that of its last container, of the end of its readiness, or of its
    deletion."""
    metadata, ready = pod["metadata"], condition_of(pod, "Ready")
    found = _end_of_containers(pod)
    if found is not None:
        return found
    if ready is not None and ready["status"] == "False" and ready.get("lastTransitionTime"):
        return parse_time(ready["lastTransitionTime"])
    if metadata.get("deletionTimestamp"):
        grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
        return parse_time(metadata["deletionTimestamp"]) - grace
    return parse_time(metadata["creationTimestamp"])


def _end_of_containers(pod: Object) -> datetime | None:
    """Returns the end of the last container or sidecar; None if one of them has not ended."""
    status = pod.get("status") or {}
    init = pod["spec"].get("initContainers") or ()
    sidecars = {each["name"] for each in init if each.get("restartPolicy") == "Always"}
    ends = _ends(status.get("containerStatuses") or (), lambda name: True)
    beside = _ends(status.get("initContainerStatuses") or (), sidecars.__contains__)
    if ends is None or beside is None:
        return None
    return max((*ends, *beside), default=None)


def _ends(statuses: Iterable[Object], counts: Callable[[str], bool]) -> list[datetime] | None:
    found = []
    for each in statuses:
        if counts(each["name"]):
            end = ((each.get("state") or {}).get("terminated") or {}).get("finishedAt")
            if not end:
                return None
            found.append(parse_time(end))
    return found
