"""The permitted children of a handler: of the declared kinds, and in the permitted namespaces.

A child is in the namespace of its parent. A cluster-scoped parent may have children anywhere; for a namespaced parent,
`cross_namespace` permits other namespaces, and `cluster_scoped` cluster-scoped children.
"""

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, KindRef, ref_of
from setpoint.client.mapper import NoMatch
from setpoint.controller.recording_client import metadata_of
from setpoint.controller.request import TerminalError
from setpoint.flow.inventory import Identity
from setpoint.objects.gvk import GroupVersionKind


class GeneratedKinds(NamedTuple):
    """The declared kinds and scopes of a handler."""

    name: str
    kinds: frozenset[GroupVersionKind]
    cross_namespace: bool = False
    cluster_scoped: bool = False

    async def check(self, children: Iterable[AnyObject], namespace: str, client: Client) -> None:
        """Checks that a parent in a namespace may have these children. Raises TerminalError with the remedy."""
        seen = set()
        for child in children:
            ref = ref_of(child)
            if ref.gvk not in self.kinds:
                raise TerminalError(f"{self.name} returned a {ref}, which is not declared: add it to `kinds`")
            where = metadata_of(child)
            identity = Identity(ref.gvk.group, ref.gvk.kind, where.namespace, where.name)
            if await is_namespaced(ref, client):
                identity = identity._replace(namespace=identity.namespace or namespace)
                if namespace and identity.namespace != namespace and not self.cross_namespace:
                    raise TerminalError(
                        f"{self.name} returned {identity}, but its parent is in {namespace}: set cross_namespace=True"
                    )
            else:
                identity = identity._replace(namespace="")
                if namespace and not self.cluster_scoped:
                    raise TerminalError(
                        f"{self.name} returned {identity}, which is cluster-scoped, but its parent is in {namespace}: "
                        "set cluster_scoped=True"
                    )
            if identity in seen:
                raise TerminalError(f"{self.name} returned {identity} twice: use a unique name for each child")
            seen.add(identity)


async def is_namespaced(ref: KindRef, client: Client) -> bool:
    """Returns True if a kind is namespaced: by the server, or by its class if not served yet."""
    try:
        return (await client.mapper.resource(ref.gvk)).namespaced
    except NoMatch:
        return ref.cls is None or ref.cls.__resource__.scope == "Namespaced"
