"""`setpoint user`: makes a kubeconfig for somebody, by a certificate that the authority of a server signs."""

from pathlib import Path

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure

# Everything heavy is imported when it is needed: --help should not have to wait for it.

_NANOSECONDS = 1_000_000_000


@click.command()
@click.argument("name")
@click.option("--group", "groups", metavar="GROUP", multiple=True, help="A group of the user; repeatable.")
@click.option(
    "--for", "duration", metavar="DURATION", default="8760h", show_default=True, help="How long it is good: 12h, 30m."
)
@click.option("--data", metavar="DIR", required=True, help="Where the server keeps its authority: its own --data.")
@click.option("--server", metavar="URL", help="Where the server is; by default what the kubeconfig in DIR says.")
@click.option("--output", "-o", metavar="PATH", help="The file to write; by default it is printed.")
def user(name: str, groups: tuple[str, ...], duration: str, data: str, server: str | None, output: str | None) -> None:
    """Make a kubeconfig for user NAME.

    The user proves who it is by a certificate, which the server's own authority signs here and now: that takes the
    directory where a server started with --data keeps it, and no running server. What the user may do is for roles to
    say.
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
        raise Failure(f"--for {duration}: it should be more than nothing, such as 12h")
    directory, now = Path(data), SystemClock().now()
    try:
        authority = kept_authority(directory, now)
        pair = authority.issue_client(name, groups, now, lifetime)
    except FileNotFoundError:
        raise Failure(
            f"{directory} holds no authority: name the directory of a server that was started with --data"
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
            raise Failure(f"{path} holds what is not ours; it is left as it is. Choose another file")
        secret_files.write(path, text.encode())
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from None
    echo(f"kubeconfig: {output}", err=True)


def _server_of(directory: Path) -> str:
    """The address in the administrator's kubeconfig. Raises ClickException."""
    from setpoint.objects import yamltext
    from setpoint.objects.errors import APIError

    path = directory / "kubeconfig"
    try:
        tree = yamltext.load(path.read_bytes()).tree
        server = tree["clusters"][0]["cluster"]["server"]
    except (OSError, APIError, KeyError, IndexError, TypeError):
        server = None
    if not isinstance(server, str):
        raise Failure(f"{path} does not say where the server is: say so with --server https://HOST:PORT")
    return server
