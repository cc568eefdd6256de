"""Reports of the reconciles that controllers keep, by object or by ID."""

from collections.abc import Iterable, Iterator

import msgspec

from setpoint.controller.controller import Controller
from setpoint.controller.request import Trigger
from setpoint.controller.run_record import Read, ReconcileRecord, Write
from setpoint.objects.reconcile_report import Because, From, ObservedRead, Reconciled, ReconcileQuery, Wrote
from setpoint.objects.times import format_micro_time

# The number of characters of an error in a brief report.
_BRIEF_ERROR = 1000


def recorded_runs(controllers: Iterable[Controller], wanted: ReconcileQuery) -> list[Reconciled]:
    """Returns the known reconciles that match, newest first."""
    found = [(run, kind) for each in controllers for run, kind in _of(each) if _is_wanted(run, kind, wanted)]
    found.sort(key=lambda pair: pair[0].began, reverse=True)
    report = brief_report_of if wanted.brief else report_of
    return [report(run, kind) for run, kind in found[: wanted.limit]]


def _of(controller: Controller) -> Iterator[tuple[ReconcileRecord, str]]:
    """Yields the kept reconciles of a controller, each once, with the kind of the controller."""
    kind = primary_kind(controller)
    runs = {run.id: run for run in (*controller.last_runs.values(), *controller.runs)}
    return ((run, kind) for run in runs.values())


def _is_wanted(run: ReconcileRecord, kind: str, wanted: ReconcileQuery) -> bool:
    if wanted.controller not in ("", run.controller):
        return False
    if any(run.id.startswith(each) for each in wanted.ids):
        return True
    if not wanted.object:
        return bool(wanted.controller) and not wanted.ids
    if (kind, run.request.object) == (wanted.kind, wanted.object):
        return True
    return any(write.object == wanted.object and str(write.kind.group_kind) == wanted.kind for write in run.writes)


def primary_kind(controller: Controller) -> str:
    """Returns the primary kind of a controller as `Kind.group`; empty without one."""
    return str(controller.primary.gvk.group_kind) if controller.primary is not None else ""


def brief_report_of(run: ReconcileRecord, kind: str) -> Reconciled:
    """Converts the record of a reconcile to a report without triggers, reads and writes."""
    found = _reported(run, kind)
    return msgspec.structs.replace(found, error=found.error[:_BRIEF_ERROR])


def _reported(run: ReconcileRecord, kind: str) -> Reconciled:
    return Reconciled(
        id=run.id,
        controller=run.controller,
        kind=kind,
        object=run.request.object,
        number=run.number,
        began=format_micro_time(run.began),
        seconds=run.seconds,
        waited_seconds=run.waited,
        result=run.result,
        error="" if run.error is None else f"{type(run.error).__name__}: {run.error}",
        requeue_after_seconds=run.requeue_after,
        attempt=run.attempt,
    )


def report_of(run: ReconcileRecord, kind: str) -> Reconciled:
    """Converts the record of a reconcile to its report."""
    return msgspec.structs.replace(
        _reported(run, kind),
        because=tuple(map(_trigger_report, run.why)),
        more_reasons=run.more,
        # Repeated reads of the same version are reported once.
        reads=tuple(dict.fromkeys(map(_read_report, run.reads))),
        more_reads=run.more_reads,
        writes=tuple(map(_write_report, run.writes)),
    )


def _trigger_report(trigger: Trigger) -> Because:
    kind = str(trigger.kind.group_kind) if trigger.kind is not None else ""
    return Because(trigger.event, kind, trigger.object, trigger.resource_version, trigger.source, trigger.fields)


def _read_report(read: Read) -> ObservedRead:
    source: From = "server" if read.from_server else "cache"
    kind = str(read.kind.group_kind)
    if read.object:
        return ObservedRead(kind, read.object, read.resource_version, source)
    return ObservedRead(kind, "", read.resource_version, source, read.namespace, read.selector, read.count)


def _write_report(write: Write) -> Wrote:
    return Wrote(
        write.verb, str(write.kind.group_kind), write.object, write.subresource, write.resource_version, write.skipped
    )
