"""`setpoint dashboard`: prints a link that opens the dashboard once, and its address."""

import os
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, find, run, server_options
from setpoint.cli.support.errors import Failure

if TYPE_CHECKING:
    from setpoint.cli.support.connection import ServerLocation
    from setpoint.client.client import Client

_PATH = "/apis/setpoint.dev/v1/dashboardlogins"
# The lifetime of the link that `setpoint up` shows.
UP_SECONDS = 3600


@click.command()
@click.option("--open", "is_opened", is_flag=True, help="Also open the link in the browser.")
@server_options
def dashboard(is_opened: bool, server: Server) -> None:
    """Print a link to the dashboard. The link opens one session of a browser, within ten minutes.

    The session has the rights of the user of the kubeconfig.

    \b
      setpoint dashboard
      setpoint dashboard --session shop
    """
    link = run(_link(server))
    echo(link)
    if is_opened and click.launch(link) != 0:
        raise Failure("cannot open a browser: open the link manually")


async def _link(server: Server) -> str:
    found = find(server)
    async with connect(server) as client:
        base = found.session.dashboard if found.session is not None else ""
        return await login_link(client, base or _address(found, server))


async def login_link(client: "Client", base: str, seconds: int = 0) -> str:
    """Returns a link to the dashboard at an address. Raises APIError."""
    import msgspec

    body = msgspec.json.encode({"spec": {"ttlSeconds": seconds} if seconds else {}})
    answer = await client.raw("POST", _PATH, headers={"content-type": "application/json"}, body=body)
    path: str = msgspec.json.decode(answer.body)["status"]["path"]
    return urljoin(base, path)


def _address(found: "ServerLocation", server: Server) -> str:
    """Returns the address of a server in its kubeconfig."""
    from setpoint.client.kubeconfig import load
    from setpoint.objects.clock import SystemClock

    endpoint = load(found.paths).connection(server.context, os.environ, SystemClock()).endpoint
    return f"{'https' if endpoint.tls is not None else 'http'}://{endpoint.authority}"
