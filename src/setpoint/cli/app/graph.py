"""`setpoint graph`: shows the dependencies between the parts of an app, from the app file or from the running app."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.app.app_file import find_file, profile_option, read_file
from setpoint.cli.app.source_options import given_files, source_options
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import NO_SERVER, Failure

if TYPE_CHECKING:
    from setpoint.cli.app.graph_formats import AppGraph, AppGraphNode
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.objects.tree import Object

_FORMS = ("text", "dot", "mermaid", "json")
# The condition that a dependency waits for by default.
_USUAL = {"Task": "Succeeded"}
_HOW = {"Started": "started", "Ready": "ready", "Finished": "finished", "Succeeded": "succeeded"}


@click.command()
@click.argument("file", default="", metavar="[FILE]")
@source_options
@profile_option
@click.option("-o", "--output", "form", type=click.Choice(_FORMS), default="text", help="Output format.")
@server_options
def graph(file: str, profiles: tuple[str, ...], form: str, server: Server) -> None:
    """Show the dependencies between parts: each part is listed below the last part that it waits for.

    Shows the current state of each part if the app is running; otherwise reads the app file. With FILE, always reads
    that file.

    \b
      setpoint graph
      setpoint graph -o mermaid >> README.md
      setpoint graph -o dot | dot -Tsvg > app.svg
    """
    from setpoint.cli.app import graph_formats

    found = _by_file(file, profiles) if file or profiles or given_files() else _as_it_runs(server)
    if form == "json":
        from setpoint.cli.output.formats import json_text

        echo(json_text(_tree(found)))
    elif form == "text":
        place = terminal()
        if not found.nodes:
            echo("The app has no parts.", err=True)
            return
        place.echo("\n".join(graph_formats.tree_lines(found, place)))
    else:
        echo(graph_formats.dot(found) if form == "dot" else graph_formats.mermaid(found))


def _as_it_runs(server: Server) -> "AppGraph":
    """Returns the graph of the running app, or of this directory's app file if no app is running. Raises Failure."""
    try:
        return run(_live(server))
    except Failure as failure:
        if failure.exit_code != NO_SERVER or server.kubeconfig or server.session:
            raise
    return _by_file("", ())


async def _live(server: Server) -> "AppGraph":
    from setpoint.cli.workloads.inventory import SERVICE, read_workloads, ref

    async with connect(server) as client:
        workloads = await read_workloads(client)
        others = [*(await client.list(ref(SERVICE))).items]
    return graph_of([*(each.tree for each in workloads), *others], {each.name: each for each in workloads})


def _by_file(file: str, profiles: tuple[str, ...]) -> "AppGraph":
    from setpoint.workload.judgement import is_workload

    loaded = read_file(find_file(file), os.environ, profiles, on_this_machine=False)
    return graph_of(list(filter(is_workload, loaded.objects)), {})


def graph_of(objects: "Sequence[Object]", running: "Mapping[str, Workload]") -> "AppGraph":
    """Returns the parts among the objects in start order, and their dependencies."""
    from setpoint.cli.app.graph_formats import AppGraph, Edge
    from setpoint.cli.workloads.inventory import RUNNING
    from setpoint.workload.dependencies import needed, stop_order

    parts = [tree for tree in objects if tree["kind"] in RUNNING]
    kinds = {tree["metadata"]["name"]: tree["kind"] for tree in parts}
    edges = []
    needs = needed(objects)
    for tree in parts:
        name = tree["metadata"]["name"]
        waits = {each["name"]: each for each in _waits(tree) if each["name"] in kinds}
        for other, each in waits.items():
            condition = each.get("condition", "Ready")
            usual = _USUAL.get(each["kind"], "Ready")
            edges.append(Edge(other, name, "" if condition == usual else _HOW[condition]))
        used = sorted(other for _, other in needs[tree["kind"], name] if other in kinds and other != name)
        edges += [Edge(other, name, uses=True) for other in used if other not in waits]
    layers = stop_order(objects)
    order = {tree["metadata"]["name"]: -number for number, layer in enumerate(layers) for tree in layer}
    nodes = [_node(tree, running.get(tree["metadata"]["name"])) for tree in parts]
    return AppGraph(sorted(nodes, key=lambda node: (order.get(node.name, 0), node.name)), edges)


def _waits(tree: "Object") -> "list[Object]":
    spec = tree.get("spec") or {}
    inner = (spec.get("template") or {}).get("spec") or {}
    return [*(spec.get("dependsOn") or ()), *(inner.get("dependsOn") or ())]


def _node(tree: "Object", workload: "Workload | None") -> "AppGraphNode":
    from setpoint.cli.app.graph_formats import AppGraphNode

    judgement = workload.judgement if workload is not None else None
    state = judgement.state if judgement is not None else ""
    return AppGraphNode(
        tree["metadata"]["name"], _description(tree), state, judgement.meaning if judgement is not None else ""
    )


def _description(tree: "Object") -> str:
    spec = tree["spec"]
    if tree["kind"] == "Task":
        by_hand = " (manual)" if spec.get("suspend") and not spec.get("schedule") else ""
        return f"task {spec['schedule']}" if spec.get("schedule") else f"task{by_hand}"
    if tree["kind"] == "Container":
        return f"container {spec['image'].rpartition('/')[2]}" if spec.get("image") else "container (built)"
    return f"process ×{spec.get('replicas', 1)}" if tree["kind"] == "ExecutableReplicaSet" else "process"


def _tree(found: "AppGraph") -> Any:
    return {
        "nodes": [{"name": node.name, "what": node.what, "state": node.state} for node in found.nodes],
        "edges": [{"from": edge.before, "to": edge.after, "how": edge.how, "uses": edge.uses} for edge in found.edges],
    }
