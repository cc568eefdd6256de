"""Who comes after whom, drawn: as a tree of text, for Graphviz and for Mermaid. All of it is pure.

In the tree everything stands once, below the last of what it comes after: what it waits for beside that is said behind
it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from setpoint.cli.printing.terminal import Meaning, Terminal, shortened, width_of

_GAP = "  "
_NARROWEST = 12
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
    """The parts of an app, and who comes after whom; there are no circles."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]


def tree_lines(graph: Graph, place: Terminal) -> list[str]:
    """The tree, no wider than the terminal."""
    rows = list(_rows(graph))
    head = max((width_of(each) for each, _ in rows), default=0)
    state = max((width_of(node.state) for node in graph.nodes), default=0)
    room = place.width - head - state - 3 * len(_GAP) if place.width is not None else _WIDEST
    # What is said behind gets as much of the room as it takes, and at most half of it.
    told = {node.name: _also(graph, node.name) for node in graph.nodes}
    longest = max(map(width_of, told.values()), default=0)
    most = max(room - min(longest, room // 2), _NARROWEST)
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


def _rows(graph: Graph) -> Iterator[tuple[str, Node]]:
    """Each part once, below what it comes after; what waits in a circle begins somewhere in it."""
    depths = _depths(graph)
    below: dict[str, list[Node]] = {}
    for node in graph.nodes:
        below.setdefault(_parent(graph, node.name, depths), []).append(node)
    drawn: set[str] = set()

    def walk(nodes: Sequence[Node], indent: str) -> Iterator[tuple[str, Node]]:
        left = [node for node in nodes if node.name not in drawn]
        for node in left:
            drawn.add(node.name)
            is_last = node is left[-1]
            yield f"{indent}{'└─ ' if is_last else '├─ '}{node.name}", node
            yield from walk(below.get(node.name, ()), indent + ("   " if is_last else "│  "))

    for root in (*below.get("", ()), *graph.nodes):
        if root.name not in drawn:
            drawn.add(root.name)
            yield root.name, root
            yield from walk(below.get(root.name, ()), "")


def _depths(graph: Graph) -> Mapping[str, int]:
    """How many must come before each, one after the other."""
    found = {node.name: 0 for node in graph.nodes}
    for _ in graph.nodes:
        for edge in graph.edges:
            found[edge.after] = max(found[edge.after], found[edge.before] + 1)
    return found


def _parent(graph: Graph, name: str, depths: Mapping[str, int]) -> str:
    """The last of what comes before a part; of what it waits for rather than of what it uses."""
    before = [edge for edge in graph.edges if edge.after == name]
    waited = [edge for edge in before if not edge.uses] or before
    return max((edge.before for edge in waited), key=lambda each: depths[each], default="")


def _also(graph: Graph, name: str) -> str:
    """What it waits for beside those that it stands below, and how far that must be."""
    depths = _depths(graph)
    parent = _parent(graph, name, depths)
    # Who waits until its parent is there waits for all that this waited for in the same way.
    above, below, here = {name}, name, parent
    while here and here not in above:
        above.add(here)
        if any(edge.uses or edge.how for edge in graph.edges if (edge.before, edge.after) == (here, below)):
            break
        below, here = here, _parent(graph, here, depths)
    edges = [edge for edge in graph.edges if edge.after == name]
    waits = [f"{edge.before}{_how(edge)}" for edge in edges if not edge.uses and edge.before not in above]
    uses = [edge.before for edge in edges if edge.uses and edge.before not in above]
    how = next((edge.how for edge in edges if edge.before == parent and edge.how), "")
    parts = [
        f"once {parent} has {how}" if how else "",
        f"also after {', '.join(waits)}" if waits else "",
        f"uses {', '.join(uses)}" if uses else "",
    ]
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
