"""A process that gets and commits as fast as it can, and prints what it was told, one operation a line.

`python etcd_worker.py ENDPOINTS ROOT SEED SECONDS`; used by the linearizability test.
"""

import asyncio
import json
import random
import sys
import time
from math import inf

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ANY, ExpectationFailed, Item
from setpoint.store.etcd import EtcdConfig, EtcdStore, OutcomeUnknown, Unreachable

KEYS = ["a", "b", "c"]
TASKS = 2


async def work(store: EtcdStore, name: str, chance: random.Random, until: float) -> None:
    known: dict[str, Item | None] = dict.fromkeys(KEYS)
    number = 0
    told: tuple[str, str | None, int | None, str, str | None, int]
    while time.monotonic() < until:
        key, number = chance.choice(KEYS), number + 1
        start = time.monotonic()
        if chance.random() < 0.4:
            try:
                found = known[key] = await store.get(key)
            except Unreachable:
                continue
            told = ("get", None, None, "ok", found.value.decode() if found else None, found.revision if found else 0)
        else:
            item = known[key]
            expect = chance.choice([ANY, item.revision if item else ABSENT, item.revision if item else ABSENT])
            value = None if chance.random() < 0.1 else f"{name}-{number}"
            if value is None and (item is None or expect == ABSENT):
                continue  # changes nothing, and so has no revision of its own
            if value is None:
                expect = item.revision if item else ABSENT
            try:
                revision = await store.commit(key, value.encode() if value else None, expect, Actor(name))
                known[key] = None if value is None else Item(key, value.encode(), revision, 0)
                told = ("commit", value, expect, "ok", None, revision)
            except ExpectationFailed as failed:
                actual = known[key] = failed.actual
                seen = (actual.value.decode(), actual.revision) if actual else (None, 0)
                told = ("commit", value, expect, "failed", *seen)
            except Unreachable:
                continue  # it says that nothing was written
            except OutcomeUnknown:
                told = ("commit", value, expect, "unknown", None, 0)
        kind, value, expect, outcome, seen_value, revision = told
        end = inf if outcome == "unknown" else time.monotonic()
        print(json.dumps([kind, key, start, end, value, expect, outcome, seen_value, revision]), flush=True)  # noqa: T201


async def main(endpoints: str, root: str, seed: str, seconds: str) -> None:
    store = await EtcdStore.open(EtcdConfig(tuple(endpoints.split(",")), root))
    until = time.monotonic() + float(seconds)
    try:
        await asyncio.gather(*(work(store, f"{seed}.{n}", random.Random(f"{seed}.{n}"), until) for n in range(TASKS)))
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
