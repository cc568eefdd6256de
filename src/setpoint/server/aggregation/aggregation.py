"""Follows the APIServices with a Service: checks their servers, and makes their versions part of the registry.

An APIService is checked when it, its Service or one of its EndpointSlices changes, and every 30 seconds; after a failed
check sooner. Built-in versions are never forwarded, except one that extension servers replace (metrics.k8s.io), as soon
as the extension server is available.
"""

import asyncio
import logging
from base64 import b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Final

from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.access.flowcontrol.user_shares import UserShares
from setpoint.server.aggregation.followed_version import DeclaredVersion, FollowedVersion, service_of
from setpoint.server.registry.kinds.apiregistration.apiservice import is_available
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.remote_version import RemoteDocuments, RemoteServer, RemoteVersion
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services
from setpoint.store.contract import StoreError

if TYPE_CHECKING:
    from setpoint.server.aggregation.remote_client import RemoteClient

CHECK_SECONDS: Final = 30.0
_FIRST_DELAY: Final = 0.25
# Checks at the same time, and forwarded requests without an answer yet to one server.
_CHECKS, _REQUESTS = 8, 128
_GROUP, _VERSION, _PLURAL = "apiregistration.k8s.io", "v1", "apiservices"
_log = logging.getLogger(__name__)


class Aggregation:
    """The extension API servers of one server, and a reaction to changes of Services and EndpointSlices. A server that
    is offline has none: its APIServices may be those of another cluster."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._followed: dict[str, FollowedVersion] = {}
        self._client: RemoteClient | None = None
        self._turns = asyncio.Semaphore(_CHECKS)
        self._requests: dict[RemoteServer, UserShares] = {}
        self._is_started = False
        self._view = services.views.of(_GROUP, _VERSION, _PLURAL, _declared, self._changed)

    async def start(self) -> None:
        """Follows the stored APIServices."""
        if self._services.offline:
            return
        self._is_started = True
        await self._view.current()
        self._publish()

    def close(self) -> None:
        """Ends all checks, and closes all connections."""
        for followed in self._followed.values():
            if followed.task is not None:
                followed.task.cancel()
        if self._client is not None:
            self._client.close()

    @property
    def client(self) -> "RemoteClient":
        """The connections to extension servers, created with the first one."""
        if self._client is None:
            from setpoint.server.aggregation.remote_client import RemoteClient

            self._client = RemoteClient(self._services)
        return self._client

    def shares(self, server: RemoteServer) -> UserShares:
        """Returns the forwarded requests to a server that have no answer yet."""
        return self._requests.setdefault(server, UserShares(_REQUESTS))

    # The reaction

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        return (resource.group, resource.resource) in (("", "services"), ("discovery.k8s.io", "endpointslices"))

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        if not self._followed:
            return
        place = meta.namespace(tree), service_of(tree) if resource.group else meta.name(tree)
        for followed in self._followed.values():
            if place == followed.declared.version.server[:2]:
                followed.changed.set()

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        await self.after_write(context, resource, tree)

    # The followed APIServices

    def _changed(self, key: str, declared: DeclaredVersion | None) -> None:
        if self._services.offline:
            return
        name = key.rpartition("/")[2]
        followed = self._followed.get(name)
        if declared is None:
            if followed is not None:
                del self._followed[name]
                self._requests.pop(followed.declared.version.server, None)
                if followed.task is not None:
                    followed.task.cancel()
        elif followed is None or followed.declared.uid != declared.uid:
            if followed is not None and followed.task is not None:
                followed.task.cancel()
            followed = self._followed[name] = FollowedVersion(declared)
            followed.task = asyncio.get_running_loop().create_task(self._follow(followed))
        else:
            if followed.declared.version.server != declared.version.server:
                self._requests.pop(followed.declared.version.server, None)
                followed.documents = RemoteDocuments()
                followed.changed.set()
            followed.declared = declared
        if self._is_started and (followed is not None or declared is not None):
            self._publish()

    def _publish(self) -> None:
        """Replaces the registry, if the remote versions have changed."""
        services = self._services
        found = {}
        for followed in self._followed.values():
            version = followed.declared.version._replace(documents=followed.documents)
            if _may_forward(services.registry, followed.declared.gv, version):
                found[followed.declared.gv] = version
        if found != services.registry.remote:
            services.registry = services.registry.with_remote(found)

    async def _follow(self, followed: FollowedVersion) -> None:
        """Checks the server of an APIService until the APIService is deleted."""
        # Most servers have no extension server.
        from setpoint.server.aggregation.check_once import check_once

        clock, delay = self._services.clock, _FIRST_DELAY
        while True:
            followed.changed.clear()
            try:
                async with self._turns:
                    passed = await check_once(self._services, self.client, followed, self._publish)
            except StoreError as error:
                _log.warning("the APIService %s cannot be checked: %s", followed.declared.name, error)
                passed = False
            delay = CHECK_SECONDS if passed else min(delay * 2, CHECK_SECONDS)
            alarm, changed = asyncio.ensure_future(clock.sleep(delay)), asyncio.ensure_future(followed.changed.wait())
            try:
                await asyncio.wait((alarm, changed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                alarm.cancel()
                changed.cancel()
            if followed.changed.is_set() or passed:
                delay = _FIRST_DELAY


def _may_forward(registry: Registry, gv: GroupVersion, version: RemoteVersion) -> bool:
    """Returns True if requests for a version belong to the extension server."""
    if gv not in registry.builtin_group_versions:
        return True
    return version.is_available and all(each.is_replaceable for each in registry.group_versions[gv])


def _declared(tree: Object) -> DeclaredVersion | None:
    """Returns the remote version that an APIService declares; None for a version of this server."""
    spec = tree["spec"]
    service = spec.get("service")
    if service is None:
        return None
    try:
        authorities = b64decode(spec.get("caBundle") or "")
    except (Base64Error, ValueError):
        authorities = b"no certificate"
    server = RemoteServer(
        service.get("namespace") or "",
        service.get("name") or "",
        service.get("port") or 443,
        authorities,
        bool(spec.get("insecureSkipTLSVerify")),
    )
    version = RemoteVersion(
        server, spec.get("groupPriorityMinimum") or 0, spec.get("versionPriority") or 0, is_available(tree)
    )
    return DeclaredVersion(
        GroupVersion(spec.get("group") or "", spec["version"]), meta.name(tree), meta.uid(tree), version
    )
