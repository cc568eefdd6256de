"""Time that passes quickly, so that waits do not."""

import asyncio
import time
from datetime import UTC, datetime

SPEED = 100.0


class HurriedClock:
    """The machine's clock, a hundred times as fast."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0) / SPEED)
