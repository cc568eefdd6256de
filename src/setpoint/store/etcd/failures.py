"""Classifies a failed call to etcd: whether the request was sent, whether a retry is safe, and which message to show.

gRPC gives a code and a text. etcd's own texts are stable (clients of every language match on them).
"""

from enum import Enum

from grpc import StatusCode
from grpc.aio import AioRpcError

from setpoint.store.contract import StoreError, Unreachable


class Kind(Enum):
    """The reaction to a failure."""

    UNSENT = "it never left: try elsewhere"
    LOST = "it may or may not have been done"
    STALE_LOGIN = "log in again and repeat"
    BUSY = "refused for now: repeat later"
    COMPACTED = "the revision is no longer kept"
    FUTURE = "the revision does not exist yet"
    REFUSED = "it will never work"


_LOGIN_TEXTS = ("invalid auth token", "revision of auth store is old")
_BUSY_TEXTS = ("too many requests", "not capable")
_LOST_CODES = (
    StatusCode.UNAVAILABLE,
    StatusCode.DEADLINE_EXCEEDED,
    StatusCode.CANCELLED,
    StatusCode.UNKNOWN,
    StatusCode.INTERNAL,
    StatusCode.ABORTED,
)
# The remedies for requests that etcd refuses permanently.
_REMEDIES = {
    "too many operations": "write fewer keys in one transaction, or start etcd with a higher --max-txn-ops",
    "request is too large": "write less at once, or start etcd with a higher --max-request-bytes",
    "received message larger": "write less at once, or start etcd with a higher --max-request-bytes",
    "database space exceeded": "compact and defragment etcd, then disarm its alarm, or raise --quota-backend-bytes",
    "user name is empty": "etcd wants a user: give a name and a password",
    "invalid user ID or password": "etcd does not know this user and password",
    "authentication is not enabled": "etcd knows no users: leave out name and password",
    "permission denied": "grant the user the right to read and write all keys below the root",
}


def kind_of(error: AioRpcError) -> Kind:
    code, text = error.code(), error.details() or ""
    if code is StatusCode.UNAVAILABLE and "failed to connect to all addresses" in text:
        return Kind.UNSENT
    if code is StatusCode.OUT_OF_RANGE:
        return Kind.COMPACTED if "compacted" in text else Kind.FUTURE
    if code is StatusCode.UNAUTHENTICATED or any(known in text for known in _LOGIN_TEXTS):
        return Kind.STALE_LOGIN
    if any(known in text for known in _BUSY_TEXTS):
        return Kind.BUSY
    # Some versions of etcd return "authentication failed" and similar errors as UNKNOWN, with etcd's own text.
    if any(known in text for known in _REMEDIES):
        return Kind.REFUSED
    return Kind.LOST if code in _LOST_CODES else Kind.REFUSED


def refusal(where: str, error: AioRpcError) -> StoreError:
    text = error.details() or str(error.code())
    remedy = next((remedy for known, remedy in _REMEDIES.items() if known in text), "")
    return StoreError(f"etcd at {where}: {text}" + (f"; {remedy}" if remedy else ""))


def unreachable(where: str, error: AioRpcError | None) -> Unreachable:
    text = (error.details() or str(error.code())) if error else "no answer"
    return Unreachable(f"cannot reach etcd at {where}: {text}; is it running?")
