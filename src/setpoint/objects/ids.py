"""The one source of chance: uids, the random ends of generated names, and random numbers for jitter.

`SystemIds` draws from the machine; `SeededIds` gives the same sequence for the same seed, so a run can be replayed.
"""

import os
import random
import secrets
import uuid
from typing import Protocol

# No vowels and none of 0, 1 and 3: a random end never spells a word nor looks like another.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
# What stands for a random digit where a UUID says that it is one: two of its four bits are set.
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class Ids(Protocol):
    """What chance decides."""

    def uid(self) -> str:
        """A new uid: the text of a version 4 UUID."""

    def suffix(self) -> str:
        """Five characters to make a generated name unique."""

    def random(self) -> float:
        """A number from 0 up to, but never, 1."""


class SystemIds:
    """Ids from the machine's own randomness."""

    def uid(self) -> str:
        # What `str(uuid.uuid4())` gives, in a fifth of its time: every request has one.
        digits = os.urandom(16).hex()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANTS[digits[16]]}{digits[17:20]}-{digits[20:]}"

    def suffix(self) -> str:
        return "".join(secrets.choice(ALPHABET) for _ in range(SUFFIX_LENGTH))

    def random(self) -> float:
        return random.random()


class SeededIds:
    """Ids that the seed decides."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self) -> str:
        return "".join(self._random.choices(ALPHABET, k=SUFFIX_LENGTH))

    def random(self) -> float:
        return self._random.random()
