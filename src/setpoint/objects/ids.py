"""The only source of randomness: uids, the random suffixes of generated names, and random numbers for jitter.

`SystemIds` uses the machine's randomness; `SeededIds` gives the same sequence for the same seed, so that a run can be
replayed.
"""

import os
import random
import secrets
import uuid
from typing import Protocol

# No vowels and none of 0, 1 and 3: a random suffix never forms a word, and its characters are not confused.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
# Maps a random digit to the variant digit of a UUID, of which two bits are fixed.
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class Ids(Protocol):
    """A source of random values."""

    def uid(self) -> str:
        """Returns a new uid: the text of a version 4 UUID."""

    def suffix(self) -> str:
        """Returns five characters that make a generated name unique."""

    def random(self) -> float:
        """Returns a number from 0 up to, but excluding, 1."""


class SystemIds:
    """Ids from the machine's own randomness."""

    def uid(self) -> str:
        # Equivalent to `str(uuid.uuid4())`, in a fifth of its time: every request needs a uid.
        digits = os.urandom(16).hex()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANTS[digits[16]]}{digits[17:20]}-{digits[20:]}"

    def suffix(self) -> str:
        return "".join(secrets.choice(ALPHABET) for _ in range(SUFFIX_LENGTH))

    def random(self) -> float:
        return random.random()


class SeededIds:
    """Ids that a seed determines."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def fork(self) -> "SeededIds":
        """Returns a source that continues with the same sequence, independently of this one."""
        made = SeededIds(0)
        made.resume(self)
        return made

    def resume(self, other: "SeededIds") -> None:
        """Continues with the sequence of another source from now on."""
        self._random.setstate(other._random.getstate())

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self) -> str:
        return "".join(self._random.choices(ALPHABET, k=SUFFIX_LENGTH))

    def random(self) -> float:
        return self._random.random()
