"""Higher-level ways to write controllers, built on apply sets: related objects are applied and pruned together.

This package itself exports the names for object relations: `from setpoint.flow import graph, read_graph`. Importing the
package imports no submodule; each name is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.flow.relations.graph import Edge, Graph, Node, graph
    from setpoint.flow.relations.graph_reader import read_graph, read_graph_around
    from setpoint.flow.relations.link_rules import RuleError, relation_rules
    from setpoint.flow.relations.links import Link, Ref, links_of, ref_of

__all__ = [
    "Edge",
    "Graph",
    "Link",
    "Node",
    "Ref",
    "RuleError",
    "graph",
    "links_of",
    "read_graph",
    "read_graph_around",
    "ref_of",
    "relation_rules",
]

_HOMES = {
    **dict.fromkeys(("Edge", "Graph", "Node", "graph"), "setpoint.flow.relations.graph"),
    **dict.fromkeys(("Link", "Ref", "links_of", "ref_of"), "setpoint.flow.relations.links"),
    **dict.fromkeys(("read_graph", "read_graph_around"), "setpoint.flow.relations.graph_reader"),
    **dict.fromkeys(("RuleError", "relation_rules"), "setpoint.flow.relations.link_rules"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found
