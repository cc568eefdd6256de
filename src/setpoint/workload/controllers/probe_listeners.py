"""Checks that the process which answers a probe belongs to the probed workload.

The check reads the process table and runs in a thread: after the first success of a probe, when the listening socket
has changed, and for a foreign process at most once per second. The socket itself is looked up at most every 30 seconds.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from setpoint.objects.clock import Clock
from setpoint.workload.process.listeners import Holder, foreign_holder, listening_keys
from setpoint.workload.process.processes import Running

LOOK_SECONDS = 30.0
AGAIN_SECONDS = 1.0


@dataclass
class _Checked:
    """The result of the last check of a port."""

    keys: Collection[int]
    at: float
    problem: str = ""


class Listeners:
    """Checks the ports of one process and its tree."""

    def __init__(self, running: Running, clock: Clock) -> None:
        self._running, self._clock = running, clock
        self._checked: dict[tuple[str, int], _Checked] = {}

    async def problem(self, host: str, port: int) -> str:
        """Returns a message that names the foreign process which answers at a port; empty if there is none."""
        known, now = self._checked.get((host, port)), self._clock.monotonic()
        if known is not None and now - known.at < (AGAIN_SECONDS if known.problem else LOOK_SECONDS):
            return known.problem
        keys = await asyncio.to_thread(listening_keys, host, port)
        if not keys:
            return ""
        if known is not None and not known.problem and known.keys == keys:
            known.at = now
            return ""
        identity, cookie = self._running.identity, self._running.cookie
        holder = await asyncio.to_thread(foreign_holder, keys, identity, cookie)
        problem = _message(port, holder) if holder is not None else ""
        self._checked[host, port] = _Checked(keys, now, problem)
        return problem

    def forget(self, host: str, port: int) -> None:
        """Requires another check of a port whose probe has failed."""
        self._checked.pop((host, port), None)


def _message(port: int, holder: Holder) -> str:
    who = f"pid {holder.pid} ({holder.name})" if holder.pid else "a process of another user"
    return f"port {port} is answered by {who}, which is not part of this service: stop it, or use another port"
