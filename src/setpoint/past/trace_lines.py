"""Formats a reconcile: its triggers, reads and writes, and the freshness of its view. Has no side effects."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime

from setpoint.objects.duration import measured
from setpoint.objects.reconcile_report import ObservedRead, Reconciled, Wrote
from setpoint.past.revision import DELETED, Revision
from setpoint.past.secret_mask import masked_text
from setpoint.past.trace import Trace, kind_name
from setpoint.past.who import writer_name as who

# Texts for results with unclear names in the metrics.
_ENDS = {"terminal": "failed permanently", "error": "failed", "timeout": "timed out", "requeue_after": "success"}
_MOST_SEEN = 8


def heading(trace: Trace, shown: Callable[[datetime], str]) -> str:
    """Returns the heading: controller, object, time, duration and result."""
    reconcile, cause = trace.reconcile, trace.cause
    time = f"{shown(trace.time)}.{trace.time.microsecond // 1000:03d}"
    if reconcile is None:
        claimed = f"claimed by {trace.claimed_by}: " if trace.claimed_by else ""
        return f"{claimed}{cause.controller} reconciled {cause.key}  {time}  {cause.id[:8]}"
    what = f"{_kind(reconcile.kind)}/{cause.key}" if reconcile.kind else cause.key
    parts = [
        f"{cause.controller} reconciled {what} #{reconcile.number}",
        time,
        measured(reconcile.seconds),
        _end(reconcile),
    ]
    return "  ".join((*parts, cause.id[:8]))


def lines(trace: Trace, me: Collection[str] = ()) -> Iterator[str]:
    """Yields the lines about a reconcile. `me` are the names of the current user."""
    yield from _titled("because", _because(trace, me))
    reconcile = trace.reconcile
    if reconcile is None:
        yield from _titled("wrote", (_written(each, None) for each in trace.writes))
        return
    yield from _titled("read", [text] if (text := _reads(reconcile)) else ["nothing"])
    yield from _titled("wrote", _writes(trace, reconcile))
    if reconcile.error:
        yield from _titled("failed", [masked_text(reconcile.error).partition("\n")[0]])
    yield from _titled("view", _view(trace, reconcile))


def _end(reconcile: Reconciled) -> str:
    again = reconcile.requeue_after_seconds
    found = _ENDS.get(reconcile.result, reconcile.result)
    return f"{found}, again in {measured(again)}" if again is not None else found


def _titled(title: str, texts: Iterator[str] | list[str]) -> Iterator[str]:
    """Yields lines with a title before the first of them."""
    for text in texts:
        yield f"  {title:<7}  {text}"
        title = ""


def _because(trace: Trace, me: Collection[str]) -> Iterator[str]:
    changed = trace.changed
    for at, (reason, write) in enumerate(trace.because):
        if write is not None:
            yield f"{write.place} rv {write.number}: {write.summary}  ({who(write.actor, write.cause, me)})"
        elif reason.kind:
            revision = f" rv {reason.revision}" if reason.revision else ""
            fields = f" ({changed[at]})" if at < len(changed) and changed[at] else ""
            yield f"{_kind(reason.kind)}/{reason.object}{revision}: {reason.event}{fields}"
        else:
            yield f"{reason.event} {reason.object}".rstrip()
    if trace.reconcile is not None and trace.reconcile.more_reasons:
        yield f"and {trace.reconcile.more_reasons} more"


def _reads(reconcile: Reconciled) -> str:
    seen = [_seen(each) for each in reconcile.reads[:_MOST_SEEN]]
    more = len(reconcile.reads) - len(seen) + reconcile.more_reads
    return ", ".join((*seen, *([f"and {more} more"] if more else ())))


def _seen(seen: ObservedRead) -> str:
    where = ", from the server" if seen.source == "server" else ""
    kind = _kind(seen.kind)
    if seen.object:
        found = f"{kind}/{seen.object}@{seen.revision}" if seen.revision else f"{kind}/{seen.object} (not there{where})"
        return f"{found} (from the server)" if where and seen.revision else found
    labels = f" with {seen.selector}" if seen.selector else ""
    inside = f" in {seen.namespace}" if seen.namespace else ""
    return f"list of {kind}{inside}{labels} ({seen.count}{where})"


def _writes(trace: Trace, reconcile: Reconciled) -> Iterator[str]:
    left = [each for each in reconcile.writes if not each.skipped]
    for write in trace.writes:
        found = _sent(write, left)
        if found is not None:
            left.remove(found)
        yield _written(write, found)
    for each in left:
        revision = f" rv {each.revision}" if each.revision else ""
        yield f"{each.verb} {_object(each)}{revision}"
    skipped = sum(each.skipped for each in reconcile.writes)
    if skipped:
        yield f"skipped {skipped} without changes"
    elif not reconcile.writes and not trace.writes:
        yield "nothing"


def _sent(write: Revision, sent: Collection[Wrote]) -> Wrote | None:
    """Returns the recorded write of a controller that made a revision."""
    about = kind_name(write.place), write.place.key
    same = [each for each in sent if (each.kind, each.object) == about]
    exact = next((each for each in same if each.revision == str(write.number)), None)
    return exact or next((each for each in same if each.verb == "delete" and write.type == DELETED), None)


def _written(write: Revision, sent: Wrote | None) -> str:
    before = f"{write.previous}→" if write.previous else ""
    what = str(write.place) if sent is None else f"{sent.verb} {_object(sent)}"
    return f"{what} rv {before}{write.number}: {write.summary}"


def _object(wrote: Wrote) -> str:
    below = f"/{wrote.subresource}" if wrote.subresource else ""
    return f"{_kind(wrote.kind)}/{wrote.object}{below}" if wrote.object else f"{_kind(wrote.kind)}{below}"


def _view(trace: Trace, reconcile: Reconciled) -> Iterator[str]:
    """Yields whether the reads from the cache were current, and the time in the queue."""
    for seen, newer in trace.behind:
        before = measured((trace.time - newer.time).total_seconds())
        what = f"{_kind(seen.kind)}/{seen.object}"
        was = f"{what}@{seen.revision} was read" if seen.revision else f"{what} was not seen"
        yield f"behind: {was}, but rv {newer.number} had been written {before} before"
    waited = f", after {measured(reconcile.waited_seconds)} in the queue" if reconcile.waited_seconds > 0 else ""
    if not trace.behind:
        yield f"current{waited}"


def _kind(name: str) -> str:
    """Returns `Kind` of `Kind.group`."""
    return name.partition(".")[0]
