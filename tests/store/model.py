"""The simplest thing that keeps the contract: a full copy of the state for every revision."""

from dataclasses import dataclass, field
from typing import NamedTuple

from setpoint.store.contract import ABSENT, ANY, Expect, Item, Write


class Line(NamedTuple):
    """What an entry says, without time, actor and cause; and the value it replaced."""

    revision: int
    key: str
    value: bytes | None
    previous: int
    created: int
    previous_value: bytes | None


@dataclass
class Model:
    """Every revision that was ever current, and what is still kept."""

    revision: int = 0
    oldest: int = 0
    states: dict[int, dict[str, Item]] = field(default_factory=lambda: {0: {}})
    lines: list[Line] = field(default_factory=list)
    deadlines: dict[str, float] = field(default_factory=dict)

    @property
    def state(self) -> dict[str, Item]:
        return self.states[self.revision]

    def copy(self) -> "Model":
        return Model(self.revision, self.oldest, dict(self.states), list(self.lines), dict(self.deadlines))

    def first_failure(self, writes: list[Write]) -> str | None:
        """The key of the first write whose expectation does not hold."""
        for write in writes:
            actual = self.state.get(write.key)
            if not _holds(write.expect, actual):
                return write.key
        return None

    def transact(self, writes: list[Write], now: float) -> bool:
        """Applies writes whose expectations hold; says whether that made a revision."""
        changed = [write for write in writes if self._value(write.key) != write.value]
        if not changed:
            return False
        revision, state = self.revision + 1, dict(self.state)
        for write in changed:
            old = state.pop(write.key, None)
            created = old.created if old else revision
            previous, previous_value = (old.revision, old.value) if old else (0, None)
            self.lines.append(Line(revision, write.key, write.value, previous, created, previous_value))
            self.deadlines.pop(write.key, None)
            if write.value is not None:
                state[write.key] = Item(write.key, write.value, revision, created)
                if write.ttl is not None:
                    self.deadlines[write.key] = now + write.ttl
        self.states[revision] = state
        self.revision = revision
        return True

    def compact(self, to: int) -> None:
        self.oldest = max(self.oldest, to)

    def kept(self) -> list[Line]:
        """The lines that compaction has to leave, oldest first."""
        base = self.states[self.oldest]
        return [
            line
            for line in self.lines
            if line.revision > self.oldest or ((item := base.get(line.key)) and item.revision == line.revision)
        ]

    def restore(self, snapshot: "Model", revision: int) -> None:
        """The snapshot's state and past, under a new revision; what lies between is of another past."""
        self.oldest = snapshot.oldest
        self.states = {r: state for r, state in snapshot.states.items() if r <= snapshot.revision}
        self.states[revision] = snapshot.state
        self.lines = list(snapshot.lines)
        self.deadlines = dict(snapshot.deadlines)
        self.revision = revision

    def _value(self, key: str) -> bytes | None:
        item = self.state.get(key)
        return item.value if item else None


def _holds(expect: Expect, actual: Item | None) -> bool:
    if expect == ANY:
        return True
    return actual is None if expect == ABSENT else actual is not None and actual.revision == expect
