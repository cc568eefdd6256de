"""`setpoint graph`: who comes after whom, readable on 80 columns, for Graphviz and for Mermaid."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.app_file.conftest import SHOP, Command
from tests.cli.app_file.looks import check_looks

from setpoint.cli.app.graph_formats import AppGraph, AppGraphNode, Edge, dot, mermaid, tree_lines
from setpoint.cli.output.terminal import Terminal, width_of


@pytest.fixture(autouse=True)
def _file(directory: Path) -> None:
    (directory / "setpoint.yaml").write_text(SHOP)


@pytest.mark.parametrize(("columns", "look"), [(80, "plain"), (80, "colour"), (140, "plain")])
def test_the_tree_looks_as_it_did_when_it_was_looked_at(columns: int, look: str) -> None:
    check_looks("graph", ["graph"], columns, look)


def test_what_is_used_is_told_apart_from_what_is_waited_for(setpoint: Command) -> None:
    found = json.loads(setpoint("graph", "-o", "json").stdout)
    edges = {(each["from"], each["to"]): (each["how"], each["uses"]) for each in found["edges"]}
    assert edges == {
        ("db", "migrate"): ("", False),
        ("db", "nightly"): ("", False),
        ("db", "api"): ("", False),
        ("migrate", "api"): ("", False),
        ("cache", "api"): ("started", False),
        ("api", "web"): ("", True),
        ("api", "test"): ("", False),
        ("web", "test"): ("started", False),
    }


def test_graphviz_and_mermaid_get_the_same_graph(setpoint: Command) -> None:
    drawn = setpoint("graph", "-o", "dot").stdout
    assert '"migrate" -> "api";' in drawn
    assert '"cache" -> "api" [label="started"];' in drawn
    assert '"api" -> "web" [label="uses", style=dashed];' in drawn
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=drawn, text=True, check=True, capture_output=True)
    flow = setpoint("graph", "-o", "mermaid").stdout.splitlines()
    assert flow[0] == "flowchart LR"
    assert sum("-.->|uses|" in line for line in flow) == 1
    assert sum("-->" in line for line in flow) == 7


def test_without_an_app_file_and_a_session_there_is_nothing_to_draw(setpoint: Command, directory: Path) -> None:
    (directory / "setpoint.yaml").unlink()
    ran = setpoint("graph")
    assert ran.code == 3
    assert "no setpoint.yaml, Compose file, process-compose.yaml or Procfile in this directory" in ran.stderr


@st.composite
def graphs(draw: st.DrawFn) -> AppGraph:
    """Any graph, also one in which some wait for each other."""
    count = draw(st.integers(1, 8))
    texts = st.text('ab "<é漢', min_size=1, max_size=9)
    nodes = [AppGraphNode(f"n{number}", draw(texts), draw(texts)) for number in range(count)]
    numbers = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(numbers, numbers), max_size=12, unique=True))
    edges = [Edge(f"n{one}", f"n{two}", "", draw(st.booleans())) for one, two in pairs if one != two]
    return AppGraph(nodes, edges)


@given(graphs())
def test_every_part_of_any_graph_stands_in_the_tree_once(graph: AppGraph) -> None:
    lines = tree_lines(graph, Terminal())
    names = [re.search(r"n\d+", line).group() for line in lines]  # type: ignore[union-attr]
    assert sorted(names) == sorted(node.name for node in graph.nodes)
    for line in tree_lines(graph, Terminal(width=80)):
        assert width_of(line) <= 80
    assert dot(graph).count("->") == len(graph.edges)
    assert len(mermaid(graph).splitlines()) == 1 + len(graph.nodes) + len(graph.edges)
