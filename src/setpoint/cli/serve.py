"""`setpoint serve`: the API server, until it is told to stop."""

import asyncio
import gc
import logging
import os
import sys
from pathlib import Path
from typing import NamedTuple

import click

from setpoint import process

# Everything heavy is imported by `_serve`: a mistake on the command line, or --help, should not have to wait for it.

_LOOPBACK = ("localhost", "127.", "::1")


class Options(NamedTuple):
    """What the command line asks for."""

    host: str
    port: int
    store: str
    kubeconfig: Path
    data: Path | None
    token: str
    unix: Path | None
    names: tuple[str, ...]
    plain_http: bool


@click.command()
@click.option(
    "--listen", metavar="HOST:PORT", default="127.0.0.1:6443", show_default=True, help="Where; port 0 picks a free one."
)
@click.option("--store", metavar="STORE", default="memory", show_default=True, help="memory, sqlite:PATH or etcd:URL.")
@click.option(
    "--kubeconfig", metavar="PATH", help="The kubeconfig to write; by default in DIR, or in the user's state."
)
@click.option("--data", metavar="DIR", help="Where authority and token are kept; by default beside the SQLite file.")
@click.option("--token", envvar="SETPOINT_TOKEN", default="", help="The administrator's token; or set SETPOINT_TOKEN.")
@click.option("--unix", metavar="PATH", help="Serve at a unix socket as well.")
@click.option(
    "--tls-san", "names", metavar="NAME", multiple=True, help="What else clients call the server; repeatable."
)
@click.option("--plain-http", is_flag=True, help="Without TLS; on loopback addresses only.")
def serve(
    listen: str,
    store: str,
    kubeconfig: str | None,
    data: str | None,
    token: str,
    unix: str | None,
    names: tuple[str, ...],
    plain_http: bool,
) -> None:
    """Serve the Kubernetes API.

    When it serves it prints one line, `ready https://HOST:PORT`, and has written a kubeconfig for its administrator.
    SIGTERM or Ctrl-C stops it: requests are finished and watches ended. A second one does not wait for them.
    """
    host, port = _address(listen)
    if plain_http and not host.startswith(_LOOPBACK):
        raise click.ClickException(f"--plain-http is for loopback addresses, and {host} is none: leave it out")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise click.ClickException("--token: a token is made of printable ASCII characters without spaces")
    written = Path(kubeconfig) if kubeconfig else _default_kubeconfig(data)
    options = Options(host, port, store, written, _path(data), token, _path(unix), names, plain_http)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.exit(process.run(lambda stop: _serve(options, stop)))


async def _serve(options: Options, stop: asyncio.Event) -> None:
    from setpoint.plane import ControlPlane, PlaneError
    from setpoint.store.contract import StoreError

    try:
        async with ControlPlane(options.store, data=options.data, token=options.token) as plane:
            try:
                url = await plane.listen(options.host, options.port, tls=not options.plain_http, names=options.names)
            except OSError as error:
                where = f"{options.host}:{options.port}"
                raise click.ClickException(f"cannot listen at {where}: {_reason(error)}") from error
            if options.unix is not None:
                await plane.listen_unix(options.unix)
            plane.write_kubeconfig(options.kubeconfig)
            click.echo(f"kubeconfig: {options.kubeconfig}", err=True)
            click.echo(f"ready {url}")
            # What is there now stays: the collector need not look at it again and again.
            gc.freeze()
            await stop.wait()
    except (PlaneError, StoreError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(_reason(error)) from error


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or (":" in bare and bare == host) or not (port.isdecimal() and int(port) < 65536):
        raise click.ClickException(f"--listen {listen}: it should read HOST:PORT, such as 127.0.0.1:6443 or [::1]:0")
    return bare, int(port)


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _default_kubeconfig(data: str | None) -> Path:
    if data:
        return Path(data) / "kubeconfig"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "setpoint" / "kubeconfig"
