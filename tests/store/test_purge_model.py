"""Random writes, purges and compactions against the simplest model: every version that was ever written."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Event, Purge, Purged, Retention, Selection, Store, TooLate, Watch

from .backends import BACKENDS, Backend
from .conftest import START

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

ACTOR = Actor("model")
PURGE = Purge("root", 1.0, "because")
KEYS = ["a/1", "a/2", "b/1"]


class Put(NamedTuple):
    key: str
    value: bytes | None


class Remove(NamedTuple):
    key: str
    is_prefix: bool
    since: int
    through: int | None


class Compact(NamedTuple):
    to: int


class Reopen(NamedTuple):
    pass


values = st.one_of(
    st.none(),
    st.integers(0, 9).map(lambda number: b'{"metadata":{"name":"orders"},"spec":{"replicas":%d}}' % number),
    st.integers(0, 9).map(lambda number: bytes(range(256)) * number + b"end"),
)
steps = st.lists(
    st.one_of(
        st.builds(Put, st.sampled_from(KEYS), values),
        st.builds(Put, st.just("a/1"), values),
        st.builds(
            Remove,
            st.sampled_from([*KEYS, "a/", ""]),
            st.booleans(),
            st.sampled_from([0, 0, 0, 5]),
            st.one_of(st.none(), st.integers(0, 40)),
        ),
        st.builds(Compact, st.integers(0, 40)),
        st.just(Reopen()),
    ),
    min_size=5,
    max_size=60,
)


@dataclass
class Version:
    revision: int
    key: str
    value: bytes | None
    purged: bool = False


@dataclass
class Model:
    versions: list[Version] = field(default_factory=list)
    oldest: int = 0

    def of(self, key: str) -> list[Version]:
        return [version for version in self.versions if version.key == key]

    def at(self, key: str, revision: int) -> Version | None:
        found = [version for version in self.of(key) if version.revision <= revision]
        return found[-1] if found else None

    def purge(self, step: Remove) -> int:
        removed = 0
        for key in KEYS:
            if key != step.key and not (step.is_prefix and key.startswith(step.key)):
                continue
            versions = self.of(key)
            for place, version in enumerate(versions[:-1]):
                forgotten = versions[place + 1].revision <= self.oldest
                if version.value is None or version.purged or forgotten or version.revision < step.since:
                    continue
                if step.through is None or version.revision <= step.through:
                    version.purged = True
                    removed += 1
        return removed


async def check(store: Store, model: Model, current: int) -> None:
    assert await store.revision() == current
    state = {item.key: item.value for item in (await store.range("")).items}
    assert state == {
        key: found.value for key in KEYS if (found := model.at(key, current)) is not None and found.value is not None
    }
    for key in KEYS:
        for at in range(model.oldest, current + 1):
            found = model.at(key, at)
            if found is not None and found.purged:
                with pytest.raises(Purged):
                    await store.get(key, at)
                continue
            item = await store.get(key, at)
            assert (item.value if item else None) == (found.value if found else None), (key, at)
        history = [(entry.revision, entry.value, entry.purged) for entry in (await store.history(key))[::-1]]
        wanted = [
            (version.revision, None if version.purged else version.value, PURGE if version.purged else None)
            for place, version in enumerate(model.of(key))
            if version.revision > model.oldest or _is_base(model, key, place)
        ]
        assert history == wanted
    for entry in await store.log():
        [version] = [each for each in model.of(entry.key) if each.revision == entry.revision]
        assert entry.value == (None if version.purged else version.value)
    await follow(store, model, current)


def _is_base(model: Model, key: str, place: int) -> bool:
    """Whether a version makes up the state of the oldest revision."""
    versions = model.of(key)
    is_last = place + 1 == len(versions) or versions[place + 1].revision > model.oldest
    return is_last and versions[place].value is not None


async def follow(store: Store, model: Model, current: int) -> None:
    """A watch tells what it can, each value right, or says that it is too late because a value was purged."""
    for key in KEYS:
        watch = store.watch(key, model.oldest)
        lost = [
            version.revision
            for place, version in enumerate(model.of(key))
            if version.purged or (place and model.of(key)[place - 1].purged)
        ]
        wanted = [version for version in model.of(key) if version.revision > model.oldest]
        if not wanted:
            continue
        if any(revision > model.oldest for revision in lost):
            with pytest.raises(TooLate):
                await until(watch, current)
        else:
            found: list[Event] = []
            while len(found) < len(wanted):
                found += await asyncio.wait_for(watch.next(), 30)
            assert [event.entry.value for event in found] == [version.value for version in wanted]
        watch.close()


async def until(watch: Watch, revision: int) -> None:
    while (await asyncio.wait_for(watch.next(), 30))[-1].entry.revision < revision:
        pass


async def scenario(backend: Backend, given_steps: list[NamedTuple]) -> None:
    clock, model, current = ManualClock(START), Model(), 0
    async with backend.open(clock, Retention()) as first:
        store = first
        for step in given_steps:
            match step:
                case Put(key, value):
                    found = model.at(key, current)
                    if (found.value if found else None) != value:
                        current = await store.commit(key, value, ANY, ACTOR)
                        model.versions.append(Version(current, key, value))
                case Remove(key, is_prefix, since, through):
                    page = await store.purge(Selection(key, is_prefix, since, through), PURGE)
                    assert sum(number for _, number in page.removed) == model.purge(step)
                case Compact(to):
                    await store.compact(min(to, current))
                    model.oldest = max(model.oldest, min(to, current))
                case Reopen() if backend.reopen is not None:
                    await store.scrub()
                    store = await backend.reopen(store, clock)
        await check(store, model, current)
        await store.scrub()
        await check(store, model, current)
        if store is not first:
            await store.close()


@pytest.mark.parametrize(
    "backend", [backend for backend in BACKENDS if "etcd" not in backend.name], ids=lambda backend: backend.name
)
def test_a_purge_removes_what_the_model_says_and_nothing_else(backend: Backend) -> None:
    @settings(
        max_examples=120 if backend.name == "memory" else 40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(steps)
    def run(given_steps: list[NamedTuple]) -> None:
        asyncio.run(scenario(backend, given_steps))

    run()
