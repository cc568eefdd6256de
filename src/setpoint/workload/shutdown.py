"""The shutdown of a control plane's workloads: rejects new objects, deletes all objects in order, then ends.

The states are those of DCP's API server: Running, CleaningResources, CleanupComplete, Stopping. Repeated requests wait
for the same cleanup. Objects that cannot be deleted in time are reported and left to the final stop of processes, so
that a stuck object never blocks the others.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from setpoint.client.client import Client
from setpoint.client.kinds import tree_of
from setpoint.client.transport import TransportError
from setpoint.client.watch import DELETED
from setpoint.objects.clock import timeout
from setpoint.objects.errors import APIError, Conflict, Invalid, NotFound
from setpoint.objects.tree import Object
from setpoint.schema.types import Resource
from setpoint.workload.dependencies import shutdown_order
from setpoint.workload.kinds.all import KINDS

Status: TypeAlias = Literal["Running", "CleaningResources", "CleanupComplete", "Stopping"]
CleanUp: TypeAlias = Literal["Full", "None"]

TIMEOUT_VARIABLE = "DCP_SHUTDOWN_TIMEOUT_SECONDS"
TIMEOUT_SECONDS = 120.0
# The requested statuses, and the resulting ones.
_TRANSITIONS: Mapping[tuple[Status, Status], Status] = {
    ("Running", "Stopping"): "Stopping",
    ("Running", "CleaningResources"): "CleaningResources",
    ("CleaningResources", "Stopping"): "Stopping",
    ("Stopping", "CleaningResources"): "Stopping",
    ("CleanupComplete", "CleaningResources"): "CleanupComplete",
    ("CleanupComplete", "Stopping"): "Stopping",
}
# The number of concurrent deletions.
_AT_ONCE = 32
_RETRY_SECONDS = 0.2
# The least time for a group of objects, even after the time limit.
_LEAST_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Shutdown:
    """The progress of the shutdown of one control plane."""

    def __init__(self) -> None:
        self.status: Status = "Running"
        self.clean_up: CleanUp = "Full"
        self.progress: CleanupProgress | None = None
        # Called when the shutdown begins, before any object is deleted.
        self.on_begin: Callable[[], Awaitable[None]] | None = None
        self._client: Client | None = None
        self._seconds = TIMEOUT_SECONDS
        self._cleaning: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    @property
    def refuses_new(self) -> bool:
        """True if new objects are rejected."""
        return self.status != "Running"

    def begin(self, client: Client, environ: Mapping[str, str]) -> None:
        """Sets the client of the workloads and the timeout."""
        self._client, self._seconds = client, timeout_seconds(environ)

    def request(self, status: Status, clean_up: CleanUp | None) -> bool | None:
        """Requests a status. Returns True if the status changed, False if the request is already in progress or
        complete, and None if the status is the current one. Raises Invalid."""
        if self.refuses_new and clean_up == "Full" and self.clean_up != "Full":
            raise Invalid(
                "shutdownResourceCleanup: cannot be changed to Full: "
                f"it was set to {self.clean_up} when the status became {self.status}"
            )
        if status == self.status:
            return None
        reached = _TRANSITIONS.get((self.status, status))
        if reached is None:
            allowed = sorted(to for at, to in _TRANSITIONS if at == self.status)
            raise Invalid(f"status: {self.status} cannot be changed to {status}; allowed: {', '.join(allowed)}")
        changed = reached != self.status
        self.status, self.clean_up = reached, clean_up or self.clean_up
        if changed:
            _log.info("the status of the control plane is now %s", reached)
            if self._cleaning is None:
                self._cleaning = asyncio.ensure_future(self._clean())
            if reached == "Stopping":
                self._stopping.set()
        return changed

    async def ended(self) -> None:
        """Returns when the shutdown was requested and, with a full cleanup, the cleanup is complete."""
        await self._stopping.wait()
        if self.clean_up == "Full" and self._cleaning is not None:
            await asyncio.shield(self._cleaning)

    async def close(self) -> None:
        """Cancels the cleanup."""
        if self._cleaning is not None:
            self._cleaning.cancel()
            await asyncio.gather(self._cleaning, return_exceptions=True)

    async def _clean(self) -> None:
        if self.on_begin is not None:
            try:
                await self.on_begin()
            except Exception:  # the workloads must stop in any case
                _log.exception("the beginning of the shutdown could not be reported")
        if self.clean_up == "Full" and self._client is not None:
            cleaning = Cleaning(self._client, self._seconds)
            self.progress = cleaning.progress
            await cleaning.run()
        if self.status == "CleaningResources":
            self.status = "CleanupComplete"


@dataclass
class CleanupProgress:
    """The progress of a cleanup: the number of objects and of deleted objects, the terminating objects, and those that
    could not be deleted, each with the reason."""

    objects: int = 0
    deleted: int = 0
    left: dict[str, str] = field(default_factory=dict)
    # The terminating objects, by uid.
    terminating: dict[str, Object] = field(default_factory=dict)

    def to_json(self) -> Object:
        return {
            "objects": self.objects,
            "gone": self.deleted,
            "going": [f"{tree['kind']} {tree['metadata']['name']}" for tree in self.terminating.values()],
            "left": [f"{key}: {why}" for key, why in self.left.items()],
        }


class Cleaning:
    """Deletes all workload objects, each before its dependencies."""

    def __init__(self, client: Client, seconds: float) -> None:
        self._client, self._clock = client, client.clock
        self._deadline = self._clock.monotonic() + seconds
        self._stuck: set[str] = set()
        self.progress = CleanupProgress()

    async def run(self) -> None:
        """Returns when all objects are deleted, or the time is over."""
        # Lists again, because controllers may have created objects just before new ones were rejected.
        while self._left_seconds > 0:
            try:
                found = await self._listed()
            except (APIError, TransportError) as error:
                _log.warning("cannot list the objects to clean up: %s", error)
                await self._clock.sleep(_RETRY_SECONDS)
                continue
            if not found:
                break
            self.progress.objects += len(found)
            for together in shutdown_order(found):
                await self._delete_all(together)
        for key, why in self.progress.left.items():
            _log.warning("%s could not be deleted: %s", key, why)

    @property
    def _left_seconds(self) -> float:
        return self._deadline - self._clock.monotonic()

    async def _listed(self) -> list[Object]:
        found: list[Object] = []
        for kind in KINDS:
            listed = await self._client.list(kind)
            found += [{**tree_of(each), "kind": kind.__name__} for each in listed.items]
        return [tree for tree in found if tree["metadata"]["uid"] not in self._stuck]

    async def _delete_all(self, together: list[Object]) -> None:
        """Deletes objects that do not depend on each other, with at most half of the remaining time, so that later
        objects have time too, and with at least `_LEAST_SECONDS`, so that no object is left over only because others
        used up the time."""
        slots = asyncio.Semaphore(_AT_ONCE)
        waiting = self.progress.terminating = {tree["metadata"]["uid"]: tree for tree in together}

        async def delete(tree: Object) -> None:
            async with slots:
                if why := await self._delete(tree):
                    del waiting[tree["metadata"]["uid"]]
                    self._abandon(tree, why)

        try:
            async with timeout(self._clock, max(self._left_seconds / 2, _LEAST_SECONDS)):
                await asyncio.gather(*map(delete, together))
                kinds = [kind for kind in KINDS if any(tree["kind"] == kind.__name__ for tree in waiting.values())]
                await asyncio.gather(*(self._wait_deleted(kind, waiting) for kind in kinds))
        except TimeoutError:
            for tree in waiting.values():
                finalizers = ", ".join(tree["metadata"].get("finalizers") or ()) or "no finalizer"
                self._abandon(tree, f"not deleted in time; waiting for finalizers: {finalizers}")

    async def _delete(self, tree: Object) -> str:
        """Deletes an object. Returns the reason if that is not possible, or an empty string."""
        metadata = tree["metadata"]
        kind = next(kind for kind in KINDS if kind.__name__ == tree["kind"])
        while True:
            try:
                await self._client.delete(kind, metadata["name"], uid=metadata["uid"])
                return ""
            except (NotFound, Conflict):
                return ""  # deleted, and the name may belong to another object
            except APIError as error:
                return str(error)
            except TransportError:
                await self._clock.sleep(_RETRY_SECONDS)

    async def _wait_deleted(self, kind: type[Resource], waiting: dict[str, Object]) -> None:
        """Returns when all objects of a kind are deleted."""

        def of_kind() -> list[str]:
            return [uid for uid, tree in waiting.items() if tree["kind"] == kind.__name__]

        while True:
            try:
                listed = await self._client.list(kind)
                there = {each.metadata.uid for each in listed.items}
                for uid in of_kind():
                    if uid not in there:
                        self._on_deleted(waiting, uid)
                if not of_kind():
                    return
                async with self._client.watch(kind, resource_version=listed.resource_version) as events:
                    async for event in events:
                        if event.type == DELETED:
                            self._on_deleted(waiting, event.object.metadata.uid or "")
                            if not of_kind():
                                return
            except (APIError, TransportError):
                await self._clock.sleep(_RETRY_SECONDS)

    def _on_deleted(self, waiting: dict[str, Object], uid: str) -> None:
        if waiting.pop(uid, None) is not None:
            self.progress.deleted += 1

    def _abandon(self, tree: Object, why: str) -> None:
        metadata = tree["metadata"]
        self._stuck.add(metadata["uid"])
        self.progress.left[f"{tree['kind']} {metadata['name']}"] = why


def timeout_seconds(environ: Mapping[str, str]) -> float:
    """Returns the timeout of a cleanup."""
    try:
        found = float(environ.get(TIMEOUT_VARIABLE, ""))
    except ValueError:
        return TIMEOUT_SECONDS
    return found if found > 0 else TIMEOUT_SECONDS
