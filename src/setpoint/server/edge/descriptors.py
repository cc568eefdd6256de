"""File descriptors: reserves some for the store, and reports when none are left.

Every connection takes a descriptor, and so does every file that a store opens. When a process has none left, the system
refuses to accept connections, and event loops drop or postpone them silently. So the last descriptors are reserved:
further connections are answered that the server is full, and existing connections continue.
"""

import errno
import logging
import os
from collections.abc import Iterator

from setpoint.objects.metrics import MetricFamily

_log = logging.getLogger(__name__)
# The number of reserved descriptors: this fraction of all, within these limits.
_PART, _FEWEST, _MOST = 0.1, 16, 256
_SILENCE_SECONDS = 10.0
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)
REMEDY = (
    "raise the limit of open files (`ulimit -n`, or LimitNOFILE= of a systemd unit), or have clients close connections"
)


def are_exhausted(error: BaseException) -> bool:
    """Returns True if an error means that the process or the system has no descriptors left."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


class Descriptors:
    """Counts the descriptors of this process, and the connections rejected for lack of them."""

    def __init__(self) -> None:
        self._limit = _soft_limit()
        reserve = min(max(int(self._limit * _PART), _FEWEST), _MOST, self._limit // 2)
        # A new descriptor has the lowest free number, so its number tells the descriptors in use.
        self._most = self._limit - reserve
        self._refused = 0
        self._exhausted = 0
        self._silent_until = 0.0

    def admit(self, now: float) -> bool:
        """Returns True if a new connection may be served. A rejected connection is counted and logged."""
        if not self._limit or self._newest() < self._most:
            return True
        self._refused += 1
        self._log(now, "connections are refused: %d of %d file descriptors are in use", self._most, self._limit)
        return False

    def check(self, now: float) -> None:
        """Logs an error if no descriptor is left at all: the system then keeps new connections waiting."""
        if self._limit and self._newest() >= self._limit:
            self._exhausted += 1
            self._log(now, "no connection can be accepted: all %d file descriptors are in use", self._limit)

    def _newest(self) -> int:
        try:
            newest = os.dup(2)
        except OSError as error:
            return self._limit if are_exhausted(error) else 0
        os.close(newest)
        return newest

    def _log(self, now: float, text: str, *numbers: int) -> None:
        if now >= self._silent_until:
            self._silent_until = now + _SILENCE_SECONDS
            _log.error(f"{text}; {REMEDY}", *numbers)

    def families(self) -> Iterator[MetricFamily]:
        """Yields the metrics of descriptors."""
        yield MetricFamily(
            "setpoint_connections_refused_total",
            "counter",
            "Connections that were answered with 503 because file descriptors ran out.",
            [({}, self._refused)],
        )
        yield MetricFamily(
            "setpoint_file_descriptors_exhausted_total",
            "counter",
            "Checks, one every few seconds, that found no file descriptor left.",
            [({}, self._exhausted)],
        )


def _soft_limit() -> int:
    """Returns the maximum number of descriptors of this process; 0 if unknown or unlimited."""
    try:
        import resource
    except ImportError:  # there is none for Windows
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 0 if soft == resource.RLIM_INFINITY else soft
