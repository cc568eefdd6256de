"""Which children a handler may have: of the kinds that it has declared, and where its options allow it.

A child lives where its parent does. A parent without a namespace may have children anywhere; for one in a namespace,
`cross_namespace` allows those in others, and `cluster_scoped` those in none.
"""

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, KindRef, ref_of
from setpoint.client.mapper import NoMatch
from setpoint.controller.recording_client import placed
from setpoint.controller.request import TerminalError
from setpoint.flow.inventory import Identity
from setpoint.objects.gvk import GroupVersionKind


class Rules(NamedTuple):
    """What a handler has declared."""

    name: str
    kinds: frozenset[GroupVersionKind]
    cross_namespace: bool = False
    cluster_scoped: bool = False

    async def check(self, children: Iterable[AnyObject], namespace: str, client: Client) -> None:
        """Whether a parent in a namespace may have these. Raises TerminalError, which says what to do."""
        seen = set()
        for child in children:
            ref = ref_of(child)
            if ref.gvk not in self.kinds:
                raise TerminalError(f"{self.name} gave a {ref}, which is not among its kinds: add it to `kinds`")
            where = placed(child)
            identity = Identity(ref.gvk.group, ref.gvk.kind, where.namespace, where.name)
            if await is_namespaced(ref, client):
                identity = identity._replace(namespace=identity.namespace or namespace)
                if namespace and identity.namespace != namespace and not self.cross_namespace:
                    raise TerminalError(
                        f"{self.name} gave {identity}, and its parent is in {namespace}: say cross_namespace=True"
                    )
            else:
                identity = identity._replace(namespace="")
                if namespace and not self.cluster_scoped:
                    raise TerminalError(
                        f"{self.name} gave {identity}, which lives in no namespace, and its parent is in {namespace}: "
                        "say cluster_scoped=True"
                    )
            if identity in seen:
                raise TerminalError(f"{self.name} gave {identity} twice: give each child a name of its own")
            seen.add(identity)


async def is_namespaced(ref: KindRef, client: Client) -> bool:
    """Whether objects of a kind live in namespaces: as the server says, or, before it knows the kind, its class."""
    try:
        return (await client.mapper.resource(ref.gvk)).namespaced
    except NoMatch:
        return ref.cls is None or ref.cls.__resource__.scope == "Namespaced"
