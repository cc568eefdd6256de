"""`setpoint env`: shows the environment variables of a workload and their origin."""

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import Failure


@click.command()
@click.argument("name", shell_complete=workload_names)
@click.option("-a", "--all", "everything", is_flag=True, help="Include inherited variables.")
@click.option("--show-secrets", is_flag=True, help="Do not mask values that look like secrets.")
@output_option("json", "yaml")
@server_options
def env(name: str, everything: bool, show_secrets: bool, form: Form, server: Server) -> None:
    """Show the environment variables of a workload and their origin.

    The server does not disclose values from Secrets. Values that look like secrets (passwords, tokens, keys) are
    masked.
    """
    run(_env(server, name, everything, show_secrets, form))


async def _env(server: Server, name: str, everything: bool, show_secrets: bool, form: Form) -> None:
    from setpoint.cli.output.table import Cell, render
    from setpoint.cli.workloads.inventory import find, outputs, read_workloads
    from setpoint.past.environment_origins import variables_of

    async with connect(server) as client:
        [chosen, *_] = find(await read_workloads(client), name)
    running = outputs(chosen)
    if not running:
        raise Failure(f"{name} has no process yet, and thus no environment")
    variables = variables_of(running[0].tree, show_secrets=show_secrets)
    shown = [each for each in variables if everything or each["source"] != "inherited"]
    if form.name:
        write_tree(shown, form)
        return
    if not shown:
        echo(f"{name} sets no environment variables itself; use --all to include inherited ones.", err=True)
        return
    place = terminal()
    rows = [[each["name"], each["value"], Cell(each["from"], "quiet")] for each in shown]
    place.echo("\n".join(render(("NAME", "VALUE", "FROM"), rows, place)))
