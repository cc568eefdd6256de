"""Time that passes quickly, so that waits do not."""

import asyncio
import time
from datetime import UTC, datetime

SPEED = 100.0
# Waits of this length are limits ("not synced after 120 s") and no pauses between attempts. They last as long as they
# say: a busy machine may well need a hundredth of that for what they limit.
LIMIT_SECONDS = 60.0


class HurriedClock:
    """The machine's clock, a hundred times as fast. Only limits keep their length."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0) / (SPEED if seconds < LIMIT_SECONDS else 1.0))
