"""Rate limits: how long a key waits before it is tried again. client-go's limiters and their constants.

A limiter is asked once for each retry (`delay`), and told when a key succeeded (`forget`). All are plain computing over
an injected clock.
"""

from collections.abc import Hashable
from typing import Protocol

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids

BASE_SECONDS, MAX_SECONDS = 0.005, 1000.0
BUCKET_RATE, BUCKET_BURST = 10.0, 100


class RateLimiter(Protocol):
    """Decides how long a retry waits."""

    def delay(self, key: Hashable) -> float:
        """The seconds that this retry of a key waits. Counts as a retry."""

    def forget(self, key: Hashable) -> None:
        """The key succeeded: its next failure is its first."""

    def retries(self, key: Hashable) -> int:
        """How often the key was retried since it last succeeded."""


class Exponential:
    """Each failure of a key doubles its wait, from `base` up to `limit` seconds."""

    def __init__(self, base: float = BASE_SECONDS, limit: float = MAX_SECONDS) -> None:
        self._base = base
        self._limit = limit
        self._failures: dict[Hashable, int] = {}

    def delay(self, key: Hashable) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # 2**64 times anything is beyond every limit; a larger power would not fit a float.
        return min(self._base * 2.0 ** min(failures, 64), self._limit)

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def retries(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class FastSlow:
    """The first `attempts` retries of a key wait `fast` seconds, all later ones `slow`."""

    def __init__(self, fast: float, slow: float, attempts: int) -> None:
        self._fast = fast
        self._slow = slow
        self._attempts = attempts
        self._failures: dict[Hashable, int] = {}

    def delay(self, key: Hashable) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._fast if failures <= self._attempts else self._slow

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def retries(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class Bucket:
    """A bucket of tokens that all keys share: `rate` a second flow in, at most `burst` are kept, a retry takes one."""

    def __init__(self, clock: Clock, rate: float = BUCKET_RATE, burst: int = BUCKET_BURST) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError("a bucket needs a rate above 0 and a burst of at least 1")
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._time = clock.monotonic()

    def delay(self, key: Hashable) -> float:
        self._flow_in()
        self._tokens -= 1
        return max(-self._tokens / self._rate, 0.0)

    def take(self) -> bool:
        """Takes a token if there is a whole one, for what is not to wait."""
        self._flow_in()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _flow_in(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._tokens + (now - self._time) * self._rate, self._burst)
        self._time = now

    def forget(self, key: Hashable) -> None:
        """A token that was taken stays taken."""

    def retries(self, key: Hashable) -> int:
        return 0


class MaxOf:
    """The longest wait of several limiters."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def delay(self, key: Hashable) -> float:
        return max(limiter.delay(key) for limiter in self._limiters)

    def forget(self, key: Hashable) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: Hashable) -> int:
        return max(limiter.retries(key) for limiter in self._limiters)


class AtMost:
    """Another limiter's waits, none longer than `limit` seconds."""

    def __init__(self, limiter: RateLimiter, limit: float) -> None:
        self._limiter = limiter
        self._limit = limit

    def delay(self, key: Hashable) -> float:
        return min(self._limiter.delay(key), self._limit)

    def forget(self, key: Hashable) -> None:
        self._limiter.forget(key)

    def retries(self, key: Hashable) -> int:
        return self._limiter.retries(key)


class Jittered:
    """Another limiter's waits, each longer by up to a `share` of itself, by chance: what failed together does not come
    back together."""

    def __init__(self, limiter: RateLimiter, ids: Ids, share: float = 0.5) -> None:
        self._limiter = limiter
        self._ids = ids
        self._share = share

    def delay(self, key: Hashable) -> float:
        return self._limiter.delay(key) * (1.0 + self._share * self._ids.random())

    def forget(self, key: Hashable) -> None:
        self._limiter.forget(key)

    def retries(self, key: Hashable) -> int:
        return self._limiter.retries(key)


def client_go_default(clock: Clock) -> RateLimiter:
    """What client-go calls its default for controllers: exponential, and never more than ten a second for long."""
    return MaxOf(Exponential(), Bucket(clock))
