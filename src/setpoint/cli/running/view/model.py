"""What is known of an app that starts and runs: objects come in, rows and news come out. Pure: it is told the time.

Every object that changed is told to `put`, which notes what would otherwise be missed between two looks; `refresh` then
judges all parts that something happened to, and says what of it is news.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.cli.printing.terminal import Meaning
from setpoint.cli.running.view.how import SETTLED, How, how_is
from setpoint.cli.running.view.parts import After, Part, part_name, part_of
from setpoint.cli.workloads.reading import RUNNING, SERVICE, Workload, arranged
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.progress import progress

# What takes longer than this is told while it goes on; before, only how it ended.
_LONG = timedelta(seconds=2)
# What has failed so often is not waited for any more.
_MANY_RESTARTS = 2


class Row(NamedTuple):
    """A part as it is shown. `seconds` is how long it took, or has taken; `took` says which."""

    name: str
    kind: str
    detail: str
    state: str
    meaning: Meaning
    seconds: float | None = None
    took: bool = False
    note: str = ""


class News(NamedTuple):
    """Something that happened. `failed` is the part to be explained."""

    text: str
    meaning: Meaning = ""
    failed: str = ""


class Verdict(NamedTuple):
    """How the app is as a whole: all is ready, or these have failed; `stuck`: nothing more will come of waiting."""

    ready: bool
    failed: tuple[str, ...] = ()
    stuck: bool = False
    waiting: tuple[str, ...] = ()


ABSENT = How("absent", "waiting to be made")


@dataclass
class _Track:
    """What is known of one part."""

    part: Part
    how: How = ABSENT
    since: datetime | None = None
    workload: Workload | None = None
    started_at: datetime | None = None
    reached_at: datetime | None = None
    # When it ceased to be ready, and why it starts again.
    left_at: datetime | None = None
    reason: str = ""
    # Whether it was told that something is wrong, and that something goes on.
    is_bad_told: bool = False
    is_long_told: bool = False
    was_ready: bool = False
    trees: dict[str, Object] = field(default_factory=dict)


class Model:
    """The parts of one app. `began` is when it was started; without it nobody knows how long anything took."""

    def __init__(self, parts: Sequence[Part], began: datetime | None = None) -> None:
        self._began = began
        self._tracks = {part.name: _Track(part) for part in parts}
        self._changed: set[str] = set()
        self._by_name: dict[tuple[str, str], Object] = {}
        # Since when what runs has been ready, by uid.
        self._ready_since: dict[str, datetime] = {}
        self._is_settled = False

    # Objects

    def put(self, tree: Object, now: datetime) -> None:
        """An object is there, or has changed."""
        self._by_name[tree["kind"], meta.name(tree)] = tree
        name = part_name(tree)
        if not name:
            return
        if name not in self._tracks:
            if tree["kind"] not in RUNNING or meta.owner_references(tree) or (tree.get("spec") or {}).get("suspend"):
                return  # a task that is run by hand is no part of what should run
            self._tracks[name] = _Track(part_of(tree))
        track = self._tracks[name]
        track.trees[meta.uid(tree)] = tree
        self._changed.add(name)
        if tree["kind"] != SERVICE:
            self._note(track, tree, now)

    def remove(self, tree: Object, now: datetime) -> None:
        """An object is gone."""
        known = self._by_name.get((tree["kind"], meta.name(tree)))
        if known is not None and meta.uid(known) == meta.uid(tree):
            del self._by_name[tree["kind"], meta.name(tree)]
        self._ready_since.pop(meta.uid(tree), None)
        track = self._tracks.get(part_name(tree))
        if track is not None and track.trees.pop(meta.uid(tree), None) is not None:
            self._changed.add(track.part.name)

    def _note(self, track: _Track, tree: Object, now: datetime) -> None:
        uid, how_far = meta.uid(tree), progress(tree)
        if how_far.ready or how_far.succeeded:
            self._ready_since.setdefault(uid, now)
        else:
            self._ready_since.pop(uid, None)
        if how_far.started and track.started_at is None and not meta.owner_references(tree):
            track.started_at = now
        for each in (tree.get("status") or {}).get("conditions") or ():
            if each["type"] == "Started" and each["reason"] in ("Restarting", "LivenessProbeFailed"):
                track.reason = each["message"]
                track.left_at = track.left_at or now

    # Judging

    def refresh(self, now: datetime) -> list[News]:
        """Looks at all that changed. What is news since the last time."""
        found: list[News] = []
        for name, track in list(self._tracks.items()):
            if name in self._changed or track.how.phase in ("waiting", "absent"):
                found += self._look(track, now)
            found += self._long(track, now)
        self._changed.clear()
        return found

    def _look(self, track: _Track, now: datetime) -> Iterator[News]:
        before, had = track.how, track.workload
        tops = arranged(track.trees.values())
        track.workload = tops[0] if tops else None
        if track.workload is None:
            how = ABSENT if had is None and before == ABSENT else How("absent", "removed")
        else:
            how = how_is(track.workload, lambda kind, name: self._by_name.get((kind, name)))
        if how.phase == "starting" and track.was_ready and before.restarts == how.restarts and not track.reason:
            how = how._replace(phase="unready", text="not ready")
        if before.phase != how.phase:
            track.since, track.is_long_told = now, False
        first = track.since is None
        track.since = track.since or now
        track.how = how
        if how.phase in ("ready", "done"):
            self._reaches(track, first, now)
        elif before.phase in ("ready", "done"):
            track.left_at = track.left_at or now
        yield from self._later(track, before, now) if self._is_settled else self._at_first(track, before)
        if how.phase in ("ready", "done"):
            track.reason, track.left_at, track.is_bad_told, track.was_ready = "", None, False, how.phase == "ready"
        elif how.phase not in ("unready", "starting"):
            track.was_ready = False

    def _reaches(self, track: _Track, first: bool, now: datetime) -> None:
        """It is ready or done; when it came to that is known unless it was so before anybody looked."""
        if track.reached_at is not None or track.workload is None or self._began is None:
            return
        if not (first and _is_older(track.workload, self._began)):
            track.reached_at = self._ready_at(track, now)

    def _ready_at(self, track: _Track, now: datetime) -> datetime:
        """Since when it is ready or done."""
        return self._ready_since.get(meta.uid(track.workload.tree), now) if track.workload is not None else now

    # News

    def _at_first(self, track: _Track, before: How) -> Iterator[News]:
        """While the app starts every step is told."""
        how, name = track.how, track.part.name
        if _words(how) == _words(before) or how.phase == "absent":
            return
        seconds = self._seconds_taken(track)
        took = f" ({_span(seconds)})" if seconds is not None and how.phase in ("ready", "done") else ""
        if how.phase in ("failing", "failed"):
            yield _failure(track)
        else:
            yield News(f"{name} {how.text}{took}", how.meaning)

    def _later(self, track: _Track, before: How, now: datetime) -> Iterator[News]:
        """Once it runs only what a person may want to know is told, when it is over."""
        how, name = track.how, track.part.name
        if how.phase in ("ready", "done"):
            if before.phase in ("ready", "done") and how.restarts == before.restarts:
                return
            left = track.left_at
            took = f" ({_span((self._ready_at(track, now) - left).total_seconds())})" if left is not None else ""
            if track.is_bad_told:
                yield News(f"{name} {how.text} again{took if track.reason else ''}{_because(track)}", "good")
            elif how.phase == "done" or before.phase in ("absent", "stopped"):
                yield News(f"{name} {how.text}{took}", "good")
            else:
                yield News(f"{name} restarted{_because(track)}{took}", "good")
        elif how.phase in ("failing", "failed"):
            if (how.phase, how.end, how.due) != (before.phase, before.end, before.due):
                track.is_bad_told = True
                yield _failure(track)
        elif how.phase != before.phase:
            if how.phase == "unready":
                track.is_bad_told = True
                yield News(f"{name} is not ready: {_first_line(how.why)} · setpoint why {name}", "bad")
            elif how.phase == "stopped":
                yield News(f"{name} stopped")
            elif how.phase == "absent" and before.phase != "absent":
                yield News(f"{name} removed")

    def _long(self, track: _Track, now: datetime) -> Iterator[News]:
        """What goes on for a while is told though it is not over."""
        how, since = track.how, track.since
        if not self._is_settled or track.is_long_told or since is None or now - since < _LONG:
            return
        if how.phase in ("starting", "restarting", "waiting"):
            track.is_long_told = True
            yield News(f"{track.part.name} is {how.text}{_because(track)}", "pending")

    def settle(self) -> None:
        """The beginning is over: what is so by now was shown, and what happens from now on is told in sentences."""
        self._is_settled = True
        for track in self._tracks.values():
            track.is_long_told = True
            track.is_bad_told = track.how.phase in ("failing", "failed", "unready")

    def failure(self, name: str) -> News:
        """That a part has failed, and how."""
        return _failure(self._tracks[name])

    @property
    def has_pending(self) -> bool:
        """Whether something goes on that time alone makes news of, or shows differently."""
        return any(track.how.phase not in SETTLED | {"failed", "absent"} for track in self._tracks.values())

    # What is shown

    def rows(self, now: datetime) -> list[Row]:
        """All parts, in the order in which they start."""
        return [self._row(track, now) for track in self._tracks.values() if track.how.text != "removed"]

    def _row(self, track: _Track, now: datetime) -> Row:
        how, part = track.how, track.part
        state = how.text
        if how.phase == "failing":
            left = (how.due - now).total_seconds() if how.due is not None else 0.0
            state = f"restarting in {_whole(left)}s" if left > 0 else "restarting"
        seconds = self._seconds_taken(track) if how.phase in ("ready", "done") else self._seconds_so_far(track, now)
        took = how.phase in ("ready", "done") and seconds is not None
        return Row(
            part.name, part.kind, self._detail(track), state, how.meaning, seconds, took, self._remark(track, now)
        )

    def _detail(self, track: _Track) -> str:
        part, workload = track.part, track.workload
        ports = _ports(track.trees.values())
        several = f"×{workload.replicas}" if workload is not None and "replicas" in workload.tree["spec"] else ""
        return " ".join(filter(None, (part.detail, *ports, several)))

    def _remark(self, track: _Track, now: datetime) -> str:
        """What keeps it from being ready, where it says so; what it comes after, otherwise."""
        how, who = track.how, f"{track.how.who}: " if track.how.who else ""
        if how.phase == "failing":
            return who + (how.end or _first_line(how.why))
        if how.phase == "failed" and how.why and not how.end:
            return who + _first_line(how.why)
        is_late = track.since is not None and now - track.since >= _LONG
        if how.phase == "unready" or (how.phase in ("starting", "restarting", "waiting") and how.why and is_late):
            return who + _first_line(how.why)
        after = ", ".join(each.name for each in track.part.after)
        return f"after {after}" if after else ""

    def workloads(self) -> dict[str, Workload]:
        """The objects that the parts are."""
        return {name: track.workload for name, track in self._tracks.items() if track.workload is not None}

    @property
    def parts(self) -> list[Part]:
        return [track.part for track in self._tracks.values()]

    # As a whole

    def verdict(self) -> Verdict:
        """How the app is."""
        phases = {name: track.how.phase for name, track in self._tracks.items() if track.how.text != "removed"}
        failed = tuple(name for name, phase in phases.items() if phase == "failed")
        hopeless = {
            name
            for name, track in self._tracks.items()
            if track.how.phase == "failed" or (track.how.phase == "failing" and track.how.restarts >= _MANY_RESTARTS)
        }
        unsettled = tuple(name for name, phase in phases.items() if phase not in SETTLED)
        stuck = bool(hopeless) and all(name in hopeless or self._waits_for(name, hopeless) for name in unsettled)
        return Verdict(not unsettled and bool(phases), failed, stuck, unsettled)

    def _waits_for(self, name: str, hopeless: Iterable[str]) -> bool:
        """Whether a part waits for one of those that nothing will come of, or for one that does."""
        track = self._tracks.get(name)
        if track is None or track.how.phase != "waiting":
            return False
        names = [each.name for each in track.part.after]
        return any(each in hopeless or (each != name and self._waits_for(each, hopeless)) for each in names)

    def seconds(self) -> float | None:
        """How long it took until all were ready that were started."""
        times = [track.reached_at for track in self._tracks.values() if track.reached_at is not None]
        return (max(times) - self._began).total_seconds() if times and self._began is not None else None

    def critical_path(self) -> list[str]:
        """Those that everything had to wait for, one after the other; the last of them was ready last."""
        reached = {name: track for name, track in self._tracks.items() if track.reached_at is not None}
        if not reached:
            return []
        track: _Track | None = max(reached.values(), key=lambda each: each.reached_at or datetime.min)
        path: list[str] = []
        while track is not None and track.part.name not in path:
            path.insert(0, track.part.name)
            times = [(time, each.name) for each in track.part.after if (time := self._came(each)) is not None]
            track = reached.get(max(times)[1]) if times else None
        return path

    def _came(self, after: After) -> datetime | None:
        """When another had come as far as it had to."""
        track = self._tracks.get(after.name)
        if track is None or track.reached_at is None:
            return None
        return track.started_at or track.reached_at if after.started else track.reached_at

    def _could_begin(self, track: _Track) -> datetime | None:
        """When a part had nothing more to wait for."""
        if self._began is None:
            return None
        return max((self._began, *(time for each in track.part.after if (time := self._came(each)) is not None)))

    def _seconds_taken(self, track: _Track) -> float | None:
        begun = self._could_begin(track)
        if track.reached_at is None or begun is None:
            return None
        return max((track.reached_at - begun).total_seconds(), 0.0)

    def _seconds_so_far(self, track: _Track, now: datetime) -> float | None:
        if track.how.phase not in ("starting", "restarting", "unready") or track.since is None:
            return None
        begun = (self._could_begin(track) if track.reached_at is None else None) or track.since
        return (now - begun).total_seconds()


def _words(how: How) -> tuple[str, str, str]:
    """What of a state is worth a line; how far something is, and how long it waits, is not."""
    text = how.text.partition(" ")[0] if how.phase in ("starting", "failing", "restarting") else how.text
    return how.phase, text, str(how.due) if how.phase == "failing" else ""


def _failure(track: _Track) -> News:
    how, name = track.how, track.part.name
    end = how.end or _first_line(how.why) or "it did not start"
    if how.phase == "failed":
        return News(f"{how.who or name} failed: {end} · setpoint why {name}", "bad", name)
    wait = ""
    if how.due is not None and track.since is not None and how.due > track.since:
        wait = f"; next try in {_whole((how.due - track.since).total_seconds())}s"
    return News(f"{how.who or name} failed: {end}{wait} · setpoint why {name}", "bad")


def _because(track: _Track) -> str:
    return f": {_first_line(track.reason)}" if track.reason else ""


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _ports(trees: Iterable[Object]) -> list[str]:
    found = sorted(
        (meta.name(tree), (tree.get("status") or {}).get("effectivePort")) for tree in trees if tree["kind"] == SERVICE
    )
    return [f":{port}" for _, port in found if port]


def _is_older(workload: Workload, moment: datetime) -> bool:
    """Whether it had started before a moment, and so is not of this start."""
    from setpoint.cli.running.view.how import time_of

    runs = workload.status.get("runs") or ()
    times = [each.get("startTime") for each in runs[-1:]] or [
        each.status.get("startupTimestamp") for each in (workload, *workload.children)
    ]
    started = [time for each in times if (time := time_of(each)) is not None]
    return bool(started) and max(started) < moment


def _whole(seconds: float) -> int:
    return max(1, -int(-seconds // 1))


def _span(seconds: float) -> str:
    return f"{seconds:.1f}s"
