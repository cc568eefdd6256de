"""Tokens that were found good: what they say is kept, so that a client's next request need not verify them again.

Only what can never change is kept: a signature, and the claims below it. Whether the token is still good (its time, its
objects) is for whoever asks. Tokens are kept by their digest, for no memory should hold credentials longer than needed.
"""

import hashlib
from typing import Generic, TypeVar

T = TypeVar("T")

_KEPT = 4096


class Verified(Generic[T]):
    """What is known of the tokens seen last."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._known: dict[bytes, T] = {}

    def get(self, token: str) -> T | None:
        return self._known.get(_digest(token))

    def keep(self, token: str, found: T) -> None:
        if len(self._known) >= self._kept:
            del self._known[next(iter(self._known))]
        self._known[_digest(token)] = found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
