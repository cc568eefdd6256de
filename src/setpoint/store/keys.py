"""Keys: their validation, the end of a prefix, and a sorted set of many keys that is cheap to change."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence

from setpoint.store.contract import Write

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def check_key(key: str) -> None:
    """Raises ValueError for a key that no backend can store."""
    if not key:
        raise ValueError("a key must not be empty")
    if not key.isascii():
        try:
            key.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the key {key!r} cannot be written as UTF-8: it contains half of a character") from None


def check_writes(writes: Sequence[Write]) -> None:
    """Raises ValueError for a transaction with a duplicate or invalid key."""
    seen = set()
    for write in writes:
        check_key(write.key)
        if write.key in seen:
            raise ValueError(f"a transaction names the key {write.key!r} twice")
        seen.add(write.key)


def prefix_end(prefix: str) -> str | None:
    """Returns the least text that is greater than every key with the prefix; None if there is none."""
    for place in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[place])
        if code < _LAST:
            following = code + 1 if code + 1 not in _SURROGATES else _SURROGATES.stop
            return prefix[:place] + chr(following)
    return None


class KeyOrder:
    """A sorted set of keys, in pieces so short that an insertion moves only few pointers.

    One flat list would move half of its pointers for every new key, which at 100,000 keys dominates the cost of a
    write.
    """

    __slots__ = ("_lasts", "_pieces")
    _PIECE = 512

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        self._pieces = [ordered[at : at + self._PIECE] for at in range(0, len(ordered), self._PIECE)]
        # The last key of each piece; a piece is never empty.
        self._lasts = [piece[-1] for piece in self._pieces]

    def copy(self) -> "KeyOrder":
        other = KeyOrder()
        other._pieces = [piece.copy() for piece in self._pieces]
        other._lasts = self._lasts.copy()
        return other

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def add(self, key: str) -> None:
        """Adds a key that is not in the set yet."""
        if not self._pieces:
            self._pieces, self._lasts = [[key]], [key]
            return
        place = min(bisect_left(self._lasts, key), len(self._pieces) - 1)
        piece = self._pieces[place]
        insort(piece, key)
        self._lasts[place] = piece[-1]
        if len(piece) > 2 * self._PIECE:
            half = piece[self._PIECE :]
            del piece[self._PIECE :]
            self._lasts[place] = piece[-1]
            self._pieces.insert(place + 1, half)
            self._lasts.insert(place + 1, half[-1])

    def discard(self, key: str) -> None:
        """Removes a key, if present."""
        place = bisect_left(self._lasts, key)
        if place == len(self._pieces):
            return
        piece = self._pieces[place]
        at = bisect_left(piece, key)
        if piece[at] != key:
            return
        del piece[at]
        if piece:
            self._lasts[place] = piece[-1]
        else:
            del self._pieces[place], self._lasts[place]

    def between(self, start: str, end: str | None) -> Iterator[str]:
        """Yields the keys from `start` up to, but excluding, `end`."""
        for place in range(bisect_left(self._lasts, start), len(self._pieces)):
            piece = self._pieces[place]
            first = bisect_left(piece, start)
            if end is not None and piece[-1] >= end:
                yield from piece[first : bisect_left(piece, end)]
                return
            yield from piece[first:]

    def after(self, key: str, prefix: str, end: str | None) -> Iterator[str]:
        """Yields the keys with a prefix (which ends at `end`) that come after a key."""
        if key < prefix:
            return self.between(prefix, end)
        return self.between(key + "\0", end)

    def rank(self, key: str | None) -> int:
        """Returns the number of keys before this one; the number of all keys for None."""
        if key is None:
            return len(self)
        place = bisect_left(self._lasts, key)
        before = sum(map(len, self._pieces[:place]))
        return before + (bisect_left(self._pieces[place], key) if place < len(self._pieces) else 0)
