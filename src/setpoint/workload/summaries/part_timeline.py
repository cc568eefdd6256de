"""The states of the parts of an app over time, and the path of dependencies that determined its start. Pure functions.

A span is the time that a part spent in one state. The critical path ends with the part that became ready last; each
earlier step is the dependency of the next one that became ready last, and so delayed the next one most.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.inventory import RUNNING, SERVICE, arranged
from setpoint.workload.service_producers import serves
from setpoint.workload.summaries.summary import FINISHED, READY, WAITING, workload_summary

_DONE = (READY, FINISHED)


class Change(NamedTuple):
    """A write of an object, or its deletion without a tree."""

    time: float
    kind: str
    name: str
    tree: Object | None


@dataclass
class StateSpan:
    """The time of a part in a state; without an end, the state lasts. A waiting part has the names of the objects that
    it waits for."""

    part: tuple[str, str]
    uid: str
    state: str
    begin: float
    end: float | None = None
    waits_for: tuple[str, ...] = ()


class Step(NamedTuple):
    """A step of the critical path: a part, from the moment it could start until it was ready."""

    part: tuple[str, str]
    begin: float
    end: float


class PartTimeline:
    """The timeline of an app, from the changes of its parts and services in the order of the log."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Object] = {}
        self._spans: dict[tuple[str, str], list[StateSpan]] = {}
        # The dependencies of each part.
        self._needs: dict[tuple[str, str], set[tuple[str, str]]] = {}
        # The parts that serve each Service.
        self._served: dict[str, set[tuple[str, str]]] = {}

    def add(self, change: Change) -> None:
        """Adds the next change."""
        key = change.kind, change.name
        if change.tree is None:
            self._known.pop(key, None)
            self._end(key, change.time)
            return
        self._known[key] = change.tree
        if change.kind in RUNNING and not _is_owned(change.tree):
            for service in serves(change.tree):
                self._served.setdefault(service, set()).add(key)
            self._add_state(key, change.tree, change.time)

    def _add_state(self, key: tuple[str, str], tree: Object, time: float) -> None:
        found = workload_summary(arranged([tree])[0], lambda kind, name: self._known.get((kind, name)))
        needs = self._needs.setdefault(key, set())
        for each in found["dependsOn"]:
            dependency = str(each["kind"]), str(each["name"])
            needs.add(dependency)
        unmet = tuple(str(each["name"]) for each in found["dependsOn"] if not each["met"])
        waits_for = unmet if found["state"] == WAITING else ()
        spans = self._spans.setdefault(key, [])
        last = spans[-1] if spans else None
        if last is not None and last.end is None and last.uid == meta.uid(tree) and last.state == found["state"]:
            last.waits_for = tuple(dict.fromkeys((*last.waits_for, *waits_for)))
            return
        self._end(key, time)
        spans.append(StateSpan(key, meta.uid(tree), str(found["state"]), time, None, waits_for))

    def _end(self, key: tuple[str, str], time: float) -> None:
        spans = self._spans.get(key)
        if spans and spans[-1].end is None:
            spans[-1].end = time

    def spans(self, begin: float, end: float | None) -> list[StateSpan]:
        """Returns the spans between two moments, in the order of their begin."""
        found = [
            span
            for spans in self._spans.values()
            for span in spans
            if (span.end is None or span.end >= begin) and (end is None or span.begin <= end)
        ]
        return sorted(found, key=lambda span: (span.begin, span.part))

    def seconds_to_ready(self, part: tuple[str, str], uid: str) -> float | None:
        """Returns the seconds from the creation of a part until it was ready or finished first; None if never."""
        spans = [span for span in self._spans.get(part, ()) if span.uid == uid]
        ready = next((span.begin for span in spans if span.state in _DONE), None)
        return None if ready is None else ready - spans[0].begin

    def critical_path(self, begin: float, end: float | None) -> list[Step]:
        """Returns the critical path of the parts that became ready between two moments, in the order of time."""
        spans = self.spans(begin, end)
        ready: dict[tuple[str, str], float] = {}
        first: dict[tuple[str, str], float] = {}
        for span in spans:
            first.setdefault(span.part, span.begin)
            if span.state in _DONE and span.begin >= begin:
                ready.setdefault(span.part, span.begin)
        steps: list[Step] = []
        part = max(ready, key=lambda each: (ready[each], each), default=None)
        seen: set[tuple[str, str]] = set()
        while part is not None and part not in seen:
            seen.add(part)
            until = ready[part]
            before = [each for each in self._parts_before(part) if each in ready and ready[each] <= until]
            previous = max(before, key=lambda each: (ready[each], each), default=None)
            steps.append(Step(part, ready[previous] if previous is not None else first[part], until))
            part = previous
        return steps[::-1]

    def _parts_before(self, part: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yields the parts that a part depends on; those that serve a Service stand for the Service."""
        for kind, name in self._needs.get(part, ()):
            if kind == SERVICE:
                yield from self._served.get(name, ())
            else:
                yield kind, name


def _is_owned(tree: Object) -> bool:
    """Returns True for the replicas of a set and the runs of a task, which are not parts of their own."""
    return any(each.get("kind") in RUNNING for each in meta.owner_references(tree))
