"""The context of a daemon: that of a reconcile, with the request to stop."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from setpoint.cache.entry import CachedObject, number
from setpoint.client.kinds import tree_of
from setpoint.client.patches import Patch
from setpoint.controller.context import Context, ContextHost
from setpoint.controller.read_tracker import Lookup
from setpoint.controller.run_record import MOST_READS, Read, ReconcileRecord, Write
from setpoint.controller.status import StatusReport
from setpoint.controller.status_attribute import K_co
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.threads import ThreadCall
from setpoint.objects import meta
from setpoint.objects.clock import timeout
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object

T = TypeVar("T")
# The reasons to stop a daemon.
DELETED, UNMATCHED, SUSPENDED, SHUTDOWN = "deleted", "unmatched", "suspended", "shutdown"
# The number of writes that the record of a daemon keeps: a daemon may run for months.
MOST_WRITES = 64


class DaemonHost(ContextHost, Protocol):
    """The controller of a daemon."""

    async def run_daemon_in_thread(self, ctx: "DaemonContext[Any]", function: Callable[[ThreadCall], T]) -> T: ...


class DaemonContext(Context[K_co]):
    """The context of one run of a daemon. `DaemonContext[Team]` has the types of a kind.

    async def patrol(ctx: DaemonContext[Team], request: Request) -> None:
        while not await ctx.wait_stopped(60):
            team = await ctx.object()
            ...
    """

    def __init__(self, host: DaemonHost, run: ReconcileRecord, entry: CachedObject[Any]) -> None:
        super().__init__(host, run, None, entry)
        self._host = host
        self._stop = asyncio.Event()
        # Why the daemon is to stop: `deleted`, `unmatched`, `suspended` or `shutdown`; empty while the daemon may run.
        self.stop_reason = ""
        self._reads: deque[Read] = deque(maxlen=MOST_READS)
        self._writes: deque[Write] = deque(maxlen=MOST_WRITES)
        self.record_read, self.record_write = self._reads.append, self._writes.append
        # The answer to the last write of the status, which the cache may not show yet.
        self._written: Object | None = None
        # A daemon runs for long: its status begins as the one in the cache, and may claim the generation that the
        # daemon has read last.
        self._begins_anew = True
        self.seen = deque(maxlen=1)
        self.record_primary = self.seen.append

    @property
    def stopped(self) -> bool:
        """True once the daemon is to stop: its object is deleted, does not match any more, or the manager stops."""
        return self._stop.is_set()

    async def wait_stopped(self, seconds: float | None = None) -> bool:
        """Waits until the daemon is to stop, at most for some seconds, and returns True if the daemon is to stop."""
        if seconds is None:
            await self._stop.wait()
        elif not self.stopped:
            try:
                async with timeout(self.clock, seconds):
                    await self._stop.wait()
            except TimeoutError:
                return self.stopped
        return self.stopped

    def request_stop(self, reason: str) -> None:
        """Asks the daemon to stop. Called by the controller."""
        self.stop_reason = self.stop_reason or reason
        self._stop.set()

    async def run_blocking(self, function: Callable[[ThreadCall], T]) -> T:
        """Runs the `def` function of the daemon in a thread."""
        return await self._host.run_daemon_in_thread(self, function)

    # Status

    def status_report(self) -> StatusReport:
        if self.reported is None and self._written is not None:
            # The own write counts until the cache shows that write or a later one.
            found = self._controller.primary_object(self.request)
            if found is not None and not _is_newer(tree_of(found), self._written):
                self.reported = self.report_of(self._written)
                return self.reported
            self._written = None
        return super().status_report()

    async def save_status(self) -> None:
        """Writes the collected status now; else the status is written when the daemon ends. Does not set
        `observedGeneration`, which belongs to the reconciler of the kind."""
        report = self.reported
        self.discard_status()
        self.own_writes = {}  # the report keeps those that it needs
        if report is None:
            return
        try:
            await report.write(self)
        except NotFound:
            if self.entry_now() is not None:
                raise

    async def patch_status(self, patch: Patch) -> Object:
        self._written = await super().patch_status(patch)
        return self._written

    def entry_now(self) -> Any:
        """Returns the current cache entry of the object; None if deleted."""
        return self._controller.entry_of(self.request)

    # Records

    def record_own_write(self, before: str, after: str) -> None:
        """Records a write if a status has begun: a daemon may write for months."""
        if self.reported is not None:
            super().record_own_write(before, after)

    def record_lookup(self, lookup: Lookup) -> None:
        """Does not record the lookup: changes of other objects do not call a daemon."""

    def record_lookups(self, lookups: frozenset[Lookup]) -> None:
        """Does not record the lookups."""

    def finish_record(self) -> None:
        """Copies the last reads and writes into the record of the run."""
        self.run.reads[:] = self._reads
        self.run.writes[:] = self._writes


class SyncDaemonContext(SyncContext[K_co]):
    """The context of one run of a `def` daemon, which runs in a thread of its own.

    def patrol(ctx: SyncDaemonContext[Team], request: Request) -> None:
        while not ctx.wait_stopped(60):
            team = ctx.object()
            ...
    """

    _ctx: DaemonContext[Any]

    def __init__(self, ctx: DaemonContext[Any], call: ThreadCall) -> None:
        super().__init__(ctx, call)

    @property
    def stopped(self) -> bool:
        """True once the daemon is to stop: its object is deleted, does not match any more, or the manager stops."""
        return self._ctx.stopped

    @property
    def stop_reason(self) -> str:
        """Why the daemon is to stop: `deleted`, `unmatched`, `suspended` or `shutdown`; else empty."""
        return self._ctx.stop_reason

    def wait_stopped(self, seconds: float | None = None) -> bool:
        """Waits until the daemon is to stop, at most for some seconds, and returns True if the daemon is to stop."""
        return self.in_loop(self._ctx.wait_stopped(seconds))

    def save_status(self) -> None:
        """Writes the collected status now; else the status is written when the daemon ends."""
        self.in_loop(self._ctx.save_status())


def _is_newer(found: Object, than: Object) -> bool:
    """Returns True if an object is of another identity, or not older than the other version."""
    if meta.uid(found) != meta.uid(than):
        return True
    ours, theirs = number(meta.resource_version(found)), number(meta.resource_version(than))
    return ours is None or theirs is None or ours >= theirs
