"""`setpoint mcp`: serves tools for coding assistants, and `setpoint mcp init`: tells an assistant about them."""

import gc
from pathlib import Path

import click

from setpoint.cli.mcp.client_configuration import CLIENTS, NAME, add, entry
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, server_options
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import FAILED, Failure

_WRITES = "--allow-writes"


@click.group(invoke_without_command=True)
@click.option(_WRITES, "writes", is_flag=True, help="Offer tools that apply objects, restart services and run tasks.")
@server_options
@click.pass_context
def mcp(ctx: click.Context, writes: bool, server: Server) -> None:
    """Serve the Model Context Protocol on the standard streams, for coding assistants.

    The tools are commands: state (ps, get), why, logs, traces (trace), telemetry_traces and telemetry_trace
    (telemetry), history, diff and apply, with the rights of the selected server's user. They only read, and apply
    performs dry runs, unless --allow-writes is given. Needs the extra mcp: pip install 'setpoint[mcp]'.

    \b
      setpoint mcp init
    """
    ctx.obj = server
    if ctx.invoked_subcommand is not None:
        return
    try:
        from setpoint.cli.mcp.server import build
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(("mcp", "pydantic")):
            raise
        raise Failure("setpoint mcp needs the package mcp: pip install 'setpoint[mcp]'", FAILED) from None
    gc.enable()
    build(server, writes=writes).run("stdio")


@mcp.command()
@click.option(
    "--client",
    "clients",
    type=click.Choice(sorted(CLIENTS)),
    multiple=True,
    help="The assistant to configure (repeatable). [default: those with a directory here, else claude]",
)
@click.option(_WRITES, "writes", is_flag=True, help="Let the assistant change objects, restart services and run tasks.")
@click.option("--force", is_flag=True, help="Replace an entry of the same name.")
@click.option("--print", "prints", is_flag=True, help="Print the entry, and write no file.")
@click.option("--session", metavar="APP", default="", help="App or id of the session. [default: that of the directory]")
@click.option("--kubeconfig", metavar="FILE", default="", help="Path to the kubeconfig file to use.")
def init(clients: tuple[str, ...], writes: bool, force: bool, prints: bool, session: str, kubeconfig: str) -> None:
    """Add this server to the configuration of an assistant, in the current directory.

    \b
      setpoint mcp init
      setpoint mcp init --client vscode --allow-writes
    """
    directory = Path(here())
    arguments = [f"--{name}={value}" for name, value in (("session", session), ("kubeconfig", kubeconfig)) if value]
    arguments += [_WRITES] if writes else []
    for name in clients or _present(directory):
        client = CLIENTS[name]
        if prints:
            import json

            echo(json.dumps({client.field: {NAME: entry(client, arguments)}}, indent=2))
        else:
            echo(f"{add(client, directory, arguments, replaces=force)} starts `setpoint mcp` for {name}")


def _present(directory: Path) -> list[str]:
    """Returns the clients that have a directory of their own here; by default, the first one."""
    found = [
        name for name, client in CLIENTS.items() if "/" in client.path and (directory / client.path).parent.is_dir()
    ]
    if (directory / CLIENTS["claude"].path).exists() or not found:
        found.insert(0, "claude")
    return found
