"""Group, version, kind, resource: the coordinates of every object.

Small frozen values with the textual forms Go prints. The core group is the empty string.
"""

import re
from functools import lru_cache
from typing import Self

import msgspec

from setpoint.objects.tree import Object

_KUBE_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


class GroupVersion(msgspec.Struct, frozen=True, order=True):
    """A version of a group; its text is an `apiVersion`: `v1`, `apps/v1`."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> Self:
        """Parses an `apiVersion`. Raises ValueError for more than one slash."""
        if not api_version or api_version == "/":
            return cls("", "")
        group, slash, version = api_version.partition("/")
        if not slash:
            return cls("", group)
        if "/" in version:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        return cls(group, version)

    def with_kind(self, kind: str) -> "GroupVersionKind":
        return GroupVersionKind(self.group, self.version, kind)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupKind(msgspec.Struct, frozen=True, order=True):
    """A kind without its version: `Deployment.apps`."""

    group: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> Self:
        kind, _, group = text.partition(".")
        return cls(group, kind)

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(msgspec.Struct, frozen=True, order=True):
    """A resource (a plural) without its version: `deployments.apps`."""

    group: str
    resource: str

    @classmethod
    def parse(cls, text: str) -> Self:
        resource, _, group = text.partition(".")
        return cls(group, resource)

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(msgspec.Struct, frozen=True, order=True):
    """The group, version and kind that an object declares with `apiVersion` and `kind`."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, tree: Object) -> Self:
        """Returns the coordinates of an object; empty strings if missing. Raises ValueError for an invalid
        `apiVersion`."""
        api_version, kind = tree.get("apiVersion"), tree.get("kind")
        gv = GroupVersion.parse(api_version if isinstance(api_version, str) else "")
        return cls(gv.group, gv.version, kind if isinstance(kind, str) else "")

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


class GroupVersionResource(msgspec.Struct, frozen=True, order=True):
    """The coordinates under which objects of a kind are served: `/apis/{group}/{version}/{resource}`."""

    group: str
    version: str
    resource: str

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.resource}"


@lru_cache(maxsize=1024)
def version_priority(version: str) -> tuple[int, int, int, int, str]:
    """A sort key that puts the preferred version first: stable, beta, alpha, the newer before the older; others last.

    Versions that are not `v1`, `v2beta1` and the like come after all that are, in alphabetical order.
    """
    found = _KUBE_VERSION.fullmatch(version)
    if found is None or len(version) > 40:
        return (1, 0, 0, 0, version)
    major, stability, minor = found.groups()
    return (0, -_STABILITY[stability], -int(major), -int(minor or 0), version)
