"""The consequences of a reconcile's result: the next run of the request, and the log messages.

* Success: resets the backoff; the request runs again after `requeue_after`, or when a watched object changes.
* `requeue_after=0`: runs again with backoff, because a reconcile without a pause would use a whole processor.
* `Requeue`: runs again after the given time, or with backoff; not an error.
* `TerminalError`: logged, and not retried before the next change.
* Conflict: another client wrote first. Retried with backoff on the newer version, without an error in the log.
* ChildError: reported as a condition and an event. Logged without a traceback, and retried with backoff.
* Any other exception: logged and retried with backoff.
"""

import logging

from setpoint.controller.child_apply import ChildError
from setpoint.controller.queue import Queue
from setpoint.controller.request import Request, Requeue, Result, TerminalError, Trigger
from setpoint.controller.run_record import CANCELLED, CONFLICT, ERROR, REQUEUE, REQUEUE_AFTER, TERMINAL, ReconcileRecord
from setpoint.objects.errors import ApplyConflict, Conflict

_log = logging.getLogger(__name__)
_NO_PAUSE = (
    "%s %s: Result(requeue_after=%g) has no pause; reconciling again in %.3g s. Return Result(requeue_after=SECONDS), "
    "raise sp.Requeue() to retry with backoff, or return None to wait for the next change"
)


def conclude(run: ReconcileRecord, result: Result | None, queue: Queue[Request]) -> None:
    """Requeues the request as its result requires, and records the outcome in the run."""
    error = run.error
    if isinstance(error, Requeue):
        run.error, run.result = None, REQUEUE
        if error.after is None:
            queue.add_rate_limited(run.request, Trigger("retry", object=str(error)), priority=run.priority)
            return
        result = Result(requeue_after=error.after)
    if run.error is None and result is not None and result.requeue_after is not None and not result.requeue_after > 0:
        run.result = REQUEUE
        seconds = queue.add_rate_limited(run.request, Trigger("requeue"), priority=run.priority)
        _log.warning(_NO_PAUSE, run.controller, run.request, result.requeue_after, seconds)
    elif run.error is None:
        queue.forget(run.request)
        if result is not None and result.requeue_after is not None:
            run.result, run.requeue_after = REQUEUE_AFTER, result.requeue_after
            priority = run.priority if result.priority is None else result.priority
            queue.add_after(run.request, result.requeue_after, Trigger("requeue"), priority=priority)
    elif isinstance(error, TerminalError):
        run.result = TERMINAL
        queue.forget(run.request)
        _log.error("%s %s: %s; waiting for the next change", run.controller, run.request, error, exc_info=error)
    elif run.result != CANCELLED:
        _retry(run, run.error, queue)


def _retry(run: ReconcileRecord, error: BaseException, queue: Queue[Request]) -> None:
    seconds = queue.add_rate_limited(run.request, Trigger("retry"), priority=run.priority)
    if isinstance(error, Conflict) and not isinstance(error, ApplyConflict):
        run.result = CONFLICT
        _log.debug("%s %s: %s; retrying in %.3g s", run.controller, run.request, error, seconds)
        return
    run.result = run.result or ERROR
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    what = f"{type(error).__name__}: {error}{notes}"
    trace = error if run.result == ERROR and not isinstance(error, ChildError) else None
    _log.error("%s %s: %s; retrying in %.3g s", run.controller, run.request, what, seconds, exc_info=trace)
