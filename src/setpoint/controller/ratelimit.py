"""Rate limiters: compute the delay before a key is retried. client-go's limiters with their constants.

A limiter is called once for each retry (`delay`) and after a success (`forget`). The limiters do no I/O and take an
injected clock.
"""

from collections.abc import Hashable
from typing import Protocol

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids

BASE_SECONDS, MAX_SECONDS = 0.005, 1000.0
BUCKET_RATE, BUCKET_BURST = 10.0, 100


class RateLimiter(Protocol):
    """Computes the delay of a retry."""

    def delay(self, key: Hashable) -> float:
        """Counts a retry of a key, and returns its delay in seconds."""

    def forget(self, key: Hashable) -> None:
        """Resets the backoff of a key after a success."""

    def retries(self, key: Hashable) -> int:
        """Returns the number of retries of the key since its last success."""


class Exponential:
    """Doubles the delay of a key with each failure, from `base` up to `limit` seconds.

    Controller("website", reconcile, kind=Website, limiter=lambda: Exponential(base=1.0, limit=60.0))
    """

    def __init__(self, base: float = BASE_SECONDS, limit: float = MAX_SECONDS) -> None:
        self._base = base
        self._limit = limit
        self._failures: dict[Hashable, int] = {}

    def delay(self, key: Hashable) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # 2**64 times any base exceeds every limit; a larger power would overflow a float.
        return min(self._base * 2.0 ** min(failures, 64), self._limit)

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def retries(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class FastSlow:
    """Delays the first `attempts` retries of a key by `fast` seconds, and all later ones by `slow`.

    FastSlow(fast=0.1, slow=30.0, attempts=5)
    """

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
    """A token bucket shared by all keys: refills with `rate` tokens per second up to `burst`; a retry takes one token.

    MaxOf(Exponential(), Bucket(SystemClock(), rate=5.0, burst=20))
    """

    def __init__(self, clock: Clock, rate: float = BUCKET_RATE, burst: int = BUCKET_BURST) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError("rate must be greater than 0 and burst at least 1")
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._time = clock.monotonic()

    def delay(self, key: Hashable) -> float:
        self._refill()
        self._tokens -= 1
        return max(-self._tokens / self._rate, 0.0)

    def take(self) -> bool:
        """Takes a token if a whole one is available, without waiting. Returns True on success."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._tokens + (now - self._time) * self._rate, self._burst)
        self._time = now

    def forget(self, key: Hashable) -> None:
        """Does not return tokens: a used token stays used."""

    def retries(self, key: Hashable) -> int:
        return 0


class MaxOf:
    """The longest delay of several limiters.

    MaxOf(Exponential(), Bucket(SystemClock()))
    """

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
    """Limits the delays of another limiter to `limit` seconds.

    AtMost(MaxOf(Exponential(), Bucket(SystemClock())), 60.0)
    """

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
    """Extends the delays of another limiter by a random share of up to `share`, to spread simultaneous retries.

    Jittered(Exponential(), SystemIds(), share=0.2)
    """

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
    """Returns client-go's default limiter for controllers: exponential, and at most ten retries per second in total."""
    return MaxOf(Exponential(), Bucket(clock))
