"""The graph of relations among objects: ownership, use, selection and targets, including missing objects.

    found = graph(objects)
    print(found.render(ref_of(deployment)))

The graph is a pure function of the objects and the rules (`flow.relations.link_rules`). Owners are matched by UID, not
only by name.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from setpoint.client.kinds import AnyObject
from setpoint.flow.paths import path
from setpoint.flow.relations.link_rules import LinkRules, relation_rules
from setpoint.flow.relations.links import OWNED_BY, Link, Ref, links_of, ref_of
from setpoint.flow.summary.summary import Summary, summarize
from setpoint.flow.summary.summary_rules import SummaryRules as SummaryRules
from setpoint.objects.tree import Object
from setpoint.schema.types.resource import Resource

OWNS = "owns"
DEPTH = 5


class Node(NamedTuple):
    """An object of the graph.

    node = graph(objects).nodes[ref_of(deployment)]
    print(node.summary, node.missing)
    """

    ref: Ref
    # Both are None for an object that others refer to and that was not given.
    object: Object | None = None
    summary: Summary | None = None
    # True if the object does not exist; False if unknown.
    missing: bool = False


class Edge(NamedTuple):
    """A relation of one object to another. Ownership always goes from the owner to the owned object.

    uses = [edge.target for edge in found.outgoing(ref) if edge.verb == "uses"]
    """

    source: Ref
    verb: str
    target: Ref
    # The path of the reference: in the source, or for ownership in the target.
    at: str
    controller: bool = False


class Graph:
    """Objects and their relations.

    found = graph(objects)
    print(found.render(ref_of(deployment)))
    print(found.missing())
    """

    def __init__(
        self, nodes: Mapping[Ref, Node], edges: Iterable[Edge], rules: LinkRules, unread: Iterable[str] = ()
    ) -> None:
        self.nodes = nodes
        self.edges = tuple(edges)
        # Kinds that could not be read, with the reason: their relations are not shown.
        self.unread = tuple(unread)
        self._rules = rules
        self._from: defaultdict[Ref, list[Edge]] = defaultdict(list)
        self._to: defaultdict[Ref, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            self._from[edge.source].append(edge)
            self._to[edge.target].append(edge)

    def outgoing(self, ref: Ref) -> list[Edge]:
        """Returns the relations from an object to others."""
        return self._from.get(ref, [])

    def incoming(self, ref: Ref) -> list[Edge]:
        """Returns the relations from others to an object."""
        return self._to.get(ref, [])

    def owners(self, ref: Ref) -> list[Ref]:
        return [edge.source for edge in self.incoming(ref) if edge.verb == OWNS]

    def owned(self, ref: Ref) -> list[Ref]:
        return [edge.target for edge in self.outgoing(ref) if edge.verb == OWNS]

    def missing(self) -> list[Edge]:
        """Returns the relations with missing objects, including deleted owners."""
        return [edge for edge in self.edges if self.nodes[edge.target].missing or self.nodes[edge.source].missing]

    def around(self, ref: Ref, depth: int = DEPTH) -> "Graph":
        """Returns the graph within a number of steps around an object.

        Includes the objects that are reachable from the object, those that refer to the object, and the owners of all
        these. Other referrers of reachable objects are left out: a common service account would connect all pods.
        """
        found, down, up = {ref}, {ref}, {ref}
        for _ in range(depth):
            comes = {
                edge.source for each in down | up for edge in self.incoming(each) if edge.verb == OWNS or each == ref
            }
            down = {edge.target for each in down for edge in self.outgoing(each)} - found
            up = comes - found - down
            found |= down | up
        nodes = {each: self.nodes.get(each, Node(each)) for each in sorted(found)}
        kept = (edge for edge in self.edges if edge.source in nodes and edge.target in nodes)
        return Graph(nodes, kept, self._rules, self.unread)

    def to_json(self) -> Object:
        """Returns the graph as a tree for drawing: `nodes` with summaries, and `edges` between node indexes."""
        numbers = {ref: number for number, ref in enumerate(self.nodes)}
        nodes = [
            {
                **ref._asdict(),
                "missing": node.missing,
                "summary": node.summary.to_json() if node.summary else None,
            }
            for ref, node in self.nodes.items()
        ]
        edges = [
            {"source": numbers[edge.source], "verb": edge.verb, "target": numbers[edge.target], "at": edge.at}
            for edge in self.edges
        ]
        return {"nodes": nodes, "edges": edges, "unread": list(self.unread)}

    def render(self, ref: Ref, depth: int = DEPTH) -> str:
        """Renders the relations of an object as a text tree. Each object is expanded once."""
        lines = [self._label(ref)]
        rendered = {ref}
        lines += self._below(ref, depth, "", rendered, is_root=True)
        lines += [f"not read: {reason}" for reason in self.unread]
        return "\n".join(lines)

    def _below(self, ref: Ref, depth: int, indent: str, rendered: set[Ref], *, is_root: bool) -> Iterator[str]:
        if depth <= 0:
            return
        # Objects that refer to the root are shown without their other relations.
        outgoing = sorted(self.outgoing(ref), key=lambda edge: edge.verb != OWNS)
        near = {(edge.verb, edge.target): depth - 1 for edge in outgoing}
        if is_root:
            for edge in self.incoming(ref):
                near.setdefault((self._rules.verbs.get(edge.verb, f"{edge.verb} of"), edge.source), 0)
        for position, ((verb, other), reach) in enumerate(near.items()):
            is_last = position == len(near) - 1
            yield f"{indent}{'└─' if is_last else '├─'} {verb} {self._label(other, ref.namespace)}"
            if other not in rendered:
                rendered.add(other)
                yield from self._below(other, reach, f"{indent}{'   ' if is_last else '│  '}", rendered, is_root=False)

    def _label(self, ref: Ref, namespace: str = "") -> str:
        node = self.nodes.get(ref, Node(ref))
        shown = str(ref._replace(namespace="") if namespace and ref.namespace == namespace else ref)
        if node.missing:
            return f"{shown} (not found)"
        return f"{shown}: {node.summary}" if node.summary else shown


def graph(
    objects: Iterable[AnyObject],
    *,
    rules: LinkRules | None = None,
    summary_rules: SummaryRules | None = None,
    now: datetime | None = None,
    expected: Callable[[Ref], bool] = lambda _ref: True,
    unread: Iterable[str] = (),
) -> Graph:
    """Returns the relations among objects. Never raises, for any objects.

    `expected` returns True for a reference if the object would be among the given ones if it existed: such an object is
    missing, others are unknown.

        found = graph([deployment, replica_set, pod])
        print(found.render(ref_of(deployment)))
    """
    rules = rules or relation_rules()
    world = _ObjectIndex()
    for obj in objects:
        tree = obj.to_json() if isinstance(obj, Resource) else obj
        world.add(tree, Node(ref_of(tree), tree, summarize(tree, rules=summary_rules, now=now)))
    edges = [edge for ref in list(world.nodes) for edge in world.edges(ref, rules, expected)]
    return Graph(world.nodes, dict.fromkeys(edges), rules, unread)


class _ObjectIndex:
    """The objects by UID and kind."""

    def __init__(self) -> None:
        self.nodes: dict[Ref, Node] = {}
        self._by_uid: dict[str, Ref] = {}
        self._by_kind: defaultdict[tuple[str, str, str], list[Ref]] = defaultdict(list)

    def add(self, tree: Object, node: Node) -> None:
        if node.ref in self.nodes:
            return
        self.nodes[node.ref] = node
        self._by_kind[node.ref[:3]].append(node.ref)
        if uid := _uid(tree):
            self._by_uid[uid] = node.ref

    def edges(self, ref: Ref, rules: LinkRules, expected: Callable[[Ref], bool]) -> Iterator[Edge]:
        for link in links_of(self.nodes[ref].object, rules):
            if link.selector is not None:
                for target in self._selected(link):
                    yield Edge(ref, link.verb, target, link.at)
                continue
            other = self._named(link, expected)
            if link.verb == OWNED_BY:
                yield Edge(other, OWNS, ref, link.at, link.controller)
            else:
                yield Edge(ref, link.verb, other, link.at)

    def _selected(self, link: Link) -> Iterator[Ref]:
        assert link.selector is not None
        for ref in self._by_kind.get(link.target[:3], ()):
            if link.selector.matches(_labels(self.nodes[ref].object)):
                yield ref

    def _named(self, link: Link, expected: Callable[[Ref], bool]) -> Ref:
        """Returns the object of a link; adds a node for a missing object."""
        ref = link.target
        if link.uid and link.uid in self._by_uid:
            return self._by_uid[link.uid]
        for candidate in (ref, ref._replace(namespace="")):
            node = self.nodes.get(candidate)
            if node is None or node.object is None:
                continue
            if not link.uid or not _uid(node.object):
                return candidate
            # The referenced object is deleted, and another one has its name.
            ref = candidate._replace(name=f"{ref.name}@{link.uid}")
            break
        self.nodes.setdefault(ref, Node(ref, missing=expected(ref)))
        return ref


def _uid(tree: Object) -> str:
    return path("metadata.uid").text_at(tree)


def _labels(tree: Object | None) -> dict[str, str]:
    found = next((value for value in path("metadata.labels").find(tree) if isinstance(value, dict)), {})
    return {key: value for key, value in found.items() if isinstance(value, str)}
