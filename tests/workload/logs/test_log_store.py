"""The logs of objects that are gone, and those that were there before."""

import asyncio
from pathlib import Path

from setpoint.objects.clock import SystemClock
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions


def written(store: LogStore, uid: str, text: bytes) -> None:
    store.capture(uid, "stdout").write(text)


def uids(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_the_files_of_an_object_go_with_it_but_for_those_that_went_last(tmp_path: Path) -> None:
    for kept, left in ((0, set()), (2, {"b", "c"})):
        directory = tmp_path / str(kept)
        store = LogStore(directory, SystemClock(), kept=kept)
        for uid in ("a", "b", "c"):
            written(store, uid, b"hello\n")
            store.remove(uid)
        assert uids(directory) == left
        store.close()


async def test_what_lies_there_from_before_is_read_and_ends(tmp_path: Path) -> None:
    before = LogStore(tmp_path, SystemClock())
    written(before, "a", b"one\ntwo\n")
    before.note("a", "it ran")
    before.close()
    store = LogStore(tmp_path, SystemClock())
    assert store.reopen() == {"a": ["stdout", "system"]}

    async def read() -> bytes:
        return b"".join([piece async for piece in store.read("a", LogOptions(follow=True))])

    assert await asyncio.wait_for(read(), 10) == b"one\ntwo\n"
    store.close()
