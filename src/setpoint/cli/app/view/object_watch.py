"""Watches the objects of an app for a view: first reports existing objects, then each change."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from setpoint.cli.workloads.inventory import RUNNING, SERVICE, ref
from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.client.watch import BOOKMARK, DELETED
from setpoint.objects import meta
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object

KINDS = (*RUNNING, SERVICE)
# The interval between attempts to reach the server, and the time after which the server counts as gone.
_AGAIN_SECONDS, _GONE_SECONDS = 0.2, 2.0


class ServerGone(Exception):  # noqa: N818 - says what is
    """Raised when the server does not answer any more, because the session has ended."""


class Objects:
    """The workloads and services of a server. Calls `changed` and `removed` for each."""

    def __init__(self, client: Client, changed: Callable[[Object], None], removed: Callable[[Object], None]) -> None:
        self._client, self._changed, self._removed = client, changed, removed
        self._by_uid: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}
        self._versions: dict[str, str] = {}

    async def read(self) -> None:
        """Lists all objects and reports them."""
        # Sequentially on one connection: a TLS handshake takes longer than all these requests.
        for kind in KINDS:
            await self._list(kind)

    def all(self) -> list[Object]:
        """Returns all known objects."""
        return [tree for trees in self._by_uid.values() for tree in trees.values()]

    async def follow(self) -> None:
        """Reports all changes; never ends. Raises ServerGone in an exception group."""
        async with asyncio.TaskGroup() as group:
            for kind in KINDS:
                group.create_task(self._follow(kind))

    async def _follow(self, kind: str) -> None:
        clock = self._client.clock
        while True:
            with suppress(TransportError, APIError):
                await self._watch(kind)
            await self._list_again(kind, clock.monotonic() + _GONE_SECONDS)

    async def _list_again(self, kind: str, deadline: float) -> None:
        """Lists the objects after a watch has ended. Raises ServerGone."""
        clock = self._client.clock
        while True:
            await clock.sleep(_AGAIN_SECONDS)
            try:
                return await self._list(kind)
            except (TransportError, APIError) as error:
                if clock.monotonic() > deadline:
                    raise ServerGone(str(error)) from None

    async def _list(self, kind: str) -> None:
        listed = await self._client.list(ref(kind))
        self._versions[kind] = listed.resource_version
        gone = self._by_uid[kind]
        self._by_uid[kind] = {}
        for tree in listed.items:
            gone.pop(meta.uid(tree), None)
            self._apply_event(kind, tree)
        for tree in gone.values():
            self._removed(tree)

    async def _watch(self, kind: str) -> None:
        async with self._client.watch(ref(kind), resource_version=self._versions[kind]) as events:
            async for event in events:
                if event.type == DELETED:
                    self._by_uid[kind].pop(meta.uid(event.object), None)
                    self._removed(event.object)
                elif event.type != BOOKMARK:
                    self._apply_event(kind, event.object)

    def _apply_event(self, kind: str, tree: Object) -> None:
        self._by_uid[kind][meta.uid(tree)] = tree
        self._changed(tree)
