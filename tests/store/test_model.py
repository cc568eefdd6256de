"""Every backend against the model: random commits, reads of the past, slow watches, compaction, snapshots, expiry."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import (
    ABSENT,
    ANY,
    Closed,
    ExpectationFailed,
    Item,
    LogEntry,
    Page,
    Retention,
    Snapshot,
    Store,
    TooEarly,
    TooLate,
    Watch,
    Write,
)

from .backends import BACKENDS, Backend
from .conftest import START
from .model import Line, Model

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

ACTOR, CAUSE = Actor("model"), Cause("r")
KEYS = ["a", "a/", "a/1", "a/2", "a/é", "b/1", "b/2", "c"]
PREFIXES = ["", "a", "a/", "b/", "a/1", "x"]

keys = st.sampled_from(KEYS)
prefixes = st.sampled_from(PREFIXES)
values = st.one_of(
    st.none(),
    st.sampled_from([b"", b"1", b"2"]),
    st.integers(0, 3).map(lambda n: b'{"metadata":{"name":"orders"},"spec":{"replicas":%d},"status":{}}' % n),
    st.integers(0, 9).map(lambda n: bytes(range(256)) * n + b"end"),
)


@dataclass
class Follower:
    """A watch, and how far the model says it has been told."""

    watch: Watch
    prefix: str
    told: int
    restored: bool = False


class StoreMachine(RuleBasedStateMachine):
    """One store and its model, led through the same steps."""

    backend: ClassVar[Backend]

    @initialize()
    def begin(self) -> None:
        self.clock = ManualClock(START)
        self.model = Model()
        self.followers: list[Follower] = []
        self.snapshots: list[tuple[Snapshot, Model]] = []
        self.runner = asyncio.Runner()
        self.exit = AsyncExitStack()
        self.store: Store = self.runner.run(self.exit.enter_async_context(self.backend.open(self.clock, Retention())))

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            for follower in self.followers:
                follower.watch.close()
            self.runner.run(self.exit.aclose())
            self.runner.close()

    # Writing

    def _expect(self, key: str, choice: str) -> int | None:
        item = self.model.state.get(key)
        match choice:
            case "any":
                return ANY
            case "absent":
                return ABSENT
            case "right":
                return item.revision if item else ABSENT
            case _:
                return item.revision - 1 if item and item.revision > 1 else self.model.revision + 1

    @rule(
        writes=st.lists(
            st.tuples(
                keys,
                values,
                st.sampled_from(["any", "any", "right", "right", "absent", "wrong"]),
                st.sampled_from([None, None, None, 600.0, 1200.0]),
            ),
            min_size=1,
            max_size=4,
            unique_by=lambda write: write[0],
        )
    )
    def write(self, writes: list[tuple[str, bytes | None, str, float | None]]) -> None:
        made = [Write(key, value, self._expect(key, choice), ttl) for key, value, choice, ttl in writes]
        if not self.backend.takes_clock:
            made = [write._replace(ttl=None) for write in made]
        failure = self.model.first_failure(made)
        if failure is not None:
            with pytest.raises(ExpectationFailed) as failed:
                self._commit(made)
            assert failed.value.key == failure
            assert failed.value.actual == self.model.state.get(failure)
            return
        revision = self._commit(made)
        changed = self.model.transact(made, self.clock.now().timestamp())
        unchanged_at = self.model.state.get(made[0].key) if len(made) == 1 and not changed else None
        assert revision == (unchanged_at.revision if unchanged_at else self.model.revision)

    def _commit(self, writes: list[Write]) -> int:
        if len(writes) > 1:
            return self.runner.run(self.store.transact(writes, ACTOR, CAUSE))
        key, value, expect, ttl = writes[0]
        return self.runner.run(self.store.commit(key, value, expect, ACTOR, CAUSE, ttl))

    @rule(count=st.integers(5, 40), key=keys)
    def write_often(self, count: int, key: str) -> None:
        now = self.clock.now().timestamp()
        for n in range(count):
            value = b'{"name":"orders","counter":%d,"rest":"%s"}' % (n, b"x" * 200)
            self.runner.run(self.store.commit(key, value, ANY, ACTOR, CAUSE))
            self.model.transact([Write(key, value)], now)

    @precondition(lambda self: self.backend.takes_clock)
    @rule(seconds=st.sampled_from([1.0, 599.0, 601.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self._expire()

    def _expire(self) -> None:
        self.runner.run(self.store.maintain())
        now = self.clock.now().timestamp()
        due = {key for key, deadline in self.model.deadlines.items() if deadline <= now}
        # In what order and in how many revisions is the store's affair: we follow what it says it did.
        for entry in self.runner.run(self.store.log(after=self.model.revision)):
            assert entry.value is None
            assert entry.key in due
            due.discard(entry.key)
            self.model.transact([Write(entry.key, None)], now)
            assert self.model.revision == entry.revision
        assert not due

    # Reading

    @rule(key=keys, prefix=prefixes, after=st.sampled_from(["", *KEYS]), limit=st.integers(0, 4), data=st.data())
    def read_the_past(self, key: str, prefix: str, after: str, limit: int, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, self.model.revision + 1))
        state = self.model.states.get(at)
        for read in (
            self.store.get(key, at=at),
            self.store.range(prefix, after, limit, at=at),
            self.store.count(prefix, at=at),
        ):
            try:
                found = self.runner.run(read)
            except TooEarly:
                assert at > self.model.revision
            except TooLate:
                assert at < self.model.oldest or (at not in self.model.states and at < self.model.revision)
            else:
                assert at >= self.model.oldest
                assert state is not None
                matching = [state[k] for k in sorted(state) if k.startswith(prefix)]
                if isinstance(found, Page):
                    self._check_page(found, matching, after, limit, at)
                elif isinstance(found, int):
                    assert found == len(matching)
                else:
                    assert found == state.get(key)

    @rule(prefix=prefixes, after=st.sampled_from(["", *KEYS]), limit=st.integers(0, 4))
    def read_now(self, prefix: str, after: str, limit: int) -> None:
        state = self.model.state
        matching = [state[k] for k in sorted(state) if k.startswith(prefix)]
        page = self.runner.run(self.store.range(prefix, after, limit))
        self._check_page(page, matching, after, limit, self.model.revision)
        assert self.runner.run(self.store.count(prefix)) == len(matching)

    def _check_page(self, page: Page, matching: list[Item], after: str, limit: int, at: int) -> None:
        rest = [item for item in matching if item.key > after]
        assert list(page.items) == (rest[:limit] if limit else rest)
        assert page.remaining == len(rest) - len(page.items)
        assert page.revision == at

    @rule(key=keys, limit=st.integers(0, 3), data=st.data())
    def read_history(self, key: str, limit: int, data: st.DataObject) -> None:
        before = data.draw(st.one_of(st.none(), st.integers(1, self.model.revision + 1)))
        found = self.runner.run(self.store.history(key, before, limit))
        kept = [line for line in reversed(self.model.kept()) if line.key == key]
        kept = [line for line in kept if before is None or line.revision < before]
        self._check_entries(list(found), kept[:limit] if limit else kept)

    @rule(data=st.data())
    def read_log(self, data: st.DataObject) -> None:
        after = data.draw(st.integers(0, self.model.revision))
        found = self.runner.run(self.store.log(after))
        self._check_entries(list(found), [line for line in self.model.kept() if line.revision > after])

    def _check_entries(self, found: list[LogEntry], wanted: list[Line]) -> None:
        told = [(e.revision, e.key, e.value, e.previous, e.created) for e in found]
        assert [revision for revision, *_ in told] == [line.revision for line in wanted]
        assert sorted(told, key=lambda line: line[:2]) == sorted(
            (line[:5] for line in wanted), key=lambda line: line[:2]
        )

    # Watching

    @precondition(lambda self: len(self.followers) < 6)
    @rule(prefix=prefixes, data=st.data())
    def open_watch(self, prefix: str, data: st.DataObject) -> None:
        after = data.draw(st.one_of(st.none(), st.integers(0, self.model.revision)))
        told = self.model.revision if after is None else after
        self.followers.append(Follower(self.store.watch(prefix, after), prefix, told))

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def read_watch(self, data: st.DataObject) -> None:
        follower = data.draw(st.sampled_from(self.followers))
        late = (
            follower.restored
            or follower.told < self.model.oldest
            or (follower.told not in self.model.states and follower.told < self.model.revision)
        )
        due = [
            line for line in self.model.lines if line.revision > follower.told and line.key.startswith(follower.prefix)
        ]
        if not due and not late:
            return
        try:
            events = self.runner.run(asyncio.wait_for(follower.watch.next(), 30))
        except TooLate:
            assert late
            self._drop(follower)
            return
        assert not follower.restored
        assert events
        told = [Line(*event.entry[:5], event.previous_value) for event in events]
        last = told[-1].revision
        wanted = [line for line in due if line.revision <= last]
        assert [line.revision for line in told] == [line.revision for line in wanted]
        assert sorted(told, key=lambda line: line[:2]) == sorted(wanted, key=lambda line: line[:2])
        follower.told = last
        assert last <= follower.watch.revision <= self.model.revision

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def drop_watch(self, data: st.DataObject) -> None:
        self._drop(data.draw(st.sampled_from(self.followers)))

    def _drop(self, follower: Follower) -> None:
        follower.watch.close()
        self.followers.remove(follower)

    # The past, kept and left

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        to = data.draw(st.sampled_from(sorted(self.model.states)))
        self.runner.run(self.store.compact(to))
        self.model.compact(to)

    @precondition(lambda self: len(self.snapshots) < 3)
    @rule()
    def take_snapshot(self) -> None:
        snapshot = self.runner.run(self.store.snapshot())
        assert snapshot.revision == self.model.revision
        self.snapshots.append((snapshot, self.model.copy()))

    @precondition(lambda self: self.snapshots)
    @rule(as_bytes=st.booleans(), data=st.data())
    def restore(self, as_bytes: bool, data: st.DataObject) -> None:
        snapshot, model = data.draw(st.sampled_from(self.snapshots))
        before = self.model.revision
        revision = self.runner.run(self.store.restore(snapshot.dump() if as_bytes else snapshot))
        assert revision > max(before, snapshot.revision)
        self.model.restore(model, revision)
        if not self.backend.restores_past:
            items = {item.key: item for item in self.runner.run(self.store.range("")).items}
            assert {key: item.value for key, item in items.items()} == {
                key: item.value for key, item in model.state.items()
            }
            self.model.states, self.model.oldest = {revision: items}, revision
            # The state was written anew: each of its keys has that one entry.
            self.model.lines = [
                Line(item.revision, item.key, item.value, 0, item.created, None)
                for item in sorted(items.values(), key=lambda item: item.revision)
            ]
        for follower in self.followers:
            follower.restored = True
        if self.backend.takes_clock:
            self._expire()

    @precondition(lambda self: self.backend.reopen is not None)
    @rule()
    def close_and_open(self) -> None:
        assert self.backend.reopen is not None
        self.store = self.runner.run(self.backend.reopen(self.store, self.clock))
        self.exit.push_async_callback(self.store.close)
        for follower in self.followers:
            with pytest.raises(Closed):
                self.runner.run(follower.watch.next())
        self.followers = []

    @invariant()
    def both_agree(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.runner.run(self.store.revision()) == self.model.revision
        assert self.runner.run(self.store.oldest()) == self.model.oldest


@pytest.mark.parametrize("backend", [pytest.param(each, id=each.name, marks=each.marks) for each in BACKENDS])
def test_the_store_does_what_the_model_does(backend: Backend) -> None:
    backend.require()

    class Machine(StoreMachine):
        pass

    Machine.backend = backend
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=backend.examples,
            stateful_step_count=40,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )
