"""Short constructors for etcd's messages, as far as the store uses them.

The generated messages come from aetcd and have no type information, so `Message` is an alias of Any.
"""

from typing import Any, TypeAlias

from aetcd.rpc import rpc_pb2 as pb

Message: TypeAlias = Any
_Compare = pb.Compare


def mod_is(key: bytes, revision: int) -> Message:
    """Compares: the key was last written at this revision; 0: the key is absent."""
    return _Compare(key=key, target=_Compare.MOD, result=_Compare.EQUAL, mod_revision=revision)


def exists(key: bytes) -> Message:
    return _Compare(key=key, target=_Compare.MOD, result=_Compare.GREATER, mod_revision=0)


def version_is(key: bytes, version: int) -> Message:
    """Compares: the key was written this many times since its creation; 0: the key is absent."""
    return _Compare(key=key, target=_Compare.VERSION, result=_Compare.EQUAL, version=version)


def value_between(key: bytes, low: bytes, high: bytes) -> list[Message]:
    """Compares: the key exists and its value is greater than `low` and less than `high`."""
    return [
        _Compare(key=key, target=_Compare.VALUE, result=_Compare.GREATER, value=low),
        _Compare(key=key, target=_Compare.VALUE, result=_Compare.LESS, value=high),
    ]


def put(key: bytes, value: bytes, lease: int = 0) -> Message:
    return pb.RequestOp(request_put=pb.PutRequest(key=key, value=value, lease=lease))


def delete(key: bytes, end: bytes = b"") -> Message:
    return pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=key, range_end=end))


def get(key: bytes, revision: int = 0, keys_only: bool = False) -> Message:
    return pb.RequestOp(request_range=pb.RangeRequest(key=key, revision=revision, keys_only=keys_only))


def range_(
    start: bytes,
    end: bytes,
    *,
    limit: int = 0,
    revision: int = 0,
    keys_only: bool = False,
    written_by: int = 0,
) -> Message:
    """Reads the keys from `start` up to `end`, in order; with `written_by`, only those not written after a revision."""
    return pb.RequestOp(
        request_range=pb.RangeRequest(
            key=start,
            range_end=end,
            limit=limit,
            revision=revision,
            keys_only=keys_only,
            max_mod_revision=written_by,
        )
    )


def count(start: bytes, end: bytes, revision: int = 0) -> Message:
    return pb.RequestOp(request_range=pb.RangeRequest(key=start, range_end=end, revision=revision, count_only=True))


def nested(compare: list[Message], success: list[Message], failure: list[Message]) -> Message:
    return pb.RequestOp(request_txn=txn(compare, success, failure))


def txn(compare: list[Message], success: list[Message], failure: list[Message]) -> Message:
    return pb.TxnRequest(compare=compare, success=success, failure=failure)


def first(response: Message) -> Message | None:
    """Returns the key that a `get` found, or None."""
    found = response.response_range.kvs
    return found[0] if found else None
