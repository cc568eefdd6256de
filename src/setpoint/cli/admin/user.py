"""`setpoint user`: creates a kubeconfig for a user, with a client certificate signed by the server's certificate
authority.
"""

from pathlib import Path

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure

# All slow modules are imported when needed, so that --help is fast.

_NANOSECONDS = 1_000_000_000


@click.command()
@click.argument("name")
@click.option("--group", "groups", metavar="GROUP", multiple=True, help="Group of the user (repeatable).")
@click.option(
    "--for",
    "duration",
    metavar="DURATION",
    default="8760h",
    show_default=True,
    help="Validity of the certificate, e.g. 12h or 30m.",
)
@click.option(
    "--data",
    metavar="DIR",
    required=True,
    help="Data directory of the server (its --data), which holds the certificate authority.",
)
@click.option("--server", metavar="URL", help="URL of the server. [default: from the kubeconfig in DIR]")
@click.option("--output", "-o", metavar="PATH", help="Write the kubeconfig to this file instead of standard output.")
def user(name: str, groups: tuple[str, ...], duration: str, data: str, server: str | None, output: str | None) -> None:
    """Create a kubeconfig for user NAME.

    The user authenticates with a client certificate. The command signs the certificate with the server's certificate
    authority in the data directory; the server need not be running. The permissions of the user come from RBAC roles.
    """
    from datetime import timedelta

    from setpoint.objects.clock import SystemClock
    from setpoint.objects.duration import parse
    from setpoint.server import secret_files
    from setpoint.server.edge.certificates import CertificateError
    from setpoint.server.edge.identity import kept_authority
    from setpoint.server.edge.kubeconfig import KEPT, is_ours, kubeconfig

    try:
        lifetime = timedelta(seconds=parse(duration) / _NANOSECONDS)
    except ValueError as error:
        raise Failure(f"--for {duration}: {error}") from None
    if lifetime <= timedelta():
        raise Failure(f"--for {duration}: expected a positive duration, e.g. 12h")
    directory, now = Path(data), SystemClock().now()
    try:
        authority = kept_authority(directory, now)
        pair = authority.issue_client(name, groups, now, lifetime)
    except FileNotFoundError:
        raise Failure(
            f"no certificate authority in {directory}: pass the data directory (--data) of a server"
        ) from None
    except (CertificateError, OSError) as error:
        raise Failure(str(error)) from None
    text = kubeconfig(
        server or _server_of(directory),
        authority=authority.pair.certificate,
        certificate=pair.certificate,
        key=pair.key,
        user=name,
        mark=KEPT,
    )
    if output is None:
        echo(text, nl=False)
        return
    path = Path(output)
    try:
        if path.exists() and not is_ours(path.read_text(errors="replace")):
            raise Failure(f"{path} exists and was not written by Setpoint; choose another file")
        secret_files.write(path, text.encode())
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from None
    echo(f"kubeconfig: {output}", err=True)


def _server_of(directory: Path) -> str:
    """Returns the server URL in the administrator's kubeconfig. Raises ClickException."""
    from setpoint.objects import yamltext
    from setpoint.objects.errors import APIError

    path = directory / "kubeconfig"
    try:
        tree = yamltext.load(path.read_bytes()).tree
        server = tree["clusters"][0]["cluster"]["server"]
    except (OSError, APIError, KeyError, IndexError, TypeError):
        server = None
    if not isinstance(server, str):
        raise Failure(f"no server URL in {path}: pass --server https://HOST:PORT")
    return server
