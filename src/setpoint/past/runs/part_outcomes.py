"""The outcome of each part of an app: its state, time to ready, restarts and exit code.

The time to ready follows from the log of revisions, of which the first entries of a run are read.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.past.runs.app_objects import PART_PREFIXES
from setpoint.past.runs.record import RunObject, RunPart, resource_of
from setpoint.store.contract import Item, LogEntry, Store
from setpoint.workload.inventory import RUNNING, SERVICE, Workload, arranged
from setpoint.workload.summaries.part_timeline import Change, PartTimeline
from setpoint.workload.summaries.summary import part_summaries

_KINDS: Final = frozenset((*RUNNING, SERVICE))
# The number of entries of the log that are read for the times to ready, and of one read.
_MOST_ENTRIES: Final = 4000
_PAGE: Final = 400
_tree = msgspec.json.Decoder(dict[str, Any])


async def start_of_log(store: Store, first: int, last: int) -> list[LogEntry]:
    """Returns the first writes of parts and services between two revisions. Raises StoreError."""
    found: list[LogEntry] = []
    after = first
    for _ in range(_MOST_ENTRIES // _PAGE):
        entries = await store.log(after, _PAGE)
        found += (entry for entry in entries if entry.key.startswith(PART_PREFIXES) and entry.revision <= last)
        if len(entries) < _PAGE or entries[-1].revision >= last:
            break
        after = entries[-1].revision
        await asyncio.sleep(0)
    return found


def part_outcomes(items: Iterable[Item | RunObject], log: Sequence[LogEntry]) -> tuple[RunPart, ...]:
    """Returns the outcomes of the parts among the stored objects of an app."""
    trees, keys = list[Object](), dict[str, str]()
    for item in items:
        if item.key.startswith(PART_PREFIXES):
            tree = _tree.decode(item.value)
            if tree.get("kind") in _KINDS:
                trees.append(tree)
                keys[meta.uid(tree)] = item.key
    timeline = PartTimeline()
    for change in _changes(log):
        timeline.add(change)
    summaries = part_summaries(trees)
    return tuple(
        _part(workload, summaries[meta.uid(workload.tree)], keys[meta.uid(workload.tree)], timeline)
        for workload in arranged(trees)
    )


def _part(workload: Workload, summary: Object, key: str, timeline: PartTimeline) -> RunPart:
    place = resource_of(key)
    return RunPart(
        workload.kind,
        workload.name,
        place.resource,
        place.group,
        state=summary["state"],
        reason=summary["reason"],
        ready=summary["ready"],
        wanted=summary["wanted"],
        ready_seconds=timeline.seconds_to_ready((workload.kind, workload.name), meta.uid(workload.tree)),
        restarts=workload.restarts,
        exit_code=_exit_code(workload),
    )


def _exit_code(workload: Workload) -> int | None:
    """Returns the last exit code of a workload, of its last run, or of the first of its replicas that has one."""
    runs = workload.status.get("runs") or ()
    for status in (workload.status, *reversed(runs)):
        for field in ("exitCode", "lastExitCode"):
            if (code := status.get(field)) is not None:
                return int(code)
    return next((code for child in workload.children if (code := _exit_code(child)) is not None), None)


def _changes(log: Sequence[LogEntry]) -> Iterable[Change]:
    kinds: dict[str, str] = {}
    for entry in log:
        tree = _tree.decode(entry.value) if entry.value is not None else None
        kind = str(tree["kind"]) if tree is not None else kinds.get(entry.key, "")
        kinds[entry.key] = kind
        if kind in _KINDS:
            yield Change(entry.time, kind, entry.key.rpartition("/")[2], tree)
