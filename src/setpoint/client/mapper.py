"""The mapper from kinds to resources, and from the names of resources to kinds.

Discovery runs on demand, and unknown kinds are looked up again.

With aggregated discovery, the mapper sends two requests for all resources; otherwise one for the groups, and one for
each version when needed. For an unknown kind, the mapper queries the group again, because a definition may have been
installed since. A negative result is cached for one second, so that repeated lookups do not query the server each time.
A version that is not found is removed from the cache.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from setpoint.client import discovery
from setpoint.client.discovery import APIResource, Discovered, Group
from setpoint.client.transport import Answer, Call
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.gvk import GroupKind, GroupVersion, GroupVersionKind

# The time for which a negative result is cached, and the maximum number of negative results.
MISSING_SECONDS = 1.0
_MOST_MISSING = 1000
# The groups with objects that define kinds.
DEFINING_GROUPS = frozenset(("apiextensions.k8s.io", "apiregistration.k8s.io"))

_log = logging.getLogger(__name__)


class NoMatch(LookupError):  # noqa: N818 - the term of client-go
    """The server does not serve the kind or resource. Its definition may be installed later."""


class Mapper:
    """The resources of one server. `send` sends a request, and raises the errors of the API."""

    def __init__(self, send: Callable[[Call], Awaitable[Answer]], clock: Clock | None = None) -> None:
        self._send = send
        self._clock = clock or SystemClock()
        # Kinds that the server does not serve, and the time until which this negative result is valid.
        self._missing: dict[GroupVersionKind | GroupKind, float] = {}
        self._groups: dict[str, Group] = {}
        # The resources that are known already, by kind. Only the mapper changes them.
        self.known: dict[GroupVersionKind, APIResource] = {}
        self._is_loaded = False
        self._is_aggregated = False
        self._lock = asyncio.Lock()

    async def resource(self, gvk: GroupVersionKind) -> APIResource:
        """Returns the resource of a kind. Raises NoMatch."""
        found = self.known.get(gvk)
        if found is not None:
            return found
        if not self._is_missing(gvk):
            async with self._lock:
                found = None if self._is_missing(gvk) else await self._find(gvk)
        if found is None:
            self._record_missing(gvk)
            raise NoMatch(_no_match(gvk))
        return found

    async def preferred(self, kind: GroupKind) -> APIResource:
        """Returns the resource of a kind in the server's preferred version. Raises NoMatch."""
        async with self._lock:
            await self._load_once()
            for again in (False, True):
                if again:
                    if self._is_missing(kind):
                        break
                    await self._reload_group(kind.group)
                group = self._groups.get(kind.group)
                for version in group.versions if group is not None else ():
                    found = await self._find(GroupVersionKind(kind.group, version, kind.kind), heal=False)
                    if found is not None:
                        return found
        self._record_missing(kind)
        raise NoMatch(f"the server has no kind {kind}: is its definition installed?")

    async def resources(self, *, refresh: bool = True) -> Sequence[APIResource]:
        """Returns all resources of the server that can be read, and logs the versions that cannot. Unless `refresh` is
        False, queries the server again."""
        found = await self.discover(refresh=refresh)
        for version, error in found.failures.items():
            _log.warning("the resources of %s are left out, because the server cannot list them: %s", version, error)
        return found.resources

    async def discover(self, *, refresh: bool = True) -> Discovered:
        """Returns all resources of the server, the preferred version of a group first, and the versions that cannot be
        read: one API server that fails does not hide the resources of the others. Unless `refresh` is False, queries
        the server again.

            for resource in (await client.mapper.discover()).namespaced(): ...
        """
        async with self._lock:
            if refresh:
                self._is_loaded = False
                self._missing.clear()
            await self._load_once()
            failures: dict[GroupVersion, APIError] = {}
            for name, group in list(self._groups.items()):
                for version in group.versions:
                    try:
                        await self._version(GroupVersion(name, version))
                    except APIError as error:
                        failures[GroupVersion(name, version)] = error
            groups = self._groups.values()
            ordered = [group.resources.get(version, ()) for group in groups for version in group.versions]
            return Discovered([found for each in ordered for found in each], failures)

    async def named(self, name: str) -> APIResource:
        """Returns the resource, and with that the kind, of a name that `kubectl get` accepts: `deployments`, `deploy`,
        `deployments.apps` or `deployments.v1.apps`. Queries the server again for an unknown name. Raises NoMatch.

            kind = (await client.mapper.named("deploy")).gvk
        """
        for refresh in (False, True):
            found = (await self.discover(refresh=refresh)).named(name)
            if found is not None:
                return found
        raise NoMatch(f"the server has no resource {name}: is its definition installed?")

    def invalidate_missing(self, gvk: GroupVersionKind) -> None:
        """Called after objects of a kind were read or written. Clears the negative results if the objects can define
        kinds, such as CustomResourceDefinitions."""
        if self._missing and gvk.group in DEFINING_GROUPS:
            self._missing.clear()

    def evict(self, gvk: GroupVersionKind) -> None:
        """Removes a version from the cache after the server answered that the resource does not exist. The next lookup
        queries the server."""
        self._missing.pop(gvk, None)
        group = self._groups.get(gvk.group)
        if group is not None:
            group.resources.pop(gvk.version, None)
        for known in [known for known in self.known if known.group_version == gvk.group_version]:
            del self.known[known]

    def _is_missing(self, kind: GroupVersionKind | GroupKind) -> bool:
        return self._clock.monotonic() < self._missing.get(kind, 0.0)

    def _record_missing(self, kind: GroupVersionKind | GroupKind) -> None:
        if not self._is_missing(kind):
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[kind] = self._clock.monotonic() + MISSING_SECONDS

    async def _find(self, gvk: GroupVersionKind, *, heal: bool = True) -> APIResource | None:
        await self._load_once()
        found = self.known.get(gvk)
        if found is None and not self._is_aggregated:
            await self._version(gvk.group_version)
            found = self.known.get(gvk)
        if found is None and heal:
            await self._reload_group(gvk.group)
            await self._version(gvk.group_version)
            found = self.known.get(gvk)
        return found

    async def _load_once(self) -> None:
        if self._is_loaded:
            return
        core, others = discovery.root_calls()
        for answer in (await self._send(core), await self._send(others)):
            self._is_aggregated = discovery.is_aggregated(answer)
            if self._is_aggregated:
                for group in discovery.aggregated_groups(answer):
                    self._add_group(group)
            else:
                for name, versions in discovery.group_versions(answer):
                    self._groups[name] = Group(name, versions, {})
        self._is_loaded = True

    async def _reload_group(self, name: str) -> None:
        """Queries the versions of a group again, and removes their resources from the cache."""
        answer = await self._send_optional(discovery.group_call(name))
        if answer is None:
            self._groups.pop(name, None)
            return
        for found, versions in discovery.group_versions(answer):
            self._groups[found] = Group(found, versions, {})

    async def _version(self, gv: GroupVersion) -> None:
        """Loads the resources of a version, if the version exists and is not loaded."""
        group = self._groups.get(gv.group)
        if group is None or gv.version not in group.versions or gv.version in group.resources:
            return
        answer = await self._send_optional(discovery.version_call(gv))
        resources = () if answer is None else discovery.version_resources(gv, answer)
        self._add_group(group._replace(resources={**group.resources, gv.version: resources}))

    async def _send_optional(self, call: Call) -> Answer | None:
        try:
            return await self._send(call)
        except NotFound:
            return None

    def _add_group(self, group: Group) -> None:
        self._groups[group.name] = group
        for version, resources in group.resources.items():
            own = GroupVersion(group.name, version)
            for resource in resources:
                # A resource that returns objects of another group's kind is not the resource of that kind. Of two
                # resources of one kind, prefer the one that can be listed.
                if resource.gvk.group_version == own and ("list" in resource.verbs or resource.gvk not in self.known):
                    self.known[resource.gvk] = resource


def _no_match(gvk: GroupVersionKind) -> str:
    text = f"the server has no kind {gvk.kind} in {gvk.api_version}: is its definition installed?"
    if "." not in gvk.group or gvk.group.endswith(".k8s.io"):
        return text
    return f"{text} `await client.install({gvk.kind})` installs the definition of a class"
