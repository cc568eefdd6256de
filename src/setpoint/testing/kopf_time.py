"""The time of kopf operators in tests.

kopf waits with asyncio, and computes the moments of retries from the time of its event loop: its time is that of the
loop, which can jump while the operator and its server are idle. Only one function of kopf reads the wall clock for
this purpose; its replacement gives the same result on loops without jumps.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from setpoint.testing.observed_loop import ObservedLoop

_FUNCTION = "_get_basetime"


class UnknownKopfError(RuntimeError):
    """The installed version of kopf computes its time in an unknown way."""


def basetime() -> datetime:
    """Returns the wall-clock time at which the time of the running loop was zero, without the jumps since then."""
    loop = asyncio.get_running_loop()
    jumped = loop.observed.jumped_seconds if isinstance(loop, ObservedLoop) else 0.0
    return datetime.now(UTC) - timedelta(seconds=loop.time() - jumped)


@contextmanager
def virtual_basetime() -> Iterator[None]:
    """Lets kopf compute moments with the jumps of its loop. Raises UnknownKopfError."""
    from kopf._core.actions import progression

    before = getattr(progression, _FUNCTION, None)
    if before is None:
        raise UnknownKopfError("this version of kopf has no virtual time: pass virtual=False, or install kopf 1.45")
    setattr(progression, _FUNCTION, basetime)
    try:
        yield
    finally:
        setattr(progression, _FUNCTION, before)
