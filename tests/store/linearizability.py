"""Decides whether a history of concurrent gets and commits could have happened one after the other.

Each operation took effect at one moment between its call and its return, if there is an order of those moments in which
every answer is right. Keys are independent of each other, so each is checked alone: a depth-first search over which
operation came next, remembering which sets of operations with which outcome have led nowhere.

Every commit must write a value of its own. One whose outcome its caller never learned has an endless `end`; it may have
taken effect at any time, or never.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from typing import Literal, NamedTuple

State = tuple[str | None, int | None]  # the value and its revision, None where it is not known; absent: (None, 0)
ABSENT_STATE: State = (None, 0)


class Operation(NamedTuple):
    """A get, or a commit of `value` (None: a deletion) with an expectation, and what it was told.

    `outcome` is "ok" (with what was read, or the new revision), "failed" (with what was there instead) or "unknown".
    """

    kind: Literal["get", "commit"]
    key: str
    start: float
    end: float
    value: str | None = None
    expect: int | None = None
    outcome: Literal["ok", "failed", "unknown"] = "ok"
    seen: str | None = None
    revision: int = 0


def explain(operations: Iterable[Operation]) -> str | None:
    """Why a history is not linearizable; None if it is."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    for key, own in by_key.items():
        longest = _longest_order(sorted(own))
        if longest is not None:
            return f"{key}: no order of its {len(own)} operations is right; the best got to {longest}"
    return None


def _matches(state: State, value: str | None, revision: int) -> bool:
    return state[0] == value and state[1] in (None, revision)


def _apply(operation: Operation, state: State) -> State | None:
    """The state after an operation, or None if its answer is wrong here."""
    if operation.kind == "get":
        return (operation.seen, operation.revision) if _matches(state, operation.seen, operation.revision) else None
    holds = operation.expect is None or state[1] is None or operation.expect == state[1]
    if operation.outcome == "failed":
        different = operation.expect != operation.revision
        return state if different and _matches(state, operation.seen, operation.revision) else None
    if not holds:
        # What nobody was told about may just as well have failed.
        return state if operation.outcome == "unknown" else None
    if operation.value is None:
        return ABSENT_STATE
    if operation.outcome == "unknown":
        return operation.value, None
    return (operation.value, operation.revision) if operation.revision > (state[1] or 0) else None


def _longest_order(operations: Sequence[Operation]) -> int | None:
    """None if there is an order in which all answers are right; else how many operations the longest one has."""
    required = sum(1 << n for n, operation in enumerate(operations) if operation.end != inf)
    stack: list[tuple[int, State]] = [(0, ABSENT_STATE)]
    visited = set(stack)
    longest = 0
    while stack:
        done, state = stack.pop()
        if done & required == required:
            return None
        longest = max(longest, done.bit_count())
        left = [n for n in range(len(operations)) if not done >> n & 1]
        # Whoever had returned before another was called came before it.
        first_end = min(operations[n].end for n in left)
        for n in left:
            if operations[n].start > first_end:
                continue
            following = _apply(operations[n], state)
            step = (done | 1 << n, following)
            if following is not None and step not in visited:
                visited.add(step)  # type: ignore[arg-type]
                stack.append(step)  # type: ignore[arg-type]
    return longest
