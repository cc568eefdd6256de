"""A cache of verified tokens, so that the next request of a client does not verify the signature again.

Only immutable facts are cached: the validity of the signature and the claims. The caller checks on every request if the
token is still valid (expiration, bound objects). Tokens are stored as digests, so that memory does not hold credentials
longer than needed.
"""

import hashlib
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_KEPT = 4096


class Verified(Generic[T]):
    """The claims of the most recently verified tokens."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._cached: dict[bytes, T] = {}

    def find(self, token: str, verify: Callable[[str], T | None]) -> T | None:
        """Returns the claims of a token; `verify` returns those of a new token, or None for a token of other
        issuers."""
        found = self.get(token)
        if found is None and (found := verify(token)) is not None:
            self.keep(token, found)
        return found

    def get(self, token: str) -> T | None:
        return self._cached.get(_digest(token))

    def keep(self, token: str, found: T) -> None:
        if len(self._cached) >= self._kept:
            del self._cached[next(iter(self._cached))]
        self._cached[_digest(token)] = found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
