"""`setpoint version`: prints the client and server versions."""

from typing import Any

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, find, run, server_options
from setpoint.cli.support.errors import Failure
from setpoint.version import VERSION


@click.command()
@click.option("--client", "only_client", is_flag=True, help="Print the client version only; contact no server.")
@output_option("json", "yaml")
@server_options
def version(only_client: bool, form: Form, server: Server) -> None:
    """Print the client version, and the server version if a server can be reached."""
    known: dict[str, Any] = {"client": {"version": VERSION, **surroundings()}}
    problem = ""
    if not only_client:
        try:
            find(server)
            known["server"] = run(_server(server))
        except Failure as failure:
            problem = failure.message
    if form.name:
        write_tree(known, form)
        return
    echo(version_text())
    if "server" in known:
        echo(f"server   {known['server'].get('gitVersion', 'unknown')}")
    elif problem and any(server):
        raise Failure(problem)


def surroundings() -> dict[str, str]:
    """Returns the versions of Python and of the system."""
    import platform

    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def version_text() -> str:
    """Returns the version of Setpoint, Python and the system on one line."""
    return f"setpoint {VERSION} ({', '.join(surroundings().values())})"


async def _server(server: Server) -> Any:
    from setpoint.client.requests import decode

    async with connect(server) as client:
        return decode((await client.raw("GET", "/version", timeout=2.0)).body)
