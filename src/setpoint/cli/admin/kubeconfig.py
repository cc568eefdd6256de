"""`setpoint kubeconfig`: prints the path of the server's kubeconfig, for kubectl and other clients."""

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, find, server_options
from setpoint.cli.support.errors import NO_SERVER, Failure


@click.command()
@click.option(
    "--print", "contents", is_flag=True, help="Print the contents instead of the path. They include credentials."
)
@server_options
def kubeconfig(contents: bool, server: Server) -> None:
    """Print the path of the server's kubeconfig.

    \b
      kubectl --kubeconfig "$(setpoint kubeconfig)" get pods
      export KUBECONFIG="$(setpoint kubeconfig)"
    """
    found = find(server)
    for path in found.paths:
        try:
            echo(path.read_text("utf-8") if contents else str(path.absolute()), nl=not contents)
        except OSError as error:
            raise Failure(f"cannot read {path}: {error.strerror} (found by {found.by})", NO_SERVER) from None
