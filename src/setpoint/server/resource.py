"""One served resource: a group, version and plural, with everything a request to it needs.

Several resources may share a `Storage`: the versions of a custom resource, `events` in two groups, the two versions of
HorizontalPodAutoscaler. Each object is stored in one version, and converted for the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from setpoint.objects.gvk import GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from setpoint.server.storage import Storage
from setpoint.server.strategy import Strategy

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
SUBRESOURCE_VERBS = ("get", "patch", "update")


@dataclass(frozen=True)
class Subresource:
    """A further endpoint below an object; its kind is the object's own unless it says otherwise."""

    name: str
    verbs: Sequence[str] = SUBRESOURCE_VERBS
    kind: GroupVersionKind | None = None


@dataclass(frozen=True, eq=False)
class Resource:
    """What the registry serves under one group, version and plural. Never changed; replaced when its definition is."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    storage: Storage
    strategy: Strategy
    singular: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    verbs: Sequence[str] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    # The name of the built-in definition of the kind; empty for custom resources.
    definition: str = ""

    @cached_property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @cached_property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.resource)

    @cached_property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    @cached_property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    @property
    def is_custom(self) -> bool:
        return not self.definition
