"""Whether what several clients saw of a store could have happened one operation at a time.

`Recorder` notes each operation of a client with the moments it began and ended. `explain` looks for an order of all
operations of a key in which each takes effect between those two moments and answers what it answered (the search of
Wing and Gong, with Lowe's memory of what was tried). Keys are independent, so each is searched alone; what binds them
together, the one revision of the store, is checked over all of them.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ANY, Expect, ExpectationFailed, Item, Store, StoreError

# What a key is: its value and the revision of it; None if it is absent.
State = tuple[bytes, int] | None


@dataclass(frozen=True)
class Operation:
    """One call of one client. `end` is infinite if its outcome was never known: it may have happened, or not."""

    key: str
    start: float
    end: float
    writes: bool = False
    value: bytes | None = None  # of a write
    expect: Expect = ANY  # of a write
    revision: int | None = None  # of a write that succeeded; None if it failed
    found: State = None  # of a read, or of a write that failed

    def after(self, state: State) -> tuple[State] | None:
        """The state after this operation, if it could have answered what it did; else None."""
        if not self.writes:
            return (state,) if self.found == state else None
        holds = self.expect == ANY or self.expect == (state[1] if state else ABSENT)
        if self.revision is None and self.end < inf:
            return (state,) if not holds and self.found == state else None
        if not holds:
            return (state,) if self.end == inf else None
        if self.value is None:
            return (None,)
        if state is not None and state[0] == self.value:
            return (state,) if self.revision in (None, state[1]) else None
        # Of a write whose outcome is unknown, only a later read can tell the revision.
        return ((self.value, self.revision if self.revision is not None else -1),)


@dataclass
class Recorder:
    """A client that keeps a record of what it did."""

    store: Store
    actor: Actor
    history: list[Operation] = field(default_factory=list)
    now: Callable[[], float] = time.monotonic_ns

    async def get(self, key: str) -> State:
        start = self.now()
        found = _state(await self.store.get(key))
        self.history.append(Operation(key, start, self.now(), found=found))
        return found

    async def commit(self, key: str, value: bytes | None, expect: Expect) -> State:
        """Writes; gives what is there now, as far as it is known."""
        start = self.now()
        try:
            revision = await self.store.commit(key, value, expect, self.actor)
        except ExpectationFailed as failed:
            found = _state(failed.actual)
            self.history.append(Operation(key, start, self.now(), True, value, expect, found=found))
            return found
        except StoreError:
            self.history.append(Operation(key, start, inf, True, value, expect))
            raise
        self.history.append(Operation(key, start, self.now(), True, value, expect, revision))
        return None if value is None else (value, revision)


def _state(item: Item | None) -> State:
    return (item.value, item.revision) if item else None


def explain(history: Iterable[Operation]) -> str | None:
    """Why a history is not linearizable; None if it is."""
    operations = list(history)
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    for key, of_key in by_key.items():
        if not _can_be_ordered(of_key):
            lines = "\n".join(map(str, sorted(of_key, key=lambda operation: operation.start)))
            return f"the operations on {key} fit no order:\n{lines}"
    return _explain_revisions(operations)


def _explain_revisions(operations: list[Operation]) -> str | None:
    """Why the revisions of all writes are not in the order in which they happened."""
    writes = [operation for operation in operations if operation.revision and operation.value is not None]
    newest: Operation | None = None
    ended = sorted(writes, key=lambda operation: operation.end)
    place = 0
    for write in sorted(writes, key=lambda operation: operation.start):
        while ended[place].end < write.start:
            if newest is None or (ended[place].revision or 0) > (newest.revision or 0):
                newest = ended[place]
            place += 1
        if newest is not None and (newest.revision or 0) >= (write.revision or 0):
            return f"{write} began after {newest} had ended, but has no later revision"
    return None


def _can_be_ordered(operations: list[Operation]) -> bool:
    """Searches depth first: at each step, any operation that began before all others left have ended may be next."""
    operations = sorted(operations, key=lambda operation: operation.start)
    required = sum(1 << place for place, operation in enumerate(operations) if operation.end < inf)
    tried: set[tuple[int, State]] = set()
    stack: list[tuple[int, State]] = [(0, None)]
    while stack:
        done, state = stack.pop()
        if done & required == required:
            return True
        if (done, state) in tried:
            continue
        tried.add((done, state))
        first_end = min(operation.end for place, operation in enumerate(operations) if not done >> place & 1)
        for place, operation in enumerate(operations):
            if operation.start > first_end:
                break
            if not done >> place & 1:
                stack += [(done | 1 << place, after) for after in _outcomes(operation, state, operations)]
    return False


def _outcomes(operation: Operation, state: State, operations: list[Operation]) -> list[State]:
    """The states that an operation may lead to; a write of unknown outcome has any revision that was seen of it."""
    after = operation.after(state)
    if after is None:
        return []
    (made,) = after
    if made is None or made[1] >= 0:
        return [made]
    seen = {other.found[1] for other in operations if other.found and other.found[0] == made[0]}
    return [(made[0], revision) for revision in seen] or [made]
