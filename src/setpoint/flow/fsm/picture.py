"""Draws the graph of a machine as SVG, without further dependencies.

States are arranged in rows, each below all states that lead to it. An edge across several rows bends around other
states. `statuses`, the conditions of an object by type, highlight the current state of that object.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from setpoint.flow.fsm.state import State
from setpoint.flow.fsm.state_graph import StateGraph

_HEIGHT, _ROW, _GAP, _MARGIN = 52.0, 104.0, 36.0, 24.0
_CHARACTER, _PADDING, _NARROWEST, _BEND, _HEADER = 8.1, 36.0, 132.0, 18.0, 34.0
_SWEEPS = 4
_STYLE = """
svg { font: 13px ui-sans-serif, system-ui, sans-serif; background: #fff }
text { text-anchor: middle; fill: #1d2733 }
.name { font-weight: 600 } .code { font: 11px ui-monospace, monospace; fill: #5b6877 }
.mark { font-size: 10px; text-anchor: end; fill: #5b6877 }
.title { text-anchor: start; font-weight: 600; fill: #5b6877 }
rect, ellipse { fill: #f2f5f9; stroke: #8293a6; stroke-width: 1.3 }
.first { stroke-width: 2.6 } .end { fill: #e2f3e7; stroke: #3c8d5a }
.True { fill: #d9f2e1; stroke: #2f8a50 } .False { fill: #fbe2dd; stroke: #c2452d }
.Unknown { fill: #eceff3; stroke: #9aa6b4; stroke-dasharray: 4 3 }
path { fill: none; stroke: #66778a; stroke-width: 1.4 } marker path { fill: #66778a; stroke: none }
@media (prefers-color-scheme: dark) {
svg { background: #12181f } text { fill: #e4eaf1 } .code, .mark, .title { fill: #9aa9b9 }
rect, ellipse { fill: #1d2733; stroke: #66778a } .end { fill: #173524; stroke: #4fae73 }
.True { fill: #16402a; stroke: #4fae73 } .False { fill: #4a211a; stroke: #e0745f } .Unknown { fill: #222b36 }
}"""
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 1 L9 5 L0 9 z"/></marker></defs>'
)


@dataclass(eq=False)
class _Node:
    """A positioned element: a state, an end, or otherwise the bend of an edge."""

    state: State | None = None
    end: str = ""
    row: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        if self.state is None:
            return _NARROWEST * 0.6 if self.end else _BEND
        longest = max(len(self.state.condition), len(self.state.name) + 2)
        return max(_NARROWEST, longest * _CHARACTER + _PADDING)

    @property
    def height(self) -> float:
        return _HEIGHT if self.state is not None else 30.0 if self.end else 0.0


def svg(graphs: Sequence[tuple[str, StateGraph]], statuses: Mapping[str, str] | None = None) -> str:
    """Draws graphs below each other, each with its title."""
    parts: list[str] = []
    width, top = 0.0, _MARGIN
    for title, graph in graphs:
        layout = _Layout(graph)
        width = max(width, layout.width)
        parts.append(f'<text class="title" x="{_MARGIN:g}" y="{top + 14:g}">{escape(title)}</text>')
        parts += layout.drawn(top + _HEADER, statuses or {})
        top += _HEADER + layout.height + _MARGIN
    size = f'width="{width + 2 * _MARGIN:g}" height="{top:g}" viewBox="0 0 {width + 2 * _MARGIN:g} {top:g}"'
    about = escape("; ".join(title for title, _ in graphs))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>\n<title>{about}</title>\n'
        f"<style>{_STYLE}</style>\n{_ARROW}\n{body}\n</svg>\n"
    )


class _Layout:
    """The layout of one graph."""

    def __init__(self, graph: StateGraph) -> None:
        self._graph = graph
        self._first = graph.states[0]
        self._nodes = {state: _Node(state) for state in graph.states}
        self._end = _Node(end="gone" if self._first.finalizes else "ready")
        # Each edge with its bends, from start to end.
        self._edges: list[list[_Node]] = []
        self._rows: list[list[_Node]] = []
        self._set_rows()
        self._connect()
        self._order()
        self._place()

    def _set_rows(self) -> None:
        """Assigns each state to a row below all states that lead to it."""
        todo = [self._first]
        while todo:
            state = todo.pop()
            for following in self._graph.edges[state]:
                if self._nodes[following].row <= self._nodes[state].row:
                    self._nodes[following].row = self._nodes[state].row + 1
                    todo.append(following)
        self._end.row = max(node.row for node in self._nodes.values()) + 1
        self._rows = [[] for _ in range(self._end.row + 1)]
        for node in (*self._nodes.values(), self._end):
            self._rows[node.row].append(node)

    def _connect(self) -> None:
        for state, node in self._nodes.items():
            follows = [self._nodes[following] for following in self._graph.edges[state]]
            if "done" in self._graph.ends[state]:
                follows.append(self._end)
            for following in follows:
                bends = [_Node(row=row) for row in range(node.row + 1, following.row)]
                for bend in bends:
                    self._rows[bend.row].append(bend)
                self._edges.append([node, *bends, following])

    def _order(self) -> None:
        """Sorts each row by the positions of connected elements, in alternating sweeps down and up."""
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            rows = self._rows[1:] if down else self._rows[-2::-1]
            for row in rows:
                # Not `sort`, which empties the list while its keys are computed.
                row[:] = sorted(row, key=lambda node: self._middle(node, down))

    def _middle(self, node: _Node, above: bool) -> float:
        row = self._rows[node.row - 1 if above else node.row + 1]
        found = [row.index(other) for other in self._adjacent(node, above)]
        return sum(found) / len(found) if found else float(self._rows[node.row].index(node))

    def _adjacent(self, node: _Node, above: bool) -> list[_Node]:
        return [
            one if above else two
            for way in self._edges
            for one, two in pairwise(way)
            if node is (two if above else one)
        ]

    def _place(self) -> None:
        widths = [sum(node.width for node in row) + _GAP * (len(row) - 1) for row in self._rows]
        self.width = max(widths)
        self.height = (len(self._rows) - 1) * _ROW + _HEIGHT
        for row, width in zip(self._rows, widths, strict=True):
            x = _MARGIN + (self.width - width) / 2
            for node in row:
                node.x = x + node.width / 2
                x += node.width + _GAP

    # Drawing

    def drawn(self, top: float, statuses: Mapping[str, str]) -> list[str]:
        """Returns all elements, with the edges below."""
        parts = [self._edge(way, top) for way in self._edges]
        parts += [self._box(node, top, statuses) for node in self._nodes.values()]
        if any(way[-1] is self._end for way in self._edges):
            x, y = self._end.x, top + self._y(self._end)
            parts.append(
                f'<ellipse class="end" cx="{x:g}" cy="{y:g}" rx="{self._end.width / 2:g}" ry="15"/>'
                f'<text x="{x:g}" y="{y + 4.5:g}">{self._end.end}</text>'
            )
        return parts

    def _y(self, node: _Node) -> float:
        return node.row * _ROW + _HEIGHT / 2

    def _edge(self, edge: list[_Node], top: float) -> str:
        points = [(node.x, top + self._y(node)) for node in edge]
        points[0] = (points[0][0], points[0][1] + edge[0].height / 2)
        points[-1] = (points[-1][0], points[-1][1] - edge[-1].height / 2)
        text = f"M{points[0][0]:g} {points[0][1]:g}"
        for (x1, y1), (x2, y2) in pairwise(points):
            middle = (y1 + y2) / 2
            text += f" C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"
        return f'<path d="{text}" marker-end="url(#arrow)"/>'

    def _box(self, node: _Node, top: float, statuses: Mapping[str, str]) -> str:
        state = node.state
        assert state is not None
        x, y = node.x, top + self._y(node)
        status = statuses.get(state.condition, "")
        look = " ".join(filter(None, ["first" if state is self._first else "", status]))
        marks = " ".join(sorted(self._graph.ends[state] - {"done"}))
        title = f"{state.condition}{f' is {status}' if status else ''}{f'; may {marks}' if marks else ''}"
        return (
            f'<g><title>{escape(title)}</title><rect class="{look}" x="{x - node.width / 2:g}" '
            f'y="{y - _HEIGHT / 2:g}" width="{node.width:g}" height="{_HEIGHT:g}" rx="8"/>'
            f'<text class="name" x="{x:g}" y="{y - 3:g}">{escape(state.condition)}</text>'
            f'<text class="code" x="{x:g}" y="{y + 14:g}">{escape(state.name)}()</text>'
            f'<text class="mark" x="{x + node.width / 2 - 6:g}" y="{y + _HEIGHT / 2 + 12:g}">{marks}</text></g>'
        )
