"""The records of purges: who had past values of an object removed, when and why.

A record is a value of the store beside the objects, under a key that no resource has. So it is durable, is in every
snapshot, reaches every replica, and survives compaction. The latest records of an object are kept in one value.
"""

from typing import Any

import msgspec

from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.store.contract import ExpectationFailed, Store

PREFIX = "/purges"
# How many records of one object are kept.
_MOST = 20

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode
_encode = msgspec.json.Encoder(order="sorted").encode


def key_of(key: str) -> str:
    """The key of the records of an object."""
    return PREFIX + key


async def tombstones(store: Store, key: str, since: int = 0) -> list[Object]:
    """Returns the records of an object since a revision, the latest first."""
    item = await store.get(key_of(key))
    records = [] if item is None else _decode(item.value)
    return [record for record in records if int(record["revision"]) >= since]


async def bury(
    store: Store, key: str, record: Object, actor: Actor, cause: Cause | None, *, ttl: float | None = None
) -> None:
    """Adds a record, or replaces the one with the same id. With `ttl` the records expire after so many seconds, unless
    there are others than this one."""
    while True:
        item = await store.get(key_of(key))
        records = [] if item is None else _decode(item.value)
        others = [each for each in records if each["id"] != record["id"]]
        record = {**record, "revision": str(await store.revision())}
        value = _encode([record, *others][:_MOST])
        try:
            expect = 0 if item is None else item.revision
            await store.commit(key_of(key), value, expect, actor, cause, None if others else ttl)
        except ExpectationFailed:
            continue  # another purge of the same object
        return
