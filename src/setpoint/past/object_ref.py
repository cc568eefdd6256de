"""References to objects that exist or existed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import Kind, KindRef
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Object

# The category of the kinds that run workloads.
WORKLOADS = "workloads"


class ObjectReference(NamedTuple):
    """A reference to one object, by kind and name."""

    resource: APIResource
    name: str
    namespace: str = ""

    @property
    def gvk(self) -> GroupVersionKind:
        return self.resource.gvk

    @property
    def kind(self) -> KindRef:
        return KindRef(self.gvk)

    @property
    def key(self) -> str:
        """The key, as in the causes of writes: `namespace/name`, or the name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def group_resource(self) -> str:
        return f"{self.resource.plural}.{self.gvk.group}" if self.gvk.group else self.resource.plural

    def __str__(self) -> str:
        return f"{self.gvk.kind}/{self.key}"

    def to_json(self) -> Object:
        found: Object = {"apiVersion": self.gvk.api_version, "kind": self.gvk.kind, "name": self.name}
        return {**found, "namespace": self.namespace} if self.namespace else found


async def place_at(client: Client, kind: Kind[Any], name: str, namespace: str = "") -> ObjectReference:
    """Returns the reference to an object, whether or not the object exists. Raises NoMatch if the server does not serve
    the kind."""
    return place_of(await client.resource(kind), name, namespace or client.options.namespace)


def place_of(resource: APIResource, name: str, namespace: str) -> ObjectReference:
    """Returns the reference to an object of a known resource."""
    return ObjectReference(resource, name, (namespace or "default") if resource.namespaced else "")


def resource_of(resources: Sequence[APIResource], kind: GroupKind) -> APIResource | None:
    """Returns the resource of a kind, or None if the server does not serve the kind."""
    return next((each for each in resources if each.gvk.group_kind == kind and "get" in each.verbs), None)
