"""The saved files that restarted workloads, as far as statuses name them. Pure functions of the facts."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from setpoint.objects import conditions
from setpoint.objects.tree import Object
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import Revision
from setpoint.past.why.crashes import called
from setpoint.past.why.facts import Facts
from setpoint.past.why.times import moment_of
from setpoint.workload.restart_reasons import ChangedFiles, changed_files

_RESTARTING = "Restarting"
# Several workloads that watch a file notice a save at slightly different times.
_SAME_SAVE_SECONDS = 2.0


class FileRestart(NamedTuple):
    """A restart of a workload because of saved files."""

    place: ObjectReference
    # The number of the run that follows the restart.
    run: int
    files: ChangedFiles
    time: datetime
    # The display name of the workload.
    name: str
    # False for the start of the run, which statuses have in whole seconds; True for the time of a revision.
    is_exact: bool

    @property
    def order(self) -> tuple[bool, datetime]:
        """The restart with the least one has the time closest to the save."""
        return not self.is_exact, self.time


class Save:
    """One save and the restarts that followed."""

    def __init__(self, first: FileRestart) -> None:
        self.files = first.files
        self._restarts = {first.place: first}
        # Has no path, which may contain a secret.
        self.id = f"file:{first.place.group_resource}:{first.place.key}:{first.run}"

    def add(self, restart: FileRestart) -> bool:
        """Adds a restart. Returns False if the restart belongs to another save."""
        known = self._restarts.get(restart.place)
        if known is not None and known.run != restart.run:
            return False
        is_near = abs((restart.time - self.time).total_seconds()) <= _SAME_SAVE_SECONDS
        if restart.files.path != self.files.path or (known is None and not is_near):
            return False
        if known is None or restart.order < known.order:
            self._restarts[restart.place] = restart
        return True

    @property
    def time(self) -> datetime:
        """The time at which the save was noticed."""
        return min(each.order for each in self._restarts.values())[1]

    @property
    def restarted(self) -> list[str]:
        """The names of the restarted workloads."""
        return sorted(each.name for each in self._restarts.values())


class Saves:
    """The saves that an explanation refers to."""

    def __init__(self, facts: Facts) -> None:
        self._found: list[Save] = []
        # A stop tells the time of a save, also if only the next start is in the chain of causes.
        for revision in facts.history:
            if (restart := restart_before(revision)) is not None:
                self.save_of(restart)

    def save_of(self, restart: FileRestart) -> Save:
        """Returns the save behind a restart."""
        for each in self._found:
            if each.add(restart):
                return each
        self._found.append(Save(restart))
        return self._found[-1]


def restart_before(write: Revision) -> FileRestart | None:
    """Returns the restart by a saved file that a write reports: the stop of the old run, or the start of the next."""
    tree = write.raw or {}
    status = tree.get("status") or {}
    run = status.get("restartCount") or 0
    ready = conditions.of(tree, "Ready")
    if ready.get("reason") == _RESTARTING:
        return _restart(write.place, tree, run + 1, ready.get("message"), write.time, is_exact=True)
    paths = {change.path for change in write.changes}
    if paths.isdisjoint(("status.startupTimestamp", "status.restartReason", "status.restartCount")):
        return None
    return _restart(write.place, tree, run, status.get("restartReason"), write.time, is_exact=True)


def last_restarts(facts: Facts) -> Iterator[FileRestart]:
    """Yields the last restarts of a workload, or of the replicas of a set, that saved files caused."""
    for revision in reversed(facts.history):
        ready = conditions.of(revision.raw or {}, "Ready")
        if ready.get("reason") == _RESTARTING and ready.get("message"):
            if (restart := restart_before(revision)) is not None:
                yield restart
            return
    for place, tree in ((facts.place, facts.tree), *((each.place, each.tree) for each in facts.owned)):
        status = (tree or {}).get("status") or {}
        run = status.get("restartCount") or 0
        started = moment_of(status.get("startupTimestamp") or "") or facts.now
        restart = _restart(place, tree or {}, run, status.get("restartReason"), started, is_exact=False)
        if restart is not None:
            yield restart


def _restart(
    place: ObjectReference, tree: Object, run: int, reason: str | None, time: datetime, *, is_exact: bool
) -> FileRestart | None:
    files = changed_files(reason or "")
    return None if files is None else FileRestart(place, run, files, time, called(tree), is_exact)
