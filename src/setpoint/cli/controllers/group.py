"""`setpoint controllers`: shows the status and logs of an app's controllers."""

from typing import Any

import click

from setpoint.cli.controllers.migrate import migrate
from setpoint.cli.controllers.production import image, manifests, rbac
from setpoint.cli.controllers.run import run as run_command
from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.table import Cell, render_with_texts
from setpoint.cli.output.terminal import Terminal, echo, terminal
from setpoint.cli.support.completion import controller_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.objects.tree import Object

_HEADERS = ("NAME", "KIND", "STATE", "QUEUE", "RATE/min", "p50", "p99", "ERR%", "LAG")
_NOTHING = (
    "No controllers are running. Create one with `setpoint new controller NAME`; use --all to show built-in "
    "controllers."
)


@click.group(invoke_without_command=True)
@click.option("-A", "--all", "with_own", is_flag=True, help="Include the built-in controllers of the control plane.")
@output_option("json", "yaml", "name", "wide")
@server_options
@click.pass_context
def controllers(ctx: click.Context, with_own: bool, form: Form, server: Server) -> None:
    """Show the status of the app's controllers: queue length, reconcile rate and duration, errors and notes.

    RATE/min, p50, p99 and ERR% cover the last reconciles; LAG is the longest time that a queued object has been
    waiting.
    """
    ctx.obj = server
    if ctx.invoked_subcommand is None:
        run(_show(server, form, with_own=with_own))


@controllers.command("list")
@click.option("-A", "--all", "with_own", is_flag=True, help="Include the built-in controllers of the control plane.")
@output_option("json", "yaml", "name", "wide")
@server_options
def list_(with_own: bool, form: Form, server: Server) -> None:
    """Show the status of controllers, like `setpoint controllers`."""
    run(_show(server, form, with_own=with_own))


@controllers.command()
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=controller_names)
@click.option("-f", "--follow", is_flag=True, help="Follow the log output.")
@click.option(
    "--tail", metavar="LINES", type=click.IntRange(min=1), help="Number of lines to show from the end of each log."
)
@seconds_option("--since", help="Show logs since a relative time, such as 30s, 5m or 1h.")
@click.option("-t", "--timestamps", is_flag=True, help="Include timestamps on each line.")
@click.option(
    "--prefix/--no-prefix",
    default=None,
    help="Prefix each line with the controller's name. [default: if there are several]",
)
@server_options
def logs(names: tuple[str, ...], server: Server, **how: Any) -> None:
    """Print the logs and lifecycle events of controllers: of the named ones, or of all.

    `setpoint logs controllers/NAME` is equivalent.
    """
    from setpoint.cli.workloads.log_selection import DEFAULTS
    from setpoint.cli.workloads.logs import CONTROLLERS, print_logs

    chosen = tuple(f"{CONTROLLERS}{name}" for name in names or ("",))
    others = {"selector": "", "source": "all", "container": "", **DEFAULTS}
    run(print_logs(server, chosen, {**how, **others}))


async def _show(server: Server, form: Form, *, with_own: bool) -> None:
    from setpoint.cli.controllers.controller_status import read_controllers

    async with connect(server) as client:
        known = await read_controllers(client)
    rows = [*known.hosted, *(known.built_in if with_own else ())]
    if form.name == "name":
        for row in rows:
            echo(row["name"])
    elif not form.is_table:
        write_tree(rows, form)
    elif not rows:
        echo(_NOTHING, err=True)
    else:
        place = terminal()
        place.echo(table(rows, place, wide=form.name == "wide"))


def table(rows: list[Object], place: Terminal, *, wide: bool = False) -> str:
    """Returns the table as text. With `wide`, includes the file of each controller."""
    headers = (*_HEADERS, "FROM") if wide else _HEADERS
    cells = [[*_cells(row, wide=wide), *([row["module"] or "built-in"] if wide else [])] for row in rows]
    return "\n".join(render_with_texts(headers, cells, {"NOTE": [row["note"] for row in rows]}, place))


def _cells(row: Object, *, wide: bool) -> list[str | Cell]:
    has_run = row["p99Seconds"] > 0
    errors = round(row["errorPercent"])
    return [
        row["name"],
        row["kind"] if wide else row["kind"].partition(".")[0],
        row["state"],
        str(row["queue"]),
        f"{row['ratePerMinute']:.0f}",
        _duration(row["p50Seconds"]) if has_run else "–",
        _duration(row["p99Seconds"]) if has_run else "–",
        Cell(str(errors), "bad" if errors else ""),
        _duration(row["lagSeconds"]) if row["lagSeconds"] >= 0.001 else "0",
    ]


def _duration(seconds: float) -> str:
    """Returns a short duration for a column: 3ms, 1.2s, 2m."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.1f}ms" if seconds < 0.00995 else f"{seconds * 1000:.0f}ms"
    return f"{seconds:.1f}s" if seconds < 99.5 else f"{seconds / 60:.0f}m"


# The files that install an operator, and its run on a cluster.
for _command in (rbac, manifests, image, run_command, migrate):
    controllers.add_command(_command)
