"""Knowledge of a quorum of etcd, so that callers learn soon that there is none.

A member without a quorum keeps a request until its own timeout, and a paused one for ever. After a call has had no
answer for a while, one linearizable read is sent to all members. If its member answers, the call may just be slow, and
goes on; if only others answer, the call ends, and its caller turns to them. If none answers, all calls end, and further
calls fail at once. Reads in the background then find out when the quorum is back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from setpoint.objects.clock import Clock

# The seconds after which a call without an answer causes a read, and between two reads without an answer: a member
# forgets reads that arrive during an election.
SLOW_SECONDS, _AGAIN_SECONDS = 0.6, 0.2
# The timeout of reads in the background, and the seconds that the other members have after the first answer.
_RECOVERY_SECONDS, _OTHERS_SECONDS = 1.0, 0.3
# A round of reads that takes longer than this was delayed by this process.
_PAUSED_SECONDS = 1.0
# Stands for no member among the positions of members.
_NOBODY = -1

_log = logging.getLogger("setpoint.store")


class Cancellable(Protocol):
    """A call in flight."""

    def cancel(self) -> Any: ...


class Quorum:
    """The quorum of one cluster, as one client knows it.

    `probes` returns a read for each member, given its timeout; a read returns True if the member answered. An operation
    fails `patience` seconds after its begin if no member answers. Before the first answer of etcd, the quorum is never
    considered lost: callers wait for a cluster that starts. Members are known by their positions; `drop` ends what
    depends on members that do not answer although others do.
    """

    def __init__(
        self,
        probes: Callable[[float], Sequence[Awaitable[bool]]],
        drop: Callable[[frozenset[int]], None],
        patience: float,
        clock: Clock,
    ) -> None:
        self._probes, self._drop, self._clock = probes, drop, clock
        self._seconds = max(_AGAIN_SECONDS, patience - SLOW_SECONDS)
        self._was_reached = False
        # The calls in flight with their begin and their member, the oldest first, and those that were ended.
        self._calls: dict[Cancellable, tuple[float, int]] = {}
        self._ended: set[Cancellable] = set()
        # The members that did not answer the last check.
        self._silent: frozenset[int] = frozenset()
        self._watching: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[bool] | None = None
        self._recovering: asyncio.Task[None] | None = None
        self._present = asyncio.Event()
        self._present.set()

    @property
    def is_lost(self) -> bool:
        """True from a check that got no answer until the next answer."""
        return not self._present.is_set()

    def begin(self, call: Cancellable, member: int) -> None:
        """Watches a call until `end`. The call is cancelled if its member does not answer reads, or if there is no
        quorum."""
        self._calls[call] = self._clock.monotonic(), member
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def end(self, call: Cancellable) -> bool:
        """Ends to watch a call. Returns True if the call was cancelled by this object."""
        self._calls.pop(call, None)
        was_ended = call in self._ended
        self._ended.discard(call)
        return was_ended

    def answered(self) -> None:
        """Notes that etcd has answered once."""
        self._was_reached = True

    async def check(self) -> bool:
        """Returns False if no member answers a linearizable read. Concurrent callers share the reads."""
        if not self._was_reached:
            return True
        if self.is_lost:
            return False
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())
        return await asyncio.shield(self._checking)

    async def recovered(self) -> None:
        """Waits until there is a quorum, as far as known."""
        await self._present.wait()

    async def close(self) -> None:
        """Ends all reads."""
        tasks = [each for each in (self._watching, self._checking, self._recovering) if each is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._present.set()

    async def _watch(self) -> None:
        """Checks the quorum while a call takes long. Ends as soon as no call is in flight."""
        try:
            while self._calls:
                await self._clock.sleep(SLOW_SECONDS / 4)
                if self._slow() and await self.check():
                    self._end_calls([call for call in self._slow() if self._calls[call][1] in self._silent])
        finally:
            self._watching = None

    def _slow(self) -> list[Cancellable]:
        """Returns the calls in flight that have no answer for a while."""
        latest = self._clock.monotonic() - SLOW_SECONDS
        return [call for call, (began, _) in self._calls.items() if began <= latest]

    async def _check(self) -> bool:
        try:
            silent = await self._silent_within(self._seconds)
            if silent is not None:
                self._silent = silent
                if silent:
                    self._drop(silent)
                return True
        finally:
            self._checking = None
        _log.error("etcd has no quorum: no member answered within %.1f s", self._seconds)
        self._present.clear()
        self._end_calls(list(self._calls))
        self._recovering = asyncio.create_task(self._recover())
        return False

    async def _recover(self) -> None:
        while await self._silent_within(_RECOVERY_SECONDS) is None:
            pass
        _log.info("etcd has a quorum again")
        self._present.set()

    async def _silent_within(self, seconds: float) -> frozenset[int] | None:
        """Reads from all members, again and again, until one answers. Returns the members that did not answer soon
        after; None if no member answered within some seconds."""
        before = self._clock.monotonic()
        end = before + seconds
        reads: dict[asyncio.Future[Any], int] = {}
        try:
            # Reads once more after the end if this process itself paused.
            while (now := self._clock.monotonic()) < end or now - before > _PAUSED_SECONDS:
                before = now
                probes = self._probes(max(end - now, _AGAIN_SECONDS))
                reads |= {asyncio.ensure_future(each): member for member, each in enumerate(probes)}
                pause = asyncio.ensure_future(self._clock.sleep(_AGAIN_SECONDS))
                reads[pause] = _NOBODY
                while not pause.done():
                    await asyncio.wait(reads, return_when=asyncio.FIRST_COMPLETED)
                    if any(each.done() and each.result() for each in reads):
                        await asyncio.wait(reads, timeout=_OTHERS_SECONDS)
                        answered = {member for each, member in reads.items() if each.done() and each.result()}
                        return frozenset(reads.values()) - answered - {_NOBODY}
                    reads = {each: member for each, member in reads.items() if each is pause or not each.done()}
                del reads[pause]
            return None
        finally:
            for each in reads:
                each.cancel()
            await asyncio.gather(*reads, return_exceptions=True)

    def _end_calls(self, calls: Sequence[Cancellable]) -> None:
        for call in calls:
            del self._calls[call]
            self._ended.add(call)
            call.cancel()
