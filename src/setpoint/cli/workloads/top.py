"""`setpoint top`: shows the CPU and memory usage of workloads, including child processes."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.durations import seconds_option

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client
    from setpoint.workload.engine.engine import Engine
    from setpoint.workload.usage import Usage

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@click.command()
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=workload_names)
@seconds_option("--interval", default="300ms", help="Measurement interval.")
@click.option(
    "--sort", type=click.Choice(["name", "cpu", "memory"]), default="name", show_default=True, help="Sort order."
)
@output_option("json", "yaml")
@server_options
def top(names: tuple[str, ...], interval: float | None, sort: str, form: Form, server: Server) -> None:
    """Show the CPU and memory usage of workloads: of the named ones, or of all.

    100% is one CPU core. Processes include their descendants; the usage of containers comes from the container engine.
    Only this machine is measured, so that workloads of a remote server have no usage.
    """
    run(_top(server, names, interval or 0.3, sort, form))


async def _top(server: Server, names: tuple[str, ...], interval: float, sort: str, form: Form) -> None:
    from setpoint.cli.workloads.inventory import find_all, outputs, read_workloads

    async with connect(server) as client:
        workloads = find_all(await read_workloads(client), names)
        running = [each for workload in workloads for each in outputs(workload)]
        rows = await _measured(client, running, interval)
    if sort != "name":
        rows.sort(key=lambda row: -row[sort])
    if form.name:
        write_tree(rows, form)
        return
    if not rows:
        echo("No workloads are running on this machine.", err=True)
        return
    from setpoint.cli.output.table import render

    place = terminal()
    shown = [
        [row["name"], row["kind"], f"{row['cpu']:.0f}%", amount(row["memory"]), str(row["processes"])] for row in rows
    ]
    place.echo("\n".join(render(("NAME", "KIND", "CPU", "MEMORY", "PROCESSES"), shown, place)))


async def _measured(client: "Client", running: "list[Workload]", interval: float) -> list[dict[str, Any]]:
    """Measures the workloads twice and returns their usage; CPU is the difference between the two samples."""
    async with _engine(client, running) as engine:
        begun = client.clock.monotonic()
        before = await _sample(running, engine)
        await client.clock.sleep(interval)
        elapsed = client.clock.monotonic() - begun
        after = await _sample(running, engine)
    return [
        {
            "name": each.called,
            "kind": each.kind,
            "cpu": round(max(0.0, after[key].cpu - before[key].cpu) / elapsed * 100, 1),
            "memory": after[key].memory,
            "processes": after[key].processes,
        }
        for each in running
        if (key := (each.kind, each.name)) in before and key in after
    ]


async def _sample(running: "list[Workload]", engine: "Engine | None") -> "dict[tuple[str, str], Usage]":
    from setpoint.workload.usage import child_processes, container_usage, usage_of

    children = child_processes()
    found = {}
    for each in running:
        usage = None
        if each.kind == "Executable" and each.status.get("state") == "Running" and each.status.get("pid"):
            usage = usage_of(each.status["pid"], children)
        elif engine is not None and each.status.get("containerId"):
            usage = await container_usage(engine, each.status["containerId"])
        if usage is not None:
            found[(each.kind, each.name)] = usage
    return found


@asynccontextmanager
async def _engine(client: "Client", running: "list[Workload]") -> "AsyncIterator[Engine | None]":
    """Yields the container engine, or None if there are no containers."""
    if not any(each.kind == "Container" and each.status.get("containerId") for each in running):
        yield None
        return
    from setpoint.workload.engine.choice import Unavailable
    from setpoint.workload.engine.choice import connect as connect_engine

    engine = await connect_engine(client.clock, os.environ, starts=True)
    if isinstance(engine, Unavailable):
        echo(f"cannot measure containers: {engine.message}. {engine.remedy}", err=True)
        yield None
        return
    try:
        yield engine
    finally:
        await engine.close()


def amount(size: float) -> str:
    """Returns a human-readable number of bytes."""
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
