"""Draws dependency graphs as a text tree, for Graphviz and for Mermaid. All functions are pure.

The tree shows each part once, below the last part that it depends on. Its other dependencies are listed at the end of
the line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from setpoint.cli.output.terminal import Meaning, Terminal, shortened, width_of

_GAP = "  "
# The minimum width of a column, and of the description of a part.
_NARROWEST, _NARROW = 12, 20
_WIDEST = 1000


class Edge(NamedTuple):
    """A dependency: `after` waits for `before`. `how` names the condition if that is not the default one. With `uses`,
    the part does not wait for the other one and only uses its address.
    """

    before: str
    after: str
    how: str = ""
    uses: bool = False


class AppGraphNode(NamedTuple):
    """A part of an app."""

    name: str
    # A short description, such as `process ×2`.
    what: str
    state: str = ""
    meaning: Meaning = ""


class AppGraph(NamedTuple):
    """The parts of an app and their dependencies."""

    nodes: Sequence[AppGraphNode]
    edges: Sequence[Edge]


def tree_lines(graph: AppGraph, place: Terminal) -> list[str]:
    """Returns the lines of the tree, no wider than the terminal."""
    tree = _Tree(graph)
    rows = list(tree.rows())
    head = max((width_of(each) for each, _ in rows), default=0)
    state = max((width_of(node.state) for node in graph.nodes), default=0)
    room = place.width - head - state - 3 * len(_GAP) if place.width is not None else _WIDEST
    # The list of other dependencies gets the space it needs, except the minimum widths of the other columns.
    lines_of = {node.name: tree.also(node.name) for node in graph.nodes}
    longest = max(map(width_of, lines_of.values()), default=0)
    most = max(room - longest, _NARROW)
    what = min(max((width_of(node.what) for node in graph.nodes), default=0), most)
    lines = []
    for each, node in rows:
        cells = [f"{each:<{head}}", _filled(node.what, what)]
        if state:
            cells.append(place.paint(f"{node.state:<{state}}", node.meaning))
        also = shortened(lines_of[node.name], max(room - what, _NARROWEST))
        lines.append(_GAP.join([*cells, place.paint(also, "quiet")]).rstrip())
    return lines


def _filled(text: str, width: int) -> str:
    """Returns the text shortened or padded to the width."""
    text = shortened(text, width)
    return text + " " * (width - width_of(text))


class _Tree:
    """A graph as a tree: each part below its last dependency."""

    def __init__(self, graph: AppGraph) -> None:
        self._nodes = graph.nodes
        self._before: dict[str, list[Edge]] = {node.name: [] for node in graph.nodes}
        for edge in graph.edges:
            self._before[edge.after].append(edge)
        depths = self._depths()
        self._parents = {name: self._parent(name, depths) for name in self._before}

    def _depths(self) -> Mapping[str, int]:
        """Returns the length of the longest chain of dependencies before each part; in a cycle, at most the number of
        parts.
        """
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
        """Returns the deepest dependency of a part. Parts that are waited for take precedence over parts that are only
        used.
        """
        edges = self._before[name]
        waited = [edge for edge in edges if not edge.uses] or edges
        return max(waited, key=lambda edge: depths[edge.before], default=None)

    def rows(self) -> Iterator[tuple[str, AppGraphNode]]:
        """Yields each part once, below its parent. A cycle of dependencies starts at its first part."""
        below: dict[str, list[AppGraphNode]] = {}
        for node in self._nodes:
            edge = self._parents[node.name]
            below.setdefault(edge.before if edge is not None else "", []).append(node)
        drawn: set[str] = set()

        def walk(nodes: Sequence[AppGraphNode], indent: str) -> Iterator[tuple[str, AppGraphNode]]:
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
        """Returns the dependencies of a part besides its ancestors in the tree, with their conditions."""
        above, edge = {name}, self._parents[name]
        how = f"once {edge.before} {edge.how}" if edge is not None and edge.how else ""
        # A part that waits until another is ready also waits, indirectly, for the dependencies of that one.
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


def dot(graph: AppGraph) -> str:
    """Returns the graph in the DOT language of Graphviz."""
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


def mermaid(graph: AppGraph) -> str:
    """Returns the graph as a Mermaid flowchart, which Markdown pages can show."""
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
