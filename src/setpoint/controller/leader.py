"""Leader election on a Lease: one replica at a time works.

The rules and constants are client-go's. Clocks of different machines are never compared: a lease counts as held until
this process has seen no change for its full duration. The end of a term differs from client-go: a leader that cannot
renew in time does not exit the process. Its work is cancelled, all of its tasks are awaited, and the replica stands by
again. Pending writes are fenced: a write request is refused locally once the term may be over, so that a process that
was paused for minutes only steps down when resumed (`Fence`). The lease is renewed in a thread, so that a call that
blocks the event loop for less than the renew deadline does not end the term (`lease_renewal`).
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.controller.fence import Fence
from setpoint.controller.lease_renewal import LeaseRenewal, LoopPulse, client_for_thread
from setpoint.objects.clock import timeout
from setpoint.objects.errors import APIError, Forbidden, NotFound
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object

LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS, JITTER = 15.0, 10.0, 2.0, 1.2
# The seconds for the release of the lease at the end: without an answer, the lease expires by itself.
RELEASE_SECONDS = 3.0
LEASE = "coordination.k8s.io/v1/Lease"

_log = logging.getLogger(__name__)


class LeaderElection(NamedTuple):
    """The lease and the timing of an election, in seconds. `lease_seconds` must be an integer, as in the API.

    Manager(client, controllers=[website], leader_election=LeaderElection("websites", namespace="default"))
    """

    # The name of the lease.
    name: str
    # The namespace of the lease; empty: that of the pod or of the kubeconfig's context, else `default`.
    namespace: str = ""
    # The identity of this replica; empty: `<host>_<uuid>`.
    identity: str = ""
    # The seconds after which another replica may take over, if the lease is not renewed.
    lease_seconds: float = LEASE_SECONDS
    # The seconds after which a leader that cannot renew the lease gives up.
    renew_seconds: float = RENEW_SECONDS
    # The seconds between two attempts.
    retry_seconds: float = RETRY_SECONDS
    # Releases the lease at the end, so that another replica need not wait for its expiry.
    release: bool = True
    # Labels that the holder sets on the lease.
    labels: Mapping[str, str] = MappingProxyType({})

    def check(self) -> None:
        """Raises ValueError for an invalid combination of settings."""
        if not self.name:
            raise ValueError("leader election needs the name of a lease")
        if self.lease_seconds < 1 or self.lease_seconds != int(self.lease_seconds):
            raise ValueError(f"lease_seconds is {self.lease_seconds:g}: a lease lasts a whole number of seconds")
        if not self.lease_seconds > self.renew_seconds:
            raise ValueError(
                f"lease_seconds ({self.lease_seconds:g}) must be greater than renew_seconds ({self.renew_seconds:g})"
            )
        if not self.renew_seconds > self.retry_seconds * JITTER:
            raise ValueError(
                f"renew_seconds ({self.renew_seconds:g}) must be greater than retry_seconds * {JITTER:g} "
                f"({self.retry_seconds * JITTER:g})"
            )
        if self.retry_seconds <= 0:
            raise ValueError("retry_seconds must be greater than 0")


class Elector:
    """One replica's part in an election.

    elector = Elector(client, LeaderElection("websites"))
    await elector.run(manage_websites)
    """

    def __init__(
        self,
        client: Client,
        config: LeaderElection,
        *,
        ids: Ids | None = None,
        on_change: Callable[[bool], None] | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        """Creates an elector. `on_change` is called at the beginning and the end of each term. `pause` waits between
        two attempts to acquire the lease, for at most the given seconds; by default for all of them. Raises
        ValueError."""
        config.check()
        self._ids = ids or SystemIds()
        self._clock = client.clock
        self._client = client
        self.config = config
        self.identity = config.identity or f"{socket.gethostname()}_{self._ids.uid()}"
        self.namespace = config.namespace or client.options.namespace or client.namespace or "default"
        self.fence = Fence(self._clock)
        self.slow_paths = 0
        self._on_change = on_change
        self._pause = pause or self._clock.sleep
        # The lease as last seen by this replica, and the time of the last observed change.
        self._lease: Object | None = None
        self._seen_at = 0.0
        # The time at which the last successful renewal request was sent.
        self._renewed_at = 0.0
        self._leading = False
        # The last reported missing right.
        self._forbidden = ""
        # The time since which the work of an ended term is awaited.
        self._clearing_since: float | None = None

    @property
    def is_leader(self) -> bool:
        return self._leading

    @property
    def leader(self) -> str:
        """The identity of the last observed leader; empty without a leader."""
        return _text(self._spec, "holderIdentity")

    def check(self) -> None:
        """Raises RuntimeError if the lease is not renewed, or the work of an ended term has not stopped."""
        patience = self.config.lease_seconds
        now = self._clock.monotonic()
        if self._clearing_since is not None and now - self._clearing_since > patience:
            raise RuntimeError("the term has ended, but its work has not stopped")
        if self._leading and now - self._renewed_at > patience:
            raise RuntimeError(f"the lease was not renewed for {now - self._renewed_at:.0f} s")

    async def run(self, work: Callable[[], Awaitable[None]], stop: asyncio.Event | None = None) -> None:
        """Runs `work` whenever this replica leads. Returns when `work` returns, and raises its exception.

        If the term ends first, `work` is cancelled and awaited, and the replica stands by again, unless `stop` is set:
        then no further term begins. The lease is renewed until `work` has ended, and then released.
        """
        try:
            while True:
                await self._acquire()
                if stop is not None and stop.is_set():  # set while the lease was acquired
                    await self._release()
                    return
                if await self._term(work) or (stop is not None and stop.is_set()):
                    return
        finally:
            if self._leading:
                self._end_term()
                await self._release()

    async def _term(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Leads until `work` ends (True) or the lease is lost (False), and waits for all work of the term."""
        _log.info("%s leads (%s)", self.identity, self._place)
        self._leading = True
        self._open_fence()
        self._notify(True)
        # Before the work, whose first step may block the loop.
        renewing = asyncio.ensure_future(await self._renewal())
        working = asyncio.ensure_future(work())
        has_ended = False
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            has_ended = working.done()
        finally:
            if not has_ended:
                if renewing.done():  # the lease is lost: no more writes from here on
                    self._end_term()
                working.cancel()
                self._clearing_since = self._clock.monotonic()
                # Otherwise the lease is renewed until the work has stopped.
                await _ended(working)
                self._clearing_since = None
            renewing.cancel()
            await _ended(renewing)
            for task in (working, renewing):
                if not task.cancelled() and (failure := task.exception()) is not None:
                    raise failure
        if not has_ended:
            _log.warning("%s stopped leading: could not renew the lease (%s)", self.identity, self._place)
        return has_ended

    def abandon(self) -> None:
        """Ends the term for work that does not end: its writes are refused, and the lease is left to expire."""
        if self._leading:
            self._end_term()

    def _end_term(self) -> None:
        self._leading = False
        self.fence.close()
        self._notify(False)

    def _notify(self, leading: bool) -> None:
        if self._on_change is not None:
            self._on_change(leading)

    # The lease

    async def _acquire(self) -> None:
        """Waits until this replica holds the lease."""
        while not await self._try(self._client, self.config.renew_seconds):
            retry = self.config.retry_seconds
            await self._pause(retry + retry * JITTER * self._ids.random())

    async def _renewal(self) -> Coroutine[Any, Any, None]:
        """Returns the coroutine that waits for the loss of the lease, which is renewed from now on."""
        client = await client_for_thread(self._client)
        if client is None:
            return self._renew(self._client, lambda: False)
        return LeaseRenewal(client, self._renew, LoopPulse(self._clock, self.config.renew_seconds)).wait()

    async def _renew(self, client: Client, is_hung: Callable[[], bool]) -> None:
        """Renews the lease. Returns when the renewal failed for too long, another replica holds the lease, or the event
        loop of the work hangs."""
        retry = self.config.retry_seconds
        while True:
            await self._clock.sleep(retry)
            deadline = self._clock.monotonic() + self.config.renew_seconds
            while True:
                left = min(deadline - self._clock.monotonic(), self.fence.seconds)
                if left <= 0:
                    return
                if is_hung():
                    self.fence.close()
                    why = "%s gives up the lease %s: the event loop was blocked for more than %g s"
                    _log.error(why, self.identity, self._place, self.config.renew_seconds)
                    return
                if await self._try(client, left):
                    break
                if self.leader != self.identity:
                    return
                await self._clock.sleep(min(retry, left))

    def _open_fence(self) -> None:
        # Other replicas wait for the full lease duration after they saw the renewal, and thus after the request was
        # sent. Half of the time between giving up and that moment is left for pending requests.
        self.fence.open(self._renewed_at + (self.config.lease_seconds + self.config.renew_seconds) / 2)

    async def _try(self, client: Client, seconds: float) -> bool:
        """Tries to acquire or renew the lease within the given seconds. True if this replica holds the lease."""
        patience = min(max(1.0, self.config.renew_seconds / 2), seconds)
        try:
            async with timeout(self._clock, patience):
                return await self._acquire_or_renew(client)
        except Forbidden as error:
            self._report_forbidden(error)
            return False
        except (APIError, TransportError, TimeoutError) as error:
            _log.log(
                logging.WARNING if self._leading else logging.INFO,
                "%s could not %s the lease %s: %s",
                self.identity,
                "renew" if self._leading else "acquire",
                self._place,
                error,
            )
            return False

    def _report_forbidden(self, error: Forbidden) -> None:
        """Logs a missing right once: no replica can lead until the right is granted."""
        level = logging.DEBUG if str(error) == self._forbidden else logging.ERROR
        self._forbidden = str(error)
        _log.log(
            level,
            "%s cannot lead, so its controllers do not run: %s. Grant the verbs get, create and update on leases "
            "(coordination.k8s.io) in the namespace %s; `setpoint controllers rbac` prints the roles",
            self.identity,
            error,
            self.namespace,
        )

    async def _acquire_or_renew(self, client: Client) -> bool:
        sent_at = self._clock.monotonic()
        if self._leading and self._lease is not None and self.leader == self.identity:
            # Most renewals are a single request, because no other replica writes to the lease.
            with suppress(APIError):
                return await self._write_lease(client, self._lease, sent_at)
            self.slow_paths += 1
            sent_at = self._clock.monotonic()
        try:
            found = await client.get(LEASE, self.config.name, self.namespace)
        except NotFound:
            metadata: Object = {"name": self.config.name, "namespace": self.namespace}
            if self.config.labels:
                metadata["labels"] = dict(self.config.labels)
            api_version, _, kind = LEASE.rpartition("/")
            lease = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": self._next_spec({})}
            self._observe(await client.create(lease))
            self._renewed(sent_at)
            return True
        if self._lease is None or found.get("spec") != self._lease.get("spec"):
            self._observe(found)
        self._lease = found
        if self.leader not in ("", self.identity) and self._is_lease_valid:
            return False
        return await self._write_lease(client, found, sent_at)

    async def _write_lease(self, client: Client, lease: Object, sent_at: float) -> bool:
        """Writes this replica into the lease, if the lease is unchanged since the read."""
        metadata = {**lease["metadata"]}
        if self.config.labels:
            metadata["labels"] = {**(metadata.get("labels") or {}), **self.config.labels}
        mine = {**lease, "metadata": metadata, "spec": self._next_spec(lease.get("spec") or {})}
        self._observe(await client.update(mine))
        self._renewed(sent_at)
        return True

    def _next_spec(self, spec: Object) -> Object:
        now = format_micro_time(self._clock.now())
        acquired, transitions = now, int(spec.get("leaseTransitions") or 0)
        if spec.get("holderIdentity") == self.identity:
            acquired = spec.get("acquireTime") or now
        elif spec:
            transitions += 1
        return {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.config.lease_seconds),
            "acquireTime": acquired,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    async def _release(self) -> None:
        """Releases the lease if this replica still holds it. On failure the lease expires by itself."""
        if not self.config.release:
            return
        now = format_micro_time(self._clock.now())
        try:
            async with timeout(self._clock, min(self.config.renew_seconds, RELEASE_SECONDS)):
                lease = await self._client.get(LEASE, self.config.name, self.namespace)
                self._observe(lease)
                if self.leader != self.identity:
                    return
                given_back = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
                self._observe(await self._client.update({**lease, "spec": {**lease["spec"], **given_back}}))
            _log.info("%s released the lease (%s)", self.identity, self._place)
        except (APIError, TransportError, TimeoutError) as error:
            _log.warning("%s could not release the lease %s: %s", self.identity, self._place, error)

    # Observations

    def _observe(self, lease: Object) -> None:
        self._lease = lease
        self._seen_at = self._clock.monotonic()

    def _renewed(self, sent_at: float) -> None:
        self._renewed_at = sent_at
        if self._leading:
            self._open_fence()

    @property
    def _is_lease_valid(self) -> bool:
        """True if the lease changed less than its own duration ago."""
        seconds = self._spec.get("leaseDurationSeconds") or 0
        return self._clock.monotonic() < self._seen_at + float(seconds)

    @property
    def _spec(self) -> Object:
        spec = (self._lease or {}).get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def _place(self) -> str:
        return f"{self.namespace}/{self.config.name}"


def _text(tree: Object, name: str) -> str:
    value = tree.get(name)
    return value if isinstance(value, str) else ""


async def _ended(task: "asyncio.Future[None]") -> None:
    """Waits for a task and ignores its result, even if cancelled again meanwhile."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
