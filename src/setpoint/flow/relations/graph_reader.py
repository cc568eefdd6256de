"""The graph of what a server or a cache has, around one object or of a whole namespace."""

from collections.abc import Iterable
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.client.mapper import NoMatch
from setpoint.flow.relations import links
from setpoint.flow.relations.graph import DEPTH, Graph, graph
from setpoint.flow.relations.link_rules import Rules
from setpoint.flow.relations.links import Ref
from setpoint.flow.summary.summary_rules import Rules as SummaryRules
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object


async def read_graph(
    reader: Client | Cache,
    namespace: str = "",
    *,
    kinds: Iterable[Kind[Any]] | None = None,
    rules: Rules | None = None,
    summary_rules: SummaryRules | None = None,
) -> Graph:
    """The relations of everything in a namespace and of what is in none; without a namespace, of everything.

    Without `kinds` it reads what the server serves, or what the cache holds. A kind that may not be read, or is gone,
    is named in `unread`.
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
    rules: Rules | None = None,
    summary_rules: SummaryRules | None = None,
) -> Graph:
    """The relations around an object. Of one that is in a namespace, those in it and to what is in none."""
    me = links.ref_of(tree_of(obj))
    if kinds is not None:
        kinds = [*kinds, ref_of(obj)]
    whole = await read_graph(reader, me.namespace, kinds=kinds, rules=rules, summary_rules=summary_rules)
    return whole.around(me, depth)


async def _kinds(reader: Client | Cache, kinds: Iterable[Kind[Any]] | None) -> list[KindRef]:
    """What to read, each kind in one version."""
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
    # The items of a list do not say what they are.
    said = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
    return [{**said, **tree_of(item)} for item in items]
