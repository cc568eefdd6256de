"""Concurrent clients see one consistent log on every store, with compactions, slow readers, restarts and kills."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest
from tests.consistency.check import violations
from tests.consistency.history import UNKNOWN
from tests.consistency.processes import Starter, served_etcd, served_memory, served_sqlite, starting
from tests.consistency.rounds import SMALL_CACHE, Plan, run_round, run_served_round
from tests.consistency.world import LateEtcdStore, Open, etcd, late_etcd, memory, sqlite
from tests.store.etcd_server import require_etcd

from setpoint.store.cached.state_cache import LIMIT

LOCAL = pytest.mark.parametrize("opening", [memory, sqlite])
# Few rounds: `make robustness` runs hundreds.
ROUNDS = 2


@LOCAL
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_local_store_is_consistent(opening: Callable[[], AbstractAsyncContextManager[Open]], seed: int) -> None:
    history, _ = await run_round(seed, Plan(), opening)
    assert violations(history) == []
    assert history.compactions
    assert history.delays, "no client was slow"


@LOCAL
async def test_a_local_store_is_consistent_across_restarts(
    opening: Callable[[], AbstractAsyncContextManager[Open]],
) -> None:
    history, world = await run_round(7, Plan(restarts=3), opening)
    assert violations(history) == []
    assert world.restarts == 3
    assert any(write.outcome == UNKNOWN for write in history.writes), "no request was under way at a restart"


@pytest.mark.parametrize("cache_bytes", [0, SMALL_CACHE])
async def test_a_store_with_a_small_cache_is_consistent(cache_bytes: int) -> None:
    history, _ = await run_round(3, Plan(restarts=1, cache_bytes=cache_bytes), sqlite)
    assert violations(history) == []


@pytest.mark.slow
@pytest.mark.parametrize("opening", [etcd, late_etcd])
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("cache_bytes", [0, SMALL_CACHE, LIMIT])
async def test_etcd_is_consistent(
    opening: Callable[[], AbstractAsyncContextManager[Open]], servers: int, cache_bytes: int
) -> None:
    require_etcd()
    history, _ = await run_round(1, Plan(servers=servers, restarts=1, cache_bytes=cache_bytes), opening)
    assert violations(history) == []


@pytest.fixture
async def starter() -> AsyncIterator[Starter]:
    async with starting() as starter:
        yield starter


@pytest.mark.slow
async def test_sqlite_is_consistent_across_kills_and_pauses_of_the_process(starter: Starter) -> None:
    history, world = await run_served_round(5, Plan(restarts=2, pauses=2), served_sqlite, starter)
    assert violations(history) == []
    assert (world.restarts, world.pauses) == (2, 2)
    assert any(write.outcome == UNKNOWN for write in history.writes), "no request was under way at a kill"


@pytest.mark.slow
async def test_writes_that_a_kill_loses_are_noticed(starter: Starter) -> None:
    noticed = False
    for seed in range(10):
        noticed = noticed or await loses_writes(seed, starter)
    assert noticed


async def loses_writes(seed: int, starter: Starter) -> bool:
    """Runs a round on a store that loses all writes in a kill, and returns True if a client notices the loss."""
    try:
        history, _ = await run_served_round(seed, Plan(restarts=1, compactions=0), served_memory, starter)
    except AssertionError as error:  # a revision that a client knows does not exist any more
        return "Too large resource version" in str(error)
    return bool(violations(history))


class UnconfirmedStore(LateEtcdStore):
    """A store with a bug: a consistent read does not wait for the revision of a quorum."""

    async def confirmed(self) -> int:
        return self.current or await super().confirmed()


class StaleConfirmation(LateEtcdStore):
    """A store with a bug: a read uses the confirmation of an earlier one."""

    _last = 0

    async def confirmed(self) -> int:
        last, self._last = self._last, await super().confirmed()
        return last


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
async def test_etcd_is_consistent_across_kills_and_pauses_of_the_processes(servers: int, starter: Starter) -> None:
    require_etcd()
    history, world = await run_served_round(6, Plan(servers=servers, restarts=2, pauses=2), served_etcd, starter)
    assert violations(history) == []
    assert (world.restarts, world.pauses) == (2, 2)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("kind", [UnconfirmedStore, StaleConfirmation])
async def test_a_read_of_etcd_without_its_confirmation_is_a_violation(kind: type[LateEtcdStore], servers: int) -> None:
    require_etcd()
    found = []
    for seed in range(3):
        history, _ = await run_round(seed, Plan(servers=servers), partial(etcd, kind))
        found += violations(history)
    assert any("impossible" in violation for violation in found)
