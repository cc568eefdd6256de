"""`setpoint kubeconfig`: where the kubeconfig of the server is, for kubectl and everything else."""

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, find, server_options
from setpoint.cli.support.errors import NO_SERVER, Failure


@click.command()
@click.option("--print", "contents", is_flag=True, help="Print what is in it. It holds credentials.")
@server_options
def kubeconfig(contents: bool, server: Server) -> None:
    """Print where the kubeconfig of the server is.

    \b
      kubectl --kubeconfig "$(setpoint kubeconfig)" get pods
      export KUBECONFIG="$(setpoint kubeconfig)"
    """
    found = find(server)
    for path in found.paths:
        try:
            echo(path.read_text("utf-8") if contents else str(path.absolute()), nl=not contents)
        except OSError as error:
            raise Failure(f"{path} cannot be read: {error.strerror} (found by {found.by})", NO_SERVER) from None
