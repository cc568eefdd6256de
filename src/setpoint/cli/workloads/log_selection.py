"""The selection of lines and attempts for `setpoint logs`: as parameters of the requests, and among the workloads."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure
from setpoint.objects import meta

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload

_ATTEMPT, _SCHEDULED_AT = "setpoint.dev/task-attempt", "setpoint.dev/scheduled-at"
# The options that select or render lines, with their defaults.
DEFAULTS: dict[str, Any] = {
    "previous": False,
    "attempt": None,
    "grep": "",
    "invert": False,
    "ignore_case": False,
    "level": None,
    "fields": None,
    "output": None,
}


def output_of(how: dict[str, Any]) -> str:
    """Returns the output format: by default text for a terminal, and unchanged lines for files and pipes."""
    return how["output"] or ("text" if sys.stdout.isatty() or how["fields"] is not None else "raw")


def selection(how: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the parameters of a request that select and render single lines."""
    from setpoint.client.requests import query_of

    shown = output_of(how)
    found = query_of(
        grep=how["grep"],
        invert="true" if how["invert"] else "",
        ignore_case="true" if how["ignore_case"] else "",
        level=how["level"] or "",
        format=shown if shown != "raw" else "",
        previous="true" if how["previous"] else "",
        attempt=str(how["attempt"]) if how["attempt"] is not None else "",
    )
    return [*found, *([("fields", how["fields"])] if how["fields"] is not None else [])]


def refuse_selection(names: Iterable[str], how: dict[str, Any]) -> None:
    """Raises Failure if lines of pods or controllers should be selected, whose logs do not support that."""
    given = [f"--{name}" for name in ("grep", "level", "attempt", "fields", "output") if how[name]]
    if any(names) and given:
        raise Failure(f"{', '.join(given)}: not supported for pods and controllers; name workloads", USAGE)


def with_attempt(workloads: "list[Workload]", how: dict[str, Any]) -> "tuple[list[Workload], dict[str, Any]]":
    """Returns the workloads that have the requested attempt, and the options for them. Each attempt of a task is a
    workload of its own. Raises Failure if there are none."""
    number, previous = how["attempt"], how["previous"]
    if number is None and not previous:
        return workloads, how
    tasks = [each for each in workloads if _ATTEMPT in meta.annotations(each.tree)]
    if tasks and len(tasks) == len(workloads):
        last = max(meta.annotations(each.tree).get(_SCHEDULED_AT, "") for each in tasks)
        run = sorted((each for each in tasks if meta.annotations(each.tree).get(_SCHEDULED_AT) == last), key=_number)
        found = [each for each in run if _number(each) == number] if number is not None else run[-2:-1]
        how = {**how, "attempt": None, "previous": False}
    else:
        needed = number - 1 if number is not None else 1
        found = [each for each in workloads if each.status.get("restartCount", 0) >= needed]
    if not found:
        names = " and ".join(each.called for each in workloads)
        what = f"attempt {number}" if number is not None else "previous run"
        raise Failure(f"{names}: no {what}; `setpoint ps` shows the restarts", NOT_FOUND)
    return found, how


def _number(workload: "Workload") -> int:
    return int(meta.annotations(workload.tree).get(_ATTEMPT, "1"))
