"""Everything that is served at one moment: the built-in resources, and those of the established definitions.

A registry never changes. When a CustomResourceDefinition does, the server puts a new registry in the place of the old
one, in one step: a request sees the one or the other, never something between. What is computed from a registry alone
(discovery, OpenAPI) is kept on it, in `documents`, and so is right at once when it is replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from setpoint.objects.gvk import GroupResource, GroupVersion, GroupVersionKind, version_priority
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.resource import Resource


class Registry:
    """The resources by the path they are served at, and by their kind."""

    def __init__(
        self,
        builtin: Sequence[Resource],
        custom: Sequence[Resource] = (),
        definitions: Mapping[str, CustomResourceDefinition] | None = None,
    ) -> None:
        self.builtin = builtin
        self.custom = custom
        # By name, every definition there is, established or not.
        self.definitions = definitions or {}
        # For whoever computes something from the registry and wants to keep it as long as it is right.
        self.documents: dict[str, Any] = {}
        self._resources = {(found.group, found.version, found.resource): found for found in (*custom, *builtin)}

    def resource(self, group: str, version: str, plural: str) -> Resource | None:
        """What is served at `/apis/{group}/{version}/{plural}`."""
        return self._resources.get((group, version, plural))

    def __iter__(self) -> Iterator[Resource]:
        """All resources in the order of discovery: the built-in ones, then the groups of definitions by name."""
        yield from self.builtin
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
        """The groups and versions that answer for unknown resources with a Status."""
        return frozenset(GroupVersion(resource.group, resource.version) for resource in self.builtin)

    @cached_property
    def builtin_groups(self) -> frozenset[str]:
        """The groups that answer for what they do not have with a Status."""
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
