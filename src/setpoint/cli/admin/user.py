"""`setpoint user`: creates a kubeconfig for a user, with a client certificate that the server signs, or that its
certificate authority signs without the server.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.admin.kubeconfig_file import write_kubeconfig
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, run, server_options
from setpoint.cli.support.errors import Failure

if TYPE_CHECKING:
    from datetime import timedelta

    from setpoint.cli.admin.signed_user import SignedUser

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
    default="",
    help="Data directory of a server (its --data) that is not running: sign with its certificate authority.",
)
@click.option("--server", "url", metavar="URL", help="URL of the server in the kubeconfig. [default: as selected]")
@click.option("--output", "-o", metavar="PATH", help="Write the kubeconfig to this file instead of standard output.")
@server_options
def user(
    name: str,
    groups: tuple[str, ...],
    duration: str,
    data: str,
    url: str | None,
    output: str | None,
    server: Server,
) -> None:
    """Create a kubeconfig for user NAME.

    The user authenticates with a client certificate, which the selected server signs: the command creates and
    approves a CertificateSigningRequest, as on any Kubernetes cluster. With --data, the command signs the certificate
    itself. The permissions of the user come from RBAC roles.

    \b
      setpoint user jane --group dev > jane.kubeconfig
    """
    from datetime import timedelta

    from setpoint.objects.duration import parse
    from setpoint.server.edge.kubeconfig import KEPT, kubeconfig

    try:
        lifetime = timedelta(seconds=parse(duration) / _NANOSECONDS)
    except ValueError as error:
        raise Failure(f"--for {duration}: {error}") from None
    if lifetime <= timedelta():
        raise Failure(f"--for {duration}: expected a positive duration, e.g. 12h")
    if data:
        signed = _signed_here(Path(data), name, groups, lifetime, url)
    else:
        from setpoint.cli.admin.signed_user import signed_user

        signed = run(signed_user(server, name, groups, lifetime))
    text = kubeconfig(
        url or signed.server,
        authority=signed.authority,
        certificate=signed.certificate,
        key=signed.key,
        user=name,
        mark=KEPT,
    )
    if output is None:
        echo(text, nl=False)
        return
    write_kubeconfig(Path(output), text)
    echo(f"kubeconfig: {output}", err=True)


def _signed_here(
    directory: Path, name: str, groups: tuple[str, ...], lifetime: "timedelta", url: str | None
) -> "SignedUser":
    """Signs a certificate with the authority in a data directory. Raises Failure."""
    from setpoint.cli.admin.signed_user import SignedUser
    from setpoint.objects.clock import SystemClock
    from setpoint.server.edge.certificates import CertificateError
    from setpoint.server.edge.identity import kept_authority

    now = SystemClock().now()
    try:
        authority = kept_authority(directory, now)
        pair = authority.issue_client(name, groups, now, lifetime)
    except FileNotFoundError:
        raise Failure(
            f"no certificate authority in {directory}: pass the data directory (--data) of a server"
        ) from None
    except (CertificateError, OSError) as error:
        raise Failure(str(error)) from None
    return SignedUser(url or _server_of(directory), authority.pair.certificate, pair.certificate, pair.key)


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
