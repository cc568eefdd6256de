"""Porcupine, a checker of another project, agrees with ours about the histories of single objects."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.consistency.check import violations
from tests.consistency.history import CONSISTENT, DONE, UNKNOWN, History
from tests.consistency.rounds import Plan, run_round
from tests.consistency.world import Open, etcd, memory, sqlite
from tests.store.etcd_server import require_etcd

pytestmark = pytest.mark.peers
PLAN = Plan(steps=60, compactions=1)


@pytest.fixture(scope="module")
def program() -> str:
    found = os.environ.get("PORCUPINE")
    if not found:
        pytest.skip("the Go program has to be built; `make test-peers` builds and runs it")
    return found


def operations(history: History) -> Iterator[dict[str, Any]]:
    """Yields the writes and the consistent reads of single objects."""
    clients = {name: number for number, name in enumerate({record.client for record in history.writes})}
    for write in history.writes:
        assert write.outcome != UNKNOWN
        yield {
            "key": write.key,
            "client": clients[write.client],
            "start": write.start,
            "end": write.end,
            "kind": "delete" if not write.mark else "create" if write.creates else "update",
            "outcome": write.outcome,
            "mark": write.mark,
            "revision": write.version.revision if write.version else 0,
            "expect": write.expect or 0,
        }
    for read in history.reads:
        if read.mode == CONSISTENT:
            yield {
                "key": read.key,
                "client": clients.setdefault(read.client, len(clients)),
                "start": read.start,
                "end": read.end,
                "kind": "get",
                "outcome": DONE,
                "mark": read.version.mark if read.version else "",
                "revision": read.version.revision if read.version else 0,
            }


def check(program: str, found: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program], input=json.dumps(found), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("opening", [memory, sqlite, etcd])
async def test_porcupine_finds_an_order(program: str, opening: Callable[[], AbstractAsyncContextManager[Open]]) -> None:
    if opening is etcd:
        require_etcd()
    history, _ = await run_round(3, PLAN, opening)
    assert violations(history) == []
    done = check(program, list(operations(history)))
    assert done.returncode == 0, done.stdout + done.stderr


async def test_porcupine_notices_a_stale_read(program: str) -> None:
    history, _ = await run_round(3, PLAN, memory)
    found = list(operations(history))
    last = max(
        (each for each in found if each["kind"] == "update" and each["outcome"] == DONE), key=lambda op: op["end"]
    )
    stale = {"kind": "get", "mark": "before", "revision": last["revision"] - 1, "expect": 0}
    done = check(program, [*found, last | stale | {"start": last["end"] + 1, "end": last["end"] + 2}])
    assert (done.returncode, "Illegal" in done.stdout) == (1, True), done
