"""Locks between processes, by files."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.session.locks import file_lock, locked


def test_one_has_a_lock_at_a_time_and_the_next_one_afterwards(tmp_path: Path) -> None:
    with locked(tmp_path / "lock") as first:
        with locked(tmp_path / "lock") as second:
            assert (first, second) == (True, False)
        with locked(tmp_path / "lock", make=False) as third:
            assert not third
    with locked(tmp_path / "lock") as after:
        assert after


def test_a_file_that_is_not_to_be_made_is_not_made_and_nobody_has_its_lock(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", make=False) as free:
        assert free
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(tmp_path / "none" / "lock"):
        pass


def test_a_lock_whose_file_was_removed_meanwhile_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    # As if its holder removed it in the moment between the opening and the locking of it.
    monkeypatch.setattr("fcntl.flock", lambda descriptor, how: path.unlink())
    with locked(path) as ours:
        assert not ours


async def test_who_wants_a_turn_waits_for_it(tmp_path: Path) -> None:
    clock, told = ManualClock(datetime(2026, 1, 31, tzinfo=UTC)), list[str]()

    async def take(name: str) -> None:
        async with file_lock(tmp_path / "lock", clock):
            told.append(f"{name} begins")
            await clock.sleep(1.0)
            told.append(f"{name} ends")

    takers = asyncio.gather(take("one"), take("two"))
    while not takers.done():
        await asyncio.sleep(0)
        clock.advance(0.5)
    assert told == ["one begins", "one ends", "two begins", "two ends"]
