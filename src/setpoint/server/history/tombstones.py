"""The records of purges: the user that removed past values of an object, the time, and the reason.

A record is a value of the store, under a key that no resource has. So records are durable, are part of every snapshot,
reach every replica, and survive compaction. The latest records of an object are stored in one value.
"""

from typing import Any

import msgspec

from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.store.contract import ExpectationFailed, Store

PREFIX = "/purges"
# The number of records kept per object.
_MOST = 20

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode
_encode = msgspec.json.Encoder(order="sorted").encode


def key_of(key: str) -> str:
    """Returns the key of the records of an object."""
    return PREFIX + key


async def tombstones(store: Store, key: str, since: int = 0) -> list[Object]:
    """Returns the records of an object since a revision, the latest first."""
    item = await store.get(key_of(key))
    records = [] if item is None else _decode(item.value)
    return [record for record in records if int(record["revision"]) >= since]


async def bury(
    store: Store, key: str, record: Object, actor: Actor, cause: Cause | None, *, ttl: float | None = None
) -> None:
    """Adds a record, or replaces the one with the same ID. With `ttl` the records expire after so many seconds, unless
    the object has other records."""
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
