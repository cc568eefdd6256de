"""`setpoint ps`: lists workloads with state, URL and reason."""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_objects
from setpoint.cli.output.terminal import Terminal, echo, terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.group_option import group_option

if TYPE_CHECKING:
    from datetime import datetime

    from setpoint.cli.workloads.inventory import Workload

_HEADERS = ("NAME", "KIND", "STATE", "READY", "RESTARTS", "AGE")


@click.command()
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=workload_names)
@click.option(
    "-l", "--selector", metavar="LABELS", default="", help="Selector (label query) to filter on, e.g. app=shop."
)
@group_option
@click.option("-a", "--all", "everything", is_flag=True, help="List replicas and runs on separate lines.")
@output_option("json", "yaml", "name", "wide")
@server_options
def ps(
    names: tuple[str, ...], selector: str, groups: tuple[str, ...], everything: bool, form: Form, server: Server
) -> None:
    """List workloads and their status: the named ones, or all.

    The WHY column shows the reason if a workload is not ready: unmet dependencies, a failing probe, or the exit status
    and the time of the next restart.
    """
    run(_ps(server, names, selector, groups, everything, form))


async def _ps(
    server: Server, names: tuple[str, ...], selector: str, groups: tuple[str, ...], everything: bool, form: Form
) -> None:
    from setpoint.cli.workloads.inventory import find_all, in_groups, read_workloads

    async with connect(server) as client:
        workloads = find_all(in_groups(await read_workloads(client, labels=selector), groups), names)
        now = client.clock.now()
    if not form.is_table:
        trees = [each.tree for workload in workloads for each in (workload, *(workload.children if everything else ()))]
        write_objects(trees, form, as_list=True)
        return
    if not workloads:
        echo("No workloads found.", err=True)
        return
    place = terminal()
    place.echo("\n".join(ps_lines(workloads, now, place, everything=everything, wide=form.name == "wide")))


def ps_lines(
    workloads: "list[Workload]", now: "datetime", place: Terminal, *, everything: bool = False, wide: bool = False
) -> list[str]:
    """Returns the lines of the table, with URLs and reasons."""
    from setpoint.cli.output.table import render_with_texts

    shown = [(workload, "") for workload in workloads]
    if everything:
        shown = [
            found for workload in workloads for found in ((workload, ""), *((each, "  ") for each in workload.children))
        ]
    texts = {
        "URL": [" ".join(workload.urls) for workload, _ in shown],
        "WHY": [workload.judgement.why for workload, _ in shown],
    }
    rows = [_row(workload, indent, now) for workload, indent in shown]
    return render_with_texts(_HEADERS, rows, texts, place._replace(width=None) if wide else place)


def _row(workload: "Workload", indent: str, now: "datetime") -> list[Any]:
    from setpoint.cli.objects.tables import age
    from setpoint.cli.output.table import Cell

    judgement = workload.judgement
    return [
        f"{indent}{workload.called}",
        f"Executable ×{workload.replicas}" if workload.kind == "ExecutableReplicaSet" else workload.kind,
        Cell(judgement.state, judgement.meaning),
        workload.ready,
        str(workload.restarts),
        age(workload.tree["metadata"].get("creationTimestamp"), now),
    ]
