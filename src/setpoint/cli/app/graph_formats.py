"""Who comes after whom, drawn: as a tree of text, for Graphviz and for Mermaid. All of it is pure.

In the tree everything stands once, below the last of what it comes after: what it waits for beside that is said behind
it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from setpoint.cli.output.terminal import Meaning, Terminal, shortened, width_of

_GAP = "  "
# As much as every column gets, and as what a part is gets in any case.
_NARROWEST, _NARROW = 12, 20
_WIDEST = 1000


class Edge(NamedTuple):
    """That one comes after another. `how` says how far that must be, where it is not simply ready or done; `uses`: it
    does not wait for it by itself, and only uses its address."""

    before: str
    after: str
    how: str = ""
    uses: bool = False


class Node(NamedTuple):
    """A part of an app."""

    name: str
    # What it is in a few words: `process ×2`.
    what: str
    state: str = ""
    meaning: Meaning = ""


class Graph(NamedTuple):
    """The parts of an app, and who comes after whom."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]


def tree_lines(graph: Graph, place: Terminal) -> list[str]:
    """The tree, no wider than the terminal."""
    tree = _Tree(graph)
    rows = list(tree.rows())
    head = max((width_of(each) for each, _ in rows), default=0)
    state = max((width_of(node.state) for node in graph.nodes), default=0)
    room = place.width - head - state - 3 * len(_GAP) if place.width is not None else _WIDEST
    # What is said behind gets as much of the room as it takes, but for some.
    told = {node.name: tree.also(node.name) for node in graph.nodes}
    longest = max(map(width_of, told.values()), default=0)
    most = max(room - longest, _NARROW)
    what = min(max((width_of(node.what) for node in graph.nodes), default=0), most)
    lines = []
    for each, node in rows:
        cells = [f"{each:<{head}}", _filled(node.what, what)]
        if state:
            cells.append(place.paint(f"{node.state:<{state}}", node.meaning))
        also = shortened(told[node.name], max(room - what, _NARROWEST))
        lines.append(_GAP.join([*cells, place.paint(also, "quiet")]).rstrip())
    return lines


def _filled(text: str, width: int) -> str:
    """A text that takes so many columns."""
    text = shortened(text, width)
    return text + " " * (width - width_of(text))


class _Tree:
    """A graph as a tree: each part below the last of what comes before it."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = graph.nodes
        self._before: dict[str, list[Edge]] = {node.name: [] for node in graph.nodes}
        for edge in graph.edges:
            self._before[edge.after].append(edge)
        depths = self._depths()
        self._parents = {name: self._parent(name, depths) for name in self._before}

    def _depths(self) -> Mapping[str, int]:
        """How many must come before each, one after the other; in a circle, as many as there are."""
        found = dict.fromkeys(self._before, 0)
        for _ in self._nodes:
            grown = {
                name: max((found[edge.before] + 1 for edge in edges), default=0) for name, edges in self._before.items()
            }
            if grown == found:
                break
            found = grown
        return found

    def _parent(self, name: str, depths: Mapping[str, int]) -> Edge | None:
        """The last of what comes before a part; of what it waits for rather than of what it uses."""
        edges = self._before[name]
        waited = [edge for edge in edges if not edge.uses] or edges
        return max(waited, key=lambda edge: depths[edge.before], default=None)

    def rows(self) -> Iterator[tuple[str, Node]]:
        """Each part once, below what it comes after; what waits in a circle begins somewhere in it."""
        below: dict[str, list[Node]] = {}
        for node in self._nodes:
            edge = self._parents[node.name]
            below.setdefault(edge.before if edge is not None else "", []).append(node)
        drawn: set[str] = set()

        def walk(nodes: Sequence[Node], indent: str) -> Iterator[tuple[str, Node]]:
            left = [node for node in nodes if node.name not in drawn]
            drawn.update(node.name for node in left)
            for node in left:
                is_last = node is left[-1]
                yield f"{indent}{'└─ ' if is_last else '├─ '}{node.name}", node
                yield from walk(below.get(node.name, ()), indent + ("   " if is_last else "│  "))

        for root in (*below.get("", ()), *self._nodes):
            if root.name not in drawn:
                drawn.add(root.name)
                yield root.name, root
                yield from walk(below.get(root.name, ()), "")

    def also(self, name: str) -> str:
        """What a part waits for beside those that it stands below, and how far that must be."""
        above, edge = {name}, self._parents[name]
        how = f"once {edge.before} {edge.how}" if edge is not None and edge.how else ""
        # Who waits until another is there waits for all that this one waited for in the same way.
        while edge is not None and edge.before not in above:
            above.add(edge.before)
            edge = None if edge.uses or edge.how else self._parents[edge.before]
        others = [each for each in self._before[name] if each.before not in above]
        waits = [f"{each.before}{_how(each)}" for each in others if not each.uses]
        uses = [each.before for each in others if each.uses]
        parts = [how, f"also after {', '.join(waits)}" if waits else "", f"uses {', '.join(uses)}" if uses else ""]
        return "; ".join(filter(None, parts))


def _how(edge: Edge) -> str:
    return f" ({edge.how})" if edge.how else ""


def dot(graph: Graph) -> str:
    """For Graphviz."""
    lines = ["digraph app {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for node in graph.nodes:
        label = "\\n".join(_quoted(text) for text in (node.name, node.what, node.state) if text)
        lines.append(f'  "{_quoted(node.name)}" [label="{label}"];')
    for edge in graph.edges:
        how = f' [label="{_quoted(edge.how)}"]' if edge.how else ""
        style = ' [label="uses", style=dashed]' if edge.uses else how
        lines.append(f'  "{_quoted(edge.before)}" -> "{_quoted(edge.after)}"{style};')
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def mermaid(graph: Graph) -> str:
    """For Mermaid, which Markdown pages show."""
    ids = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        label = "<br/>".join(_escaped(text) for text in (node.name, node.what, node.state) if text)
        lines.append(f'  {ids[node.name]}["{label}"]')
    for edge in graph.edges:
        arrow, label = ("-.->", "uses") if edge.uses else ("-->", _escaped(edge.how))
        lines.append(f"  {ids[edge.before]} {arrow}{f'|{label}|' if label else ''} {ids[edge.after]}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
