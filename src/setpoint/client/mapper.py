"""The mapper: from a kind to the resource that serves it. It asks nothing before it must, and heals by itself.

A server with aggregated discovery is asked twice, for everything; another one once for its groups, and then for each
version as it is needed. A kind that is not known makes it ask again, for that group alone: a definition may have been
installed since. That it is not there is believed for a second, so that whoever asks all the time does not ask the
server each time. A version that is gone is forgotten.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from setpoint.client import discovery
from setpoint.client.discovery import APIResource, Group
from setpoint.client.transport import Answer, Call
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupKind, GroupVersion, GroupVersionKind

# How long it is believed that something is not there; and how much of that is remembered.
MISSING_SECONDS = 1.0
_MOST_MISSING = 1000
# The groups whose objects say which kinds there are.
_DEFINING = frozenset(("apiextensions.k8s.io", "apiregistration.k8s.io"))


class NoMatch(LookupError):  # noqa: N818 - the word of the field
    """The server has no such kind, or resource: it may come, with its definition."""


class Mapper:
    """The resources of one server. `send` asks it, and raises the errors of the API."""

    def __init__(self, send: Callable[[Call], Awaitable[Answer]], clock: Clock | None = None) -> None:
        self._send = send
        self._clock = clock or SystemClock()
        # What the server was found not to have, and until when that is believed.
        self._missing: dict[GroupVersionKind | GroupKind, float] = {}
        self._groups: dict[str, Group] = {}
        self._by_kind: dict[GroupVersionKind, APIResource] = {}
        self._asked = False
        self._is_aggregated = False
        self._asking = asyncio.Lock()

    async def resource(self, gvk: GroupVersionKind) -> APIResource:
        """The resource of a kind. Raises NoMatch."""
        found = self._by_kind.get(gvk)
        if found is not None:
            return found
        if not self._is_missing(gvk):
            async with self._asking:
                found = None if self._is_missing(gvk) else await self._find(gvk)
        if found is None:
            self._miss(gvk)
            raise NoMatch(f"the server has no kind {gvk.kind} in {gvk.api_version}: is its definition installed?")
        return found

    def known(self, gvk: GroupVersionKind) -> APIResource | None:
        """The resource of a kind, if it is known already; nobody is asked."""
        return self._by_kind.get(gvk)

    async def preferred(self, kind: GroupKind) -> APIResource:
        """The resource of a kind in the version that the server prefers. Raises NoMatch."""
        async with self._asking:
            await self._ask_once()
            for again in (False, True):
                if again:
                    if self._is_missing(kind):
                        break
                    await self._ask_group(kind.group)
                group = self._groups.get(kind.group)
                for version in group.versions if group is not None else ():
                    found = await self._find(GroupVersionKind(kind.group, version, kind.kind), heal=False)
                    if found is not None:
                        return found
        self._miss(kind)
        raise NoMatch(f"the server has no kind {kind}: is its definition installed?")

    async def resources(self, *, anew: bool = True) -> Sequence[APIResource]:
        """Everything the server has. It is asked for anew, unless what was heard before will do."""
        async with self._asking:
            if anew:
                self._asked = False
                self._missing.clear()
            await self._ask_once()
            for name, group in list(self._groups.items()):
                for version in group.versions:
                    await self._version(GroupVersion(name, version))
            return [found for group in self._groups.values() for each in group.resources.values() for found in each]

    def heard_of(self, gvk: GroupVersionKind) -> None:
        """Objects of a kind were read or written. Where these define kinds, the server may have more of them now: what
        was missing is asked for again."""
        if self._missing and gvk.group in _DEFINING:
            self._missing.clear()

    def forget(self, gvk: GroupVersionKind) -> None:
        """The server said that it does not have this any more: it is asked again before it is believed."""
        self._missing.pop(gvk, None)
        group = self._groups.get(gvk.group)
        if group is not None:
            group.resources.pop(gvk.version, None)
        for known in [known for known in self._by_kind if known.group_version == gvk.group_version]:
            del self._by_kind[known]

    def _is_missing(self, kind: GroupVersionKind | GroupKind) -> bool:
        return self._clock.monotonic() < self._missing.get(kind, 0.0)

    def _miss(self, kind: GroupVersionKind | GroupKind) -> None:
        if not self._is_missing(kind):
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[kind] = self._clock.monotonic() + MISSING_SECONDS

    async def _find(self, gvk: GroupVersionKind, *, heal: bool = True) -> APIResource | None:
        await self._ask_once()
        found = self._by_kind.get(gvk)
        if found is None and not self._is_aggregated:
            await self._version(gvk.group_version)
            found = self._by_kind.get(gvk)
        if found is None and heal:
            await self._ask_group(gvk.group)
            await self._version(gvk.group_version)
            found = self._by_kind.get(gvk)
        return found

    async def _ask_once(self) -> None:
        if self._asked:
            return
        core, others = discovery.root_calls()
        for answer in (await self._send(core), await self._send(others)):
            self._is_aggregated = discovery.is_aggregated(answer)
            if self._is_aggregated:
                for group in discovery.aggregated_groups(answer):
                    self._know(group)
            else:
                for name, versions in discovery.group_versions(answer):
                    self._groups[name] = Group(name, versions, {})
        self._asked = True

    async def _ask_group(self, name: str) -> None:
        """Asks for the versions of a group anew, and forgets their resources."""
        answer = await self._or_nothing(discovery.group_call(name))
        if answer is None:
            self._groups.pop(name, None)
            return
        for found, versions in discovery.group_versions(answer):
            self._groups[found] = Group(found, versions, {})

    async def _version(self, gv: GroupVersion) -> None:
        """Has the resources of a version at hand, if there is one."""
        group = self._groups.get(gv.group)
        if group is None or gv.version not in group.versions or gv.version in group.resources:
            return
        answer = await self._or_nothing(discovery.version_call(gv))
        resources = () if answer is None else discovery.version_resources(gv, answer)
        self._know(group._replace(resources={**group.resources, gv.version: resources}))

    async def _or_nothing(self, call: Call) -> Answer | None:
        try:
            return await self._send(call)
        except NotFound:
            return None

    def _know(self, group: Group) -> None:
        self._groups[group.name] = group
        for version, resources in group.resources.items():
            own = GroupVersion(group.name, version)
            for resource in resources:
                # What shows objects of another group's kind is not where these are found; of two resources of one kind,
                # the one that can be listed is meant.
                if resource.gvk.group_version == own and (
                    "list" in resource.verbs or resource.gvk not in self._by_kind
                ):
                    self._by_kind[resource.gvk] = resource
