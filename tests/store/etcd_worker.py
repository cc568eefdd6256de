"""A process that gets and commits as fast as it can, and writes the record of it to its standard output.

`python -m tests.store.etcd_worker ENDPOINTS ROOT SEED SECONDS`; used by the linearizability test.
"""

import asyncio
import sys
import time
from random import Random

import msgspec

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ANY, Expect, StoreError
from setpoint.store.etcd import EtcdConfig, EtcdStore, Unreachable

from .linearizability import Recorder

TASKS = 2
# The operations of each task, however slow the machine is.
LEAST = 60


async def work(recorder: Recorder, name: str, until: float) -> None:
    random = Random(name)
    known: dict[str, int] = {}
    number = 0
    while time.monotonic() < until or len(recorder.history) < LEAST:
        key, choice, number = random.choice("xyz"), random.random(), number + 1
        try:
            if choice < 0.4:
                state = await recorder.get(key)
            else:
                value = None if random.random() < 0.1 else f"{name}-{number}".encode()
                expect: Expect = known.get(key, ABSENT) if choice < 0.8 else ANY
                state = await recorder.commit(key, value, expect)
        except StoreError as error:
            if isinstance(error, Unreachable) and choice >= 0.4:
                recorder.history.pop()  # which promises that nothing was written
            continue
        known[key] = state[1] if state else 0


async def main(endpoints: str, root: str, seed: str, seconds: str) -> None:
    store = await EtcdStore.open(EtcdConfig(tuple(endpoints.split(",")), root))
    until = time.monotonic() + float(seconds)
    recorders = [Recorder(store, Actor(f"{seed}.{n}")) for n in range(TASKS)]
    try:
        await asyncio.gather(*(work(recorder, recorder.actor.user, until) for recorder in recorders))
    finally:
        await store.close()
    sys.stdout.buffer.write(msgspec.msgpack.encode([done for recorder in recorders for done in recorder.history]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
