"""etcd's messages, as far as we use them: short names for what goes into a transaction.

The generated messages come from aetcd; they have no types of their own, so `Message` is as much as can be said.
"""

from typing import Any, TypeAlias

from aetcd.rpc import rpc_pb2 as pb

Message: TypeAlias = Any
_Compare = pb.Compare


def mod_is(key: bytes, revision: int) -> Message:
    """The key was last written at this revision; 0: it is absent."""
    return _Compare(key=key, target=_Compare.MOD, result=_Compare.EQUAL, mod_revision=revision)


def exists(key: bytes) -> Message:
    return _Compare(key=key, target=_Compare.MOD, result=_Compare.GREATER, mod_revision=0)


def version_is(key: bytes, version: int) -> Message:
    """The key was written this many times since it was created; 0: it is absent."""
    return _Compare(key=key, target=_Compare.VERSION, result=_Compare.EQUAL, version=version)


def value_between(key: bytes, low: bytes, high: bytes) -> list[Message]:
    """The key is there and its value is greater than the one and less than the other."""
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
    """Keys from `start` up to `end`, in order; with `written_by`, only those not written since that revision."""
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
    """The one key that a `get` found, if it did."""
    found = response.response_range.kvs
    return found[0] if found else None
