"""A watch of the parts of the app: an event for each change of a summary.

A summary depends on several objects: a replica set, its replicas, the services, the dependencies. The stream follows
the log of all workload kinds, computes the summaries anew after each batch of changes, and sends those that differ.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.attributes import is_allowed
from setpoint.server.message import Frame, Sink
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.inner_context import inner_context
from setpoint.server.watch import freshness
from setpoint.server.watch.frames import ADDED, BOOKMARK, DELETED, ERROR, MODIFIED, event_line
from setpoint.store.contract import Closed, TooLate, Watch
from setpoint.workload.inventory import SERVICE
from setpoint.workload.summaries.summary import API_VERSION, part_summaries

# The default and maximum duration in seconds, and the interval of bookmarks and checks of the rights.
_DURATION, _MOST_SECONDS, _INTERVAL = 1800.0, 3600.0, 60.0
# The number of objects that are summarized without a thread, in a few milliseconds.
_FEW = 100
_encode = msgspec.json.Encoder().encode


class PartsStream:
    """One watch of the parts of the app."""

    def __init__(
        self,
        context: Context,
        resources: Sequence[Resource],
        trees: Mapping[str, list[Object]],
        revision: int,
        *,
        sends_existing: bool,
    ) -> None:
        self._context, self._resources, self._revision = context, resources, revision
        self._trees = {prefix: {tree["metadata"]["uid"]: tree for tree in listed} for prefix, listed in trees.items()}
        self._plurals = {each.kind: each for each in resources if each.kind != SERVICE}
        self._changed = asyncio.Event()
        self._sends_existing = sends_existing
        # The summaries that the client has, by uid.
        self._sent: dict[str, Object] = {}

    async def run(self, sink: Sink) -> None:
        """Sends the events until the client disconnects, the time is over, or the user loses a right."""
        context = self._context
        if not self._sends_existing:
            self._sent = await self._summaries()
        if context.seat is not None:
            context.seat.release()
        store = context.services.store
        watches = [(each, store.watch(each.storage.prefix, self._revision)) for each in self._resources]
        tasks = [asyncio.create_task(self._follow(resource, watch)) for resource, watch in watches]
        tasks.append(asyncio.create_task(sink.wait_closed()))
        tasks.append(asyncio.create_task(self._check_regularly(sink)))
        changed = asyncio.create_task(self._changed.wait())
        try:
            while not any(task.done() for task in tasks) and await self._send(sink) and await sink.drain():
                await asyncio.wait([changed, *tasks], return_when=asyncio.FIRST_COMPLETED)
                if changed.done():
                    # Cleared before the summaries are computed: later changes are sent next.
                    self._changed.clear()
                    changed = asyncio.create_task(self._changed.wait())
            for ended in tasks:
                if ended.done() and not ended.cancelled() and isinstance(error := ended.exception(), APIError):
                    sink.write(Frame(event_line(ERROR, _encode(error.to_status()))))
        finally:
            for _, watch in watches:
                watch.close()
            changed.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(changed, *tasks, return_exceptions=True)

    async def _follow(self, resource: Resource, watch: Watch) -> None:
        """Applies the changes of a resource. Raises Gone if they are no longer retained."""
        known = self._trees.setdefault(resource.storage.prefix, {})
        keys = {_key(resource, tree): uid for uid, tree in known.items()}
        while True:
            try:
                events = await watch.next()
            except Closed:
                return
            except TooLate as late:
                raise freshness.too_old(late.revision, late.oldest) from None
            for entry, _ in events:
                if (uid := keys.pop(entry.key, None)) is not None:
                    known.pop(uid, None)
                if entry.value is not None:
                    tree = resource.decode(entry.value, entry.revision)
                    known[tree["metadata"]["uid"]] = tree
                    keys[entry.key] = tree["metadata"]["uid"]
                self._revision = max(self._revision, entry.revision)
            self._changed.set()

    async def _check_regularly(self, sink: Sink) -> None:
        """Sends bookmarks. Returns when the time is over, or when the user has lost a right."""
        clock = self._context.services.clock
        given = self._context.parameter("timeoutSeconds")
        seconds = min(float(given), _MOST_SECONDS) if given.isdecimal() and int(given) else _DURATION
        end = clock.monotonic() + seconds
        while (left := end - clock.monotonic()) > 0:
            await clock.sleep(min(left, _INTERVAL))
            for resource in self._resources:
                if not await is_allowed(inner_context(self._context, resource, "watch")):
                    return
            if self._context.parameter("allowWatchBookmarks") == "true":
                metadata = {"resourceVersion": str(self._revision)}
                tree = {"kind": "Summary", "apiVersion": API_VERSION, "metadata": metadata}
                sink.write(Frame(event_line(BOOKMARK, _encode(tree))))

    async def _send(self, sink: Sink) -> bool:
        """Sends the summaries that have changed. Returns False if the client has disconnected."""
        found, sent = await self._summaries(), self._sent
        lines = []
        for uid, each in found.items():
            if uid not in sent:
                lines.append(event_line(ADDED, _encode(each)))
            elif _content(sent[uid]) != _content(each):
                lines.append(event_line(MODIFIED, _encode(each)))
        lines += [event_line(DELETED, _encode(each)) for uid, each in sent.items() if uid not in found]
        self._sent = found
        return sink.write(Frame(b"".join(lines))) if lines else True

    async def _summaries(self) -> dict[str, Object]:
        found = await summaries_of(self._context, [tree for trees in self._trees.values() for tree in trees.values()])
        for each in found.values():
            resource = self._plurals[each["object"]["kind"]]
            each["object"] |= {"resource": resource.resource, "group": resource.group}
            each["metadata"]["resourceVersion"] = str(self._revision)
        return found


async def summaries_of(context: Context, trees: Sequence[Object]) -> dict[str, Object]:
    """Returns the summaries of parts, computed in a thread if there are many."""
    if len(trees) <= _FEW:
        return part_summaries(trees)
    return await context.services.offload.run(context.user.name, partial(part_summaries, trees))


def _content(summary: Object) -> Object:
    """Returns a summary without its revision, which changes with every event."""
    return {name: value for name, value in summary.items() if name != "metadata"}


def _key(resource: Resource, tree: Object) -> str:
    metadata = tree["metadata"]
    return resource.storage.key(metadata.get("namespace", ""), metadata["name"])
