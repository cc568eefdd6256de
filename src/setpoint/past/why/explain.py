"""Explains the state of an object by facts. A pure function of the facts."""

import re
from collections.abc import Iterator
from datetime import datetime

from setpoint.objects import conditions
from setpoint.objects.tree import Object
from setpoint.past.revision import ADDED, DELETED, MODIFIED, Revision
from setpoint.past.secret_mask import masked_text
from setpoint.past.who import writer_name
from setpoint.past.why.controller_runs import UNSEEN, duration_text, failing, failing_since, failures
from setpoint.past.why.crashes import last_crash, last_end, restart_reasons
from setpoint.past.why.explanation import Explanation, ExplanationStep, Verdict
from setpoint.past.why.facts import Facts, Link, RelatedObject, Wait
from setpoint.past.why.hints import hints
from setpoint.past.why.times import ago, moment_of, span

# The maximum number of similar details.
_MOST = 3
_MOST_OUTPUT = 5
_MOST_CHANGES = 1
# The problem of an older event may be solved.
_LONG_AGO_SECONDS = 60.0
# Of several last lines of a program, the final one has the reason; the others are part of the output.
_LINES_BEFORE_THE_LAST = re.compile(r"(last output: )(?:.*\n)+")
_TEMPLATED_HOST = re.compile(r"^\w+://[^/]*\{\{.*?\}\}[^/]*(?=/|$)")
# Texts for triggers that are not objects.
_SOURCES = {
    "processes": "its process reported a change",
    "requeue": "a requeue was due",
    "retry": "a retry was due",
    "timer": "a timer fired",
    "initial": "the controller started",
    "resync": "a resync was due",
}
# Reasons of Ready=False that are not a problem.
_DONE = {
    "Completed": "has finished",
    "Succeeded": "has finished",
    "Stopped": "was stopped",
    "NotStarted": "was not started",
    "Suspended": "does not run",
}


def explain(facts: Facts) -> Explanation:
    """Returns the explanation of an object."""
    if facts.tree is None:
        return _explain_deleted(facts)
    verdict, headline = _headline(facts)
    return Explanation(
        str(facts.place),
        verdict,
        _in_short(headline),
        _since(facts, verdict),
        tuple(dict.fromkeys(_in_short(text) for text in _details(facts, headline))),
        tuple(_steps(facts)),
        tuple(masked_text(line) for line in facts.output[-_MOST_OUTPUT:]) if verdict != "ready" else (),
        () if verdict == "ready" else hints(facts),
    )


def _in_short(text: str) -> str:
    return masked_text(_LINES_BEFORE_THE_LAST.sub(r"\1", text))


def _explain_deleted(facts: Facts) -> Explanation:
    """Returns the explanation of a deleted object: the time and the user."""
    last = facts.history[-1] if facts.history else None
    if last is None or last.type != DELETED:
        return Explanation(str(facts.place), "gone", f"{facts.place.name} does not exist", hints=hints(facts))
    began = next((each for each in reversed(facts.history) if _begins_deletion(each)), last)
    headline = f"{facts.place.name} does not exist: it was deleted by {writer_name(began.actor, began.cause, facts.me)}"
    return Explanation(str(facts.place), "gone", headline, last.time, steps=tuple(_steps(facts)))


def _begins_deletion(revision: Revision) -> bool:
    return any(change.path == "metadata.deletionTimestamp" for change in revision.changes)


# The headline


def _headline(facts: Facts) -> tuple[Verdict, str]:
    tree, summary, name = facts.tree or {}, facts.summary, facts.place.name
    status = tree.get("status") or {}
    ready = conditions.of(tree, "Ready")
    state = status.get("state") or status.get("phase") or ""
    if isinstance(state, str) and ready.get("reason") in _DONE and not _is_terminating(tree):
        return "ready", f"{name} {_DONE[ready['reason']]}: {ready.get('message') or state}"
    if facts.unreachable and (summary is None or summary.ready):
        return "failed", f"{name} cannot be reached: {facts.unreachable}"
    failed = next(failures(facts), "")
    if failed and (summary.reason in UNSEEN if summary is not None and not summary.ready else not ready):
        return "failed", f"{name} is not as it should be: {failed}"
    if summary is None or summary.ready:
        word = state if isinstance(state, str) and state else (summary.state if summary else "there")
        more = f" ({summary.message})" if summary and summary.message else ""
        return "ready", f"{name} is {'ready' if ready.get('status') == 'True' else 'fine'}: {word}{more}"
    why = summary.message or summary.reason or ready.get("message") or state or summary.state
    reason = f" [{summary.reason}]" if summary.reason and summary.reason not in why else ""
    if _is_terminating(tree):
        return summary.verdict, f"{name} is being deleted: {why}{reason}"
    if facts.waits:
        return summary.verdict, f"{name} waits for {' and '.join(_waited_for(each, facts) for each in facts.waits)}"
    if (crash := last_crash(facts)) is not None:
        return "failed", f"{name} is not ready: {crash.text(facts.now)}"
    failing = _failing_probes(tree)
    if failing:
        return summary.verdict, f"{name} is not ready: {_probe(failing[0], tree)}"
    return summary.verdict, f"{name} is not ready: {why}{reason}"


def _waited_for(wait: Wait, facts: Facts) -> str:
    """Returns the text for a dependency; for a single one, including its own dependencies."""
    text = f"{wait.kind} {wait.name} to be {wait.condition}"
    if len(facts.waits) > 1:
        return text
    if len(wait.deeper) == 1:
        return f"{text}, which waits for {_waited_for(wait.deeper[0], facts)}"
    return f"{text}: {wait.why}"


def _is_terminating(tree: Object) -> bool:
    return bool((tree.get("metadata") or {}).get("deletionTimestamp"))


def _since(facts: Facts, verdict: Verdict) -> datetime | None:
    """Returns the time since which the object is in its state: from a condition, the deletion, or the last change of
    state."""
    tree = facts.tree or {}
    moment = (tree.get("metadata") or {}).get("deletionTimestamp")
    keeps_ending = verdict != "ready" and (tree.get("status") or {}).get("restartCount")
    if not moment and keeps_ending and (first := _first_end(facts)) is not None:
        return first
    moment = moment or conditions.of(tree, "Ready", "Available").get("lastTransitionTime")
    if isinstance(moment, str):
        return moment_of(moment)
    if verdict == "failed" and any(failing(facts)):
        return failing_since(facts)
    for revision in reversed(facts.history):
        if any(change.path in ("status.state", "status.phase") for change in revision.changes):
            return revision.time
    return next((each.time for each in reversed(facts.history) if each.type == ADDED), None)


def _first_end(facts: Facts) -> datetime | None:
    """Returns the time of the first exit since the last change of the spec, for a workload that keeps exiting."""
    first: datetime | None = None
    for revision in facts.history:
        paths = [change.path for change in revision.changes]
        if any(path.startswith(("spec", "metadata.annotations")) for path in paths):
            first = None
        elif first is None and "status.exitCode" in paths:
            first = revision.time
    return first


# Details


def _details(facts: Facts, headline: str) -> Iterator[str]:
    """Yields the details that the headline does not contain, without duplicates."""
    shown = headline
    for text, words in _all_details(facts):
        if words not in shown:
            yield text
            shown += f"\n{text}"


def _all_details(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yields all details, each with the text that identifies duplicates."""
    tree = facts.tree or {}
    yield from ((text, text) for text in _suspension(tree))
    yield from ((text, text) for text in failures(facts))
    for wait in facts.waits:
        yield from _deeper(wait, facts.place.name)
    yield from ((text, text) for result in _failing_probes(tree) if (text := _probe(result, tree)))
    yield from ((text, text) for text in _restarts(facts))
    yield from ((text, text) for text in _last_restart(facts))
    yield from ((text, text) for text in _finalizers(facts))
    if not facts.waits:
        yield from _conditions(tree)
    yield from ((text, text) for text in _owners(facts))
    yield from ((text, text) for text in _owned(facts))
    yield from _events(facts)
    if facts.no_history:
        yield facts.no_history, facts.no_history


def _suspension(tree: Object) -> Iterator[str]:
    spec = tree.get("spec") or {}
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    is_told = conditions.of(tree, "Ready").get("reason") == "Suspended"
    if not is_told and (spec.get("suspend") is True or spec.get("paused") is True):
        yield f"spec.{'suspend' if spec.get('suspend') else 'paused'} is true: the object is not reconciled"
    for name, value in annotations.items():
        if name.rpartition("/")[2] in ("paused", "suspend", "suspended") and str(value).lower() not in ("", "false"):
            yield f"the annotation {name}={value} pauses the object"


def _deeper(wait: Wait, name: str) -> Iterator[tuple[str, str]]:
    """Yields the dependencies, down to the last one."""
    text = f"{wait.kind} {wait.name} to be {wait.condition}"
    # A workload with dependencies has no reason besides those.
    why = text if wait.deeper else f"{text}: {wait.why}"
    yield f"{name} waits for {why}", why
    for each in wait.deeper:
        yield from _deeper(each, wait.name)


def _failing_probes(tree: Object) -> list[Object]:
    """Returns the failed results of a running workload; those of an ended one are a consequence of its end."""
    status = tree.get("status") or {}
    results = status.get("healthProbeResults") or () if status.get("state") in (None, "", "Running") else ()
    return [each for each in results if each.get("outcome") not in ("Success", None)]


def _probe(result: Object, tree: Object) -> str:
    name = result.get("probeName", "")
    probes = (tree.get("spec") or {}).get("healthProbes") or ()
    probe: Object = next((each for each in probes if each.get("name") == name), {})
    role = probe.get("role", "Readiness").lower()
    times = result.get("failures") or 0
    often = f" ({times} in a row)" if times > 1 else ""
    return f"{role} probe {name} ({_probe_text(probe)}) fails: {result.get('reason') or result.get('outcome')}{often}"


def _probe_text(probe: Object) -> str:
    """Returns the text for a probe. If the address is a template, the result has the actual address."""
    kind = probe.get("type", "")
    if kind == "HTTP":
        return f"GET {_TEMPLATED_HOST.sub('', (probe.get('httpProbe') or {}).get('url', '')) or '/'}"
    if kind in ("TCP", "GRPC"):
        how = probe.get(f"{kind.lower()}Probe") or {}
        place = f"{how.get('address') or 'localhost'}:{how.get('port', '')}"
        return kind if "{{" in place else f"{kind} {place}"
    if kind == "Exec":
        return " ".join((probe.get("execProbe") or {}).get("command") or ())
    if kind == "Log":
        return f"a line like {(probe.get('logProbe') or {}).get('pattern', '')}"
    return kind or "runtime"


def _restarts(facts: Facts) -> Iterator[str]:
    status = (facts.tree or {}).get("status") or {}
    count = status.get("restartCount") or 0
    code = status.get("exitCode", status.get("lastExitCode"))
    ended = status.get("finishTimestamp") or last_end(facts)
    if not count and code in (None, 0):
        return
    parts = [f"restarted {count}×" if count else "", f"last exit code {code}" if code is not None else ""]
    text = ", ".join(filter(None, parts))
    if isinstance(ended, str) and (time := moment_of(ended)) is not None:
        text += f" {ago(facts.now, time)}"
    due = moment_of(status.get("nextRestartTime") or "")
    if due is not None and due > facts.now:
        text += f"; next try in {span((due - facts.now).total_seconds())}"
    yield text


def _last_restart(facts: Facts) -> Iterator[str]:
    """Yields the cause of the last restart that was not a retry: a changed file, a probe, or a user's request."""
    for revision in reversed(facts.history):
        ready = conditions.of(revision.raw or {}, "Ready")
        if ready.get("reason") == "Restarting" and ready.get("message"):
            yield f"was restarted {ago(facts.now, revision.time)}: {ready['message']}"
            return
    yield from restart_reasons(facts)


def _finalizers(facts: Facts) -> Iterator[str]:
    tree = facts.tree or {}
    metadata = tree.get("metadata") or {}
    if not _is_terminating(tree):
        return
    for name in metadata.get("finalizers") or ():
        by = next(
            (writer_name(each.actor, each.cause, facts.me) for each in facts.history if _set_finalizer(each, name)), ""
        )
        yield f"the finalizer {name}{f', set by {by},' if by else ''} is still set: its owner must remove the finalizer"


def _set_finalizer(revision: Revision, name: str) -> bool:
    listed = ((revision.raw or {}).get("metadata") or {}).get("finalizers") or ()
    return name in listed


def _conditions(tree: Object) -> Iterator[tuple[str, str]]:
    """Yields the conditions that report a problem."""
    for each in (tree.get("status") or {}).get("conditions") or ():
        if not isinstance(each, dict) or not each.get("message"):
            continue
        bad = each.get("status") == ("True" if _is_negative(each.get("type", "")) else "False")
        if bad and each.get("reason") not in _DONE:
            yield f"{each['type']} is {each['status']}: {each['message']}", _after_name(each["message"])


def _after_name(message: str) -> str:
    """Returns a message without a leading probe name: the rest may be a duplicate."""
    return message.partition(": ")[2] or message


def _is_negative(kind: str) -> bool:
    return kind.endswith(("Failure", "Pressure", "Degraded", "Stalled", "Remaining", "Unavailable", "Failed"))


def _owners(facts: Facts) -> Iterator[str]:
    for owner in facts.owners:
        if owner.tree is None:
            yield f"its owner {owner.place} is deleted: the garbage collector will delete this object"
            return


def _owned(facts: Facts) -> Iterator[str]:
    troubled = [each for each in facts.owned if each.summary is not None and not each.summary.ready]
    for each in troubled[:_MOST]:
        yield _child(each)
    if len(troubled) > _MOST:
        yield f"{len(troubled) - _MOST} more dependents are not ready"


def _child(each: RelatedObject) -> str:
    assert each.summary is not None
    return f"{each.place} is {each.summary.state}: {each.summary.message or each.summary.reason}"


def _events(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yields the last warning event for each reason, except those that the conditions report, and those before the
    object became ready."""
    told_already = {facts.summary.reason} if facts.summary is not None else set()
    ready = conditions.of(facts.tree or {}, "Ready")
    mended = moment_of(ready.get("lastTransitionTime") or "") if ready.get("status") == "True" else None
    last = {each.get("reason", ""): each for each in facts.events if each.get("type") == "Warning"}
    for reason, each in list(last.items())[-_MOST:]:
        happened = _happened(each)
        # Conditions have whole seconds.
        is_past = mended is not None and happened is not None and happened.replace(microsecond=0) <= mended
        if reason not in told_already and not is_past:
            words = each.get("message") or each.get("note", "")
            yield f"event {reason}{_often_and_when(each, facts.now)}: {words}", _after_name(words)


def _happened(event: Object) -> datetime | None:
    """Returns the time of an event's last occurrence."""
    series = event.get("series") or {}
    return moment_of(event.get("lastTimestamp") or series.get("lastObservedTime") or event.get("eventTime") or "")


def _often_and_when(event: Object, now: datetime) -> str:
    """Returns the number of occurrences, and the last time if long ago: the problem may be solved since."""
    count = event.get("count") or (event.get("series") or {}).get("count") or 1
    last = _happened(event)
    is_old = last is not None and (now - last).total_seconds() >= _LONG_AGO_SECONDS
    found = [f"{count}×" if count > 1 else "", ago(now, last) if last is not None and is_old else ""]
    return f" ({', '.join(filter(None, found))})" if any(found) else ""


# Steps


def _steps(facts: Facts) -> Iterator[ExplanationStep]:
    seen: set[tuple[int, str]] = set()
    for link in facts.chain:
        yield from _of_link(link, facts, 0, "", seen)


def _of_link(
    link: Link, facts: Facts, depth: int, caused: str, seen: set[tuple[int, str]]
) -> Iterator[ExplanationStep]:
    write = link.write
    key = write.number, str(write.place)
    if key in seen and not caused:
        return
    seen.add(key)
    yield ExplanationStep(
        write.time,
        masked_text(_write_summary(write)),
        writer_name(write.actor, write.cause, facts.me),
        str(write.place),
        write.number,
        depth,
        caused or _trigger_text(link),
    )
    led_to = _led_to(write, facts)
    for _, earlier in link.because:
        if earlier is not None and (earlier.write.number, str(earlier.write.place)) not in seen:
            yield from _of_link(earlier, facts, depth + 1, led_to, seen)


def _led_to(write: Revision, facts: Facts) -> str:
    """Returns the effect of a change: the reconcile that made a write, or the claim of a reconcile."""
    cause = write.cause
    if cause is None:
        return ""
    if write.claimant:
        name = cause.controller if cause.controller.endswith("controller") else f"{cause.controller} controller"
        return f"{_claim(write)}: caused {name} to reconcile {cause.key} → rv {write.number}"
    by = writer_name(write.actor, cause, ())
    return f"caused {by} to reconcile {cause.key}{duration_text(facts, cause)} → rv {write.number}"


def _claim(write: Revision) -> str:
    return f"claimed by {write.claimant}"


def _trigger_text(link: Link) -> str:
    """Returns the trigger of a write, if the trigger was not itself a write."""
    for reason, earlier in link.because:
        if earlier is None:
            words = _SOURCES.get(reason.object) or _SOURCES.get(reason.event)
            # The end of a process is written after its children have ended, which the controller looks at regularly.
            if reason.event == "requeue" and _reports_end(link.write):
                words = "its process ended"
            if words:
                return f"{_claim(link.write)}: because {words}" if link.write.claimant else f"because {words}"
    return ""


def _reports_end(write: Revision) -> bool:
    """Returns True for a write of the exit code of a process."""
    return any(change.path == "status.exitCode" and isinstance(change.new, int) for change in write.changes)


def _write_summary(write: Revision) -> str:
    """Returns a short text for a write, with the first significant changes."""
    if write.type != MODIFIED or len(write.significant_changes) <= _MOST_CHANGES or write.summary == "deletion began":
        return write.summary
    more = len(write.significant_changes) - _MOST_CHANGES
    return f"{', '.join(map(str, write.significant_changes[:_MOST_CHANGES]))} (+{more})"
