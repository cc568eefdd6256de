"""The reconciles of an object's controllers: failures and slow runs. Has no side effects.

A reconcile that fails before its first write is not in the log: only the record of its controller has the failure.
"""

from collections.abc import Iterator
from datetime import datetime

from setpoint.objects.duration import measured
from setpoint.objects.provenance import Cause
from setpoint.objects.reconcile_report import Reconciled
from setpoint.objects.times import parse_micro_time
from setpoint.past.secret_mask import masked_text
from setpoint.past.trace import kind_name
from setpoint.past.why.facts import Facts

_FAILED = {"error": "fails", "terminal": "has given up", "timeout": "takes too long"}
# Reasons of a status that does not reflect the last change.
UNSEEN = frozenset({"LatestGenerationNotObserved", "NotObserved"})
# Slower reconciles are reported.
_LONG_SECONDS = 1.0


def failing(facts: Facts) -> Iterator[Reconciled]:
    """Returns the last reconcile of each controller with a failed last attempt."""
    about = kind_name(facts.place), facts.place.key
    last: dict[str, Reconciled] = {}
    for each in facts.reconciles:  # the newest first
        if (each.kind, each.object) == about:
            last.setdefault(each.controller, each)
    return (each for each in last.values() if each.result in _FAILED)


def failures(facts: Facts) -> Iterator[str]:
    """Yields a line for each controller with a failed last attempt."""
    for each in failing(facts):
        ago = measured(max((facts.now - parse_micro_time(each.began)).total_seconds(), 0.0))
        tries = f", {each.attempt + 1} times in a row" if each.attempt else ""
        error = masked_text(each.error).partition("\n")[0]
        yield f"its controller {each.controller} {_FAILED[each.result]}: {error} ({ago} ago{tries})"


def failing_since(facts: Facts) -> datetime | None:
    """Returns the start of the first of the consecutive failures, or None if unknown."""
    for last in failing(facts):
        tries = [each for each in facts.reconciles if (each.controller, each.object) == (last.controller, last.object)]
        first = tries[last.attempt] if last.attempt < len(tries) else None
        return parse_micro_time(first.began) if first is not None else None
    return None


def duration_text(facts: Facts, cause: Cause) -> str:
    """Returns the duration of a slow reconcile, or an empty string."""
    seconds = next((each.seconds for each in facts.reconciles if each.id == cause.id), 0.0)
    return f" (which took {measured(seconds)})" if seconds >= _LONG_SECONDS else ""
