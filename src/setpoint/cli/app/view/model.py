"""The state of an app: takes objects, returns table rows and messages. Pure; callers pass the time.

`put` takes every changed object and records transitions that would be lost between two calls of `refresh`. `refresh`
evaluates the changed parts and returns the messages about them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from setpoint.cli.app.view import notices
from setpoint.cli.app.view.part_record import ABSENT, News, Track, first_line, rounded_up
from setpoint.cli.app.view.parts import After, Part, part_name, part_of
from setpoint.cli.app.view.status_text import SETTLED, PartStatus, how_is, is_seen, ready_since
from setpoint.cli.output.terminal import Meaning
from setpoint.cli.workloads.inventory import RUNNING, SERVICE, Workload, arranged
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.progress import progress

# Parts with this many restarts are not waited for any more.
_MANY_RESTARTS = 2


class Row(NamedTuple):
    """A row of the table. `seconds` is the duration so far, or the total duration if `took` is set."""

    name: str
    kind: str
    detail: str
    state: str
    meaning: Meaning
    seconds: float | None = None
    took: bool = False
    note: str = ""


class Verdict(NamedTuple):
    """The state of the whole app. `stuck` means that waiting longer is useless."""

    ready: bool
    failed: tuple[str, ...] = ()
    stuck: bool = False
    waiting: tuple[str, ...] = ()


class Model:
    """The parts of an app. `began` is the start time; None if durations are unknown."""

    def __init__(self, parts: Sequence[Part], began: datetime | None = None) -> None:
        self._began = began
        self._tracks = {part.name: Track(part) for part in parts}
        self._changed: set[str] = set()
        self._by_name: dict[tuple[str, str], Object] = {}
        # The time since when each object is ready, by uid.
        self._ready_since: dict[str, datetime] = {}
        self._is_started = False
        self._updated_at: datetime | None = None

    # Objects

    def put(self, tree: Object, now: datetime) -> None:
        """Adds or updates an object."""
        self._by_name[tree["kind"], meta.name(tree)] = tree
        name = part_name(tree)
        if not name:
            return
        if name not in self._tracks:
            if tree["kind"] not in RUNNING or meta.owner_references(tree) or (tree.get("spec") or {}).get("suspend"):
                return  # a task without automatic start is not shown
            self._tracks[name] = Track(part_of(tree))
        track = self._tracks[name]
        is_new = meta.uid(tree) not in track.trees
        track.trees[meta.uid(tree)] = tree
        self._changed.add(name)
        track.seen_at = track.seen_at or now
        if tree["kind"] != SERVICE:
            # Objects that were ready before the first look carry the time in their status.
            self._note(track, tree, min(ready_since(tree) or now, now) if is_new else now)

    def remove(self, tree: Object) -> None:
        """Removes a deleted object."""
        known = self._by_name.get((tree["kind"], meta.name(tree)))
        if known is not None and meta.uid(known) == meta.uid(tree):
            del self._by_name[tree["kind"], meta.name(tree)]
        self._ready_since.pop(meta.uid(tree), None)
        track = self._tracks.get(part_name(tree))
        if track is not None and track.trees.pop(meta.uid(tree), None) is not None:
            self._changed.add(track.part.name)

    def _note(self, track: Track, tree: Object, now: datetime) -> None:
        uid, how_far = meta.uid(tree), progress(tree)
        if (how_far.ready or how_far.succeeded) and is_seen(tree):
            self._ready_since.setdefault(uid, now)
        else:
            self._ready_since.pop(uid, None)
        if how_far.started and track.started_at is None and not meta.owner_references(tree):
            track.started_at = now
        for each in (tree.get("status") or {}).get("conditions") or ():
            if each["type"] == "Started" and each["reason"] in ("Restarting", "LivenessProbeFailed"):
                track.left_at = track.left_at or now

    # Evaluation

    def refresh(self, now: datetime) -> list[News]:
        """Evaluates all changed parts and returns the new messages."""
        found: list[News] = []
        for name, track in list(self._tracks.items()):
            if name in self._changed or track.how.phase in ("waiting", "absent"):
                found += self._update(track, now)
        self._changed.clear()
        self._updated_at = now
        # When all parts are deleted, single parts are not reported.
        if self._is_started and any(track.workload is not None for track in self._tracks.values()):
            found += [each for track in self._tracks.values() for each in notices.lasting(track, now)]
        return found

    def _update(self, track: Track, now: datetime) -> Iterator[News]:
        before, had = track.how, track.workload
        tops = arranged(track.trees.values())
        track.workload = tops[0] if tops else None
        if track.workload is None:
            how = ABSENT if had is None and before == ABSENT else PartStatus("absent", "removed")
        else:
            how = how_is(track.workload, lambda kind, name: self._by_name.get((kind, name)))
        if how.phase == "starting" and track.was_ready and how.ready < before.ready and before.is_same_run(how):
            how = how._replace(phase="unready", text="not ready")
        if how.phase == "stopped":
            track.since_well = "stopped"
        elif track.since_well != "stopped" and (how.phase == "restarting" or not how.is_same_run(before)):
            track.since_well = "restarted"
        if before.phase != how.phase:
            track.since, track.is_delay_reported = now, False
        track.since = track.since or now
        track.how = how
        if how.phase in ("ready", "done"):
            self._reaches(track, had is None, now)
        elif before.phase in ("ready", "done"):
            track.left_at = track.left_at or now
            if not self._is_started:
                track.reached_at = None  # only momentarily
        if self._is_started:
            yield from notices.later(track, before, self._ready_at(track, now), now)
        else:
            yield from notices.at_first(track, before, self._duration(track), now)
        if how.phase in ("ready", "done"):
            track.was_ready = how.phase == "ready"
        elif how.phase not in ("unready", "starting"):
            track.was_ready = False

    def _reaches(self, track: Track, first: bool, now: datetime) -> None:
        """Records the time at which the part became ready or done, if that was after the start of the view."""
        if track.reached_at is not None or track.workload is None or self._began is None:
            return
        started = track.started()
        if not (first and started is not None and started < self._began):
            since = self._ready_at(track, now)
            # The workload may have been ready for long, while its Service was not.
            track.reached_at = since if first or self._updated_at is None or since >= self._updated_at else now

    def _ready_at(self, track: Track, now: datetime) -> datetime:
        """Returns the time since when the part, with all its replicas, is ready or done."""
        found = self._ready_since.get(meta.uid(track.workload.tree)) if track.workload is not None else None
        if found is not None and track.workload is not None:
            of_each = (self._ready_since.get(meta.uid(each.tree), found) for each in track.workload.children)
            found = max((found, *of_each))
        # Replicas may restart so fast that the set never reports an unready state.
        return now if found is None or (track.left_at is not None and found < track.left_at) else found

    def finish_starting(self) -> None:
        """Ends the starting phase. From now on, changes are reported as messages."""
        self._is_started = True
        for track in self._tracks.values():
            track.is_delay_reported, track.left_at, track.since_well = True, None, ""
            track.is_failure_reported = track.how.phase in ("failing", "failed", "unready")
            track.reported_failures = {(track.how.replica, track.how.due)} if track.is_failure_reported else set()

    def failure(self, name: str, now: datetime) -> News:
        """Returns the message about a failed part."""
        return notices.failure(self._tracks[name], now)

    @property
    def has_pending(self) -> bool:
        """True if a part is in a state that changes its display with time."""
        return any(
            track.held is not None or track.how.phase not in SETTLED | {"failed", "absent"}
            for track in self._tracks.values()
        )

    # Display

    def rows(self, now: datetime) -> list[Row]:
        """Returns the rows of all parts in start order."""
        return [self._row(track, now) for track in self._tracks.values() if track.is_there]

    def _row(self, track: Track, now: datetime) -> Row:
        how, part = track.how, track.part
        state = how.text
        if how.phase == "failing":
            left = (how.due - now).total_seconds() if how.due is not None else 0.0
            state = f"restarting in {rounded_up(left)}s" if left > 0 else "restarting"
        seconds = self._duration(track) if how.phase in ("ready", "done") else self._seconds_so_far(track, now)
        took = how.phase in ("ready", "done") and seconds is not None
        return Row(
            part.name, part.kind, self._detail(track), state, how.meaning, seconds, took, self._remark(track, now)
        )

    def _detail(self, track: Track) -> str:
        part, workload = track.part, track.workload
        ports = _ports(track.trees.values())
        several = f"×{workload.replicas}" if workload is not None and "replicas" in workload.tree["spec"] else ""
        return " ".join(filter(None, (part.detail, *ports, several)))

    def _remark(self, track: Track, now: datetime) -> str:
        """Returns the reason why the part is not ready if known, otherwise its dependencies."""
        how, who = track.how, f"{track.how.replica}: " if track.how.replica else ""
        if how.phase == "failing":
            return who + (how.end or first_line(how.why))
        if how.phase == "failed" and how.why and not how.text.startswith("failed:"):
            return who + first_line(how.why)
        is_slow = how.phase in ("starting", "restarting", "waiting") and notices.is_long(track, now)
        if how.phase == "unready" or (is_slow and how.why):
            return who + first_line(how.why)
        after = ", ".join(each.name for each in track.part.after)
        return f"after {after}" if after else ""

    def workloads(self) -> dict[str, Workload]:
        """Returns the workloads of the parts, by name."""
        return {name: track.workload for name, track in self._tracks.items() if track.workload is not None}

    # The whole app

    def verdict(self) -> Verdict:
        """Returns the state of the whole app."""
        phases = {name: track.how.phase for name, track in self._tracks.items() if track.is_there}
        failed = tuple(name for name, phase in phases.items() if phase == "failed")
        hopeless = {
            name
            for name, track in self._tracks.items()
            if track.how.phase == "failed" or (track.how.phase == "failing" and track.how.restarts >= _MANY_RESTARTS)
        }
        unsettled = tuple(name for name, phase in phases.items() if phase not in SETTLED)
        stuck = bool(hopeless) and all(name in hopeless or self._waits_for(name, hopeless) for name in unsettled)
        # An app may have controllers and objects only, without running parts.
        is_known = bool(phases) or not self._tracks
        return Verdict(not unsettled and is_known, failed, stuck, unsettled)

    def _waits_for(self, name: str, hopeless: Iterable[str]) -> bool:
        """Returns True if the part waits, directly or indirectly, for one of the failed parts."""
        track = self._tracks.get(name)
        if track is None or track.how.phase != "waiting":
            return False
        names = [each.name for each in track.part.after]
        return any(each in hopeless or (each != name and self._waits_for(each, hopeless)) for each in names)

    def seconds(self) -> float | None:
        """Returns the seconds until all started parts were ready."""
        times = [track.reached_at for track in self._tracks.values() if track.reached_at is not None]
        return (max(times) - self._began).total_seconds() if times and self._began is not None else None

    def critical_path(self) -> list[str]:
        """Returns the chain of dependencies that determined the total start time; its last part was ready last."""
        reached = {name: track for name, track in self._tracks.items() if track.reached_at is not None}
        if not reached:
            return []
        track: Track | None = _last_of(list(reached.values()))
        path: list[str] = []
        while track is not None and track.part.name not in path:
            path.insert(0, track.part.name)
            times = [(time, each.name) for each in track.part.after if (time := self._came(each)) is not None]
            track = reached.get(max(times)[1]) if times else None
        return path

    def _came(self, after: After) -> datetime | None:
        """Returns the time at which the dependency was satisfied."""
        track = self._tracks.get(after.name)
        if track is None or track.reached_at is None:
            return None
        return track.started_at or track.reached_at if after.started else track.reached_at

    def _could_begin(self, track: Track) -> datetime | None:
        """Returns the time at which the part could begin: when its dependencies were satisfied, or when the object was
        created.
        """
        if self._began is None:
            return None
        came = [time for each in track.part.after if (time := self._came(each)) is not None]
        made = [time for time in (track.seen_at, track.started()) if time is not None]
        return max(came) if came else max(min(made, default=self._began), self._began)

    def _duration(self, track: Track) -> float | None:
        begun = self._could_begin(track)
        if track.reached_at is None or begun is None:
            return None
        return max((track.reached_at - begun).total_seconds(), 0.0)

    def _seconds_so_far(self, track: Track, now: datetime) -> float | None:
        if track.how.phase not in ("starting", "restarting", "unready") or track.since is None:
            return None
        begun = (self._could_begin(track) if track.reached_at is None else None) or track.since
        return (now - begun).total_seconds()


def _last_of(reached: Sequence[Track]) -> Track:
    """Returns the part that was ready last. Each kind has a separate watch, so the readiness of a part can come before
    the readiness of its dependency. The dependency was ready first, unless the dependency became unready meanwhile.
    """
    last, passed = max(reached, key=_reached_at), set[str]()
    while last.left_at is None and (later := [each for each in reached if _waited(each, last.part.name, passed)]):
        passed.add(last.part.name)
        last = max(later, key=_reached_at)
    return last


def _waited(track: Track, name: str, passed: Collection[str]) -> bool:
    return track.part.name not in passed and any(each.name == name and not each.started for each in track.part.after)


def _reached_at(track: Track) -> datetime:
    return track.reached_at or datetime.min


def _ports(trees: Iterable[Object]) -> list[str]:
    found = sorted(
        (meta.name(tree), (tree.get("status") or {}).get("effectivePort")) for tree in trees if tree["kind"] == SERVICE
    )
    return [f":{port}" for _, port in found if port]
