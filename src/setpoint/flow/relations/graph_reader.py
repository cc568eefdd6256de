"""Reads graphs from a server or a cache: of a namespace, or around one object."""

from collections.abc import Iterable
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.client.mapper import NoMatch
from setpoint.flow.relations import links
from setpoint.flow.relations.graph import DEPTH, Graph, graph
from setpoint.flow.relations.link_rules import LinkRules
from setpoint.flow.relations.links import Ref
from setpoint.flow.summary.summary_rules import SummaryRules as SummaryRules
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object


async def read_graph(
    reader: Client | Cache,
    namespace: str = "",
    *,
    kinds: Iterable[Kind[Any]] | None = None,
    rules: LinkRules | None = None,
    summary_rules: SummaryRules | None = None,
) -> Graph:
    """Returns the relations of all objects in a namespace and of cluster-scoped ones; without a namespace, of all.

    Without `kinds`, reads all kinds that the server serves or the cache holds. Kinds that are forbidden or no longer
    served are listed in `unread`.

        found = await read_graph(client, "default", kinds=["apps/v1/Deployment", "v1/Pod"])
    """
    client = reader.client if isinstance(reader, Cache) else reader
    found: list[Object] = []
    read: set[GroupKind] = set()
    unread: list[str] = []
    for kind in await _kinds(reader, kinds):
        try:
            resource = await client.mapper.resource(kind.gvk)
            found += await _list(reader, kind, namespace if resource.namespaced else "")
        except (APIError, NoMatch) as error:
            unread.append(f"{kind}: {error}")
        else:
            read.add(kind.gvk.group_kind)

    def expected(ref: Ref) -> bool:
        return GroupKind(ref.group, ref.kind) in read and (not namespace or ref.namespace in ("", namespace))

    now = client.clock.now()
    return graph(found, rules=rules, summary_rules=summary_rules, now=now, expected=expected, unread=unread)


async def read_graph_around(
    reader: Client | Cache,
    obj: AnyObject,
    *,
    depth: int = DEPTH,
    kinds: Iterable[Kind[Any]] | None = None,
    rules: LinkRules | None = None,
    summary_rules: SummaryRules | None = None,
) -> Graph:
    """Returns the relations around an object, within its namespace and with cluster-scoped objects.

    found = await read_graph_around(client, deployment, depth=3)
    print(found.render(ref_of(deployment)))
    """
    me = links.ref_of(tree_of(obj))
    if kinds is not None:
        kinds = [*kinds, ref_of(obj)]
    whole = await read_graph(reader, me.namespace, kinds=kinds, rules=rules, summary_rules=summary_rules)
    return whole.around(me, depth)


async def _kinds(reader: Client | Cache, kinds: Iterable[Kind[Any]] | None) -> list[KindRef]:
    """Returns the kinds to read, each in one version."""
    if kinds is not None:
        wanted = [kind_of(kind) for kind in kinds]
    elif isinstance(reader, Cache):
        wanted = [informer.kind for informer in reader.informers if not informer.kind.metadata_only]
    else:
        served = await reader.mapper.resources()
        wanted = [KindRef(resource.gvk) for resource in served if "list" in resource.verbs]
    found: dict[GroupKind, KindRef] = {}
    for kind in wanted:
        found.setdefault(kind.gvk.group_kind, kind)
    return list(found.values())


async def _list(reader: Client | Cache, kind: KindRef, namespace: str) -> list[Object]:
    if isinstance(reader, Cache):
        items: list[Any] = await reader.list(kind, namespace)
    else:
        items = (await reader.list(kind, namespace)).items
    # Items of a list lack apiVersion and kind.
    type_fields = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
    return [{**type_fields, **tree_of(item)} for item in items]
