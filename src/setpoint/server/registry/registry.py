"""All resources that are served at one moment: the built-in resources, and those of established definitions.

A registry is immutable. When a CustomResourceDefinition changes, the server replaces the registry in one step: a
request sees either the old one or the new one. Documents that are computed from a registry alone (discovery, OpenAPI)
are cached on the registry, in `documents`, and so are current as soon as the registry is replaced.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from setpoint.objects.gvk import GroupResource, GroupVersion, GroupVersionKind, version_priority
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.registry.remote_version import RemoteVersions
from setpoint.server.registry.resource import Resource

# The key of the restricted registry among the documents.
_SHOWN = "shown"


def _place(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.resource


class Registry:
    """The resources by path and by kind."""

    def __init__(
        self,
        builtin: Sequence[Resource],
        custom: Sequence[Resource] = (),
        definitions: Mapping[str, CustomResourceDefinition] | None = None,
        endpoints: Sequence[Any] = (),
    ) -> None:
        self.builtin = builtin
        # The registry with all resources, of which this one may be a part.
        self.whole = self
        # The versions whose requests are forwarded to other API servers.
        self.remote: RemoteVersions = {}
        # All definitions by name, established or not.
        self.definitions = definitions or {}
        # A cache for documents that are computed from this registry.
        self.documents: dict[Any, Any] = {}
        # The routes that requests have used (rows of `server.routes`), by place, form of path and verb.
        self.routes: dict[tuple[str, str, str, bool, bool, str, str], Any] = {}
        # The additional endpoints of `setpoint.dev` (`server.request.extension`).
        self.endpoints = endpoints
        self._builtin = {_place(found): found for found in builtin}
        self._custom = {_place(found): found for found in custom}

    def changed(
        self,
        name: str,
        definition: CustomResourceDefinition | None,
        before: Iterable[Resource],
        after: Iterable[Resource],
    ) -> "Registry":
        """Returns the registry after a change of one definition, whose resources `before` are replaced by `after`. All
        other resources are reused."""
        made = Registry.__new__(Registry)
        made.whole = made
        made.builtin, made._builtin = self.builtin, self._builtin
        definitions = dict(self.definitions)
        if definition is None:
            definitions.pop(name, None)
        else:
            definitions[name] = definition
        made.definitions = definitions
        made.documents, made.routes, made.remote = {}, {}, self.remote
        made.endpoints = self.endpoints
        made._custom = self._custom.copy()
        for resource in before:
            made._custom.pop(_place(resource), None)
        for resource in after:
            made._custom[_place(resource)] = resource
        return made

    def with_remote(self, versions: RemoteVersions) -> "Registry":
        """Returns the registry with the same resources and these remote versions."""
        made = Registry.__new__(Registry)
        made.whole = made
        made.builtin, made._builtin, made._custom = self.builtin, self._builtin, self._custom
        made.definitions, made.documents, made.routes, made.remote = self.definitions, {}, {}, versions
        made.endpoints = self.endpoints
        return made

    def shown(self, shows: Callable[[Resource], bool]) -> "Registry":
        """Returns the registry of the resources for which `shows` returns True; the same one for every call."""
        found: Registry | None = self.documents.get(_SHOWN)
        if found is None:
            found = Registry([each for each in self.builtin if shows(each)], list(filter(shows, self.custom)))
            found.definitions, found.remote, found.whole = self.definitions, self.remote, self
            found.endpoints = self.endpoints
            self.documents[_SHOWN] = found
        return found

    @property
    def custom(self) -> Collection[Resource]:
        """The resources of the established definitions."""
        return self._custom.values()

    def resource(self, group: str, version: str, plural: str) -> Resource | None:
        """Returns the resource that is served at `/apis/{group}/{version}/{plural}`, or None."""
        place = (group, version, plural)
        found = self._builtin.get(place)
        if found is None or found.is_replaceable:
            return self._custom.get(place) or found
        return found

    def __iter__(self) -> Iterator[Resource]:
        """All resources in the order of discovery: the built-in ones, then the groups of definitions by name."""
        for resource in self.builtin:
            if not (resource.is_replaceable and _place(resource) in self._custom):
                yield resource
        yield from sorted(self.custom, key=lambda found: (found.group, version_priority(found.version), found.resource))

    @cached_property
    def group_versions(self) -> Mapping[GroupVersion, Sequence[Resource]]:
        """The resources of each group and version, in the order of discovery; the preferred version comes first."""
        found: dict[GroupVersion, list[Resource]] = {}
        for resource in self:
            found.setdefault(GroupVersion(resource.group, resource.version), []).append(resource)
        return found

    @cached_property
    def builtin_group_versions(self) -> frozenset[GroupVersion]:
        """The groups and versions that answer requests for unknown resources with a Status."""
        return frozenset(GroupVersion(resource.group, resource.version) for resource in self.builtin)

    @cached_property
    def builtin_groups(self) -> frozenset[str]:
        """The groups that answer unknown paths with a Status."""
        return frozenset(resource.group for resource in self.builtin)

    @cached_property
    def group_resources(self) -> Mapping[GroupResource, Resource]:
        """The preferred resource of each group and plural."""
        found: dict[GroupResource, Resource] = {}
        for resource in self:
            found.setdefault(resource.group_resource, resource)
        return found

    @cached_property
    def kinds(self) -> Mapping[GroupVersionKind, Resource]:
        """The resource that serves each kind."""
        return {resource.gvk: resource for resource in self}
