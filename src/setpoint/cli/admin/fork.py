"""`setpoint fork`: creates a copy of a control plane at a revision, and prints a kubeconfig for the copy."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.admin.kubeconfig_file import write_kubeconfig
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, find, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_PATH = "/apis/setpoint.dev/v1/forks"


@click.command()
@click.option("--at", "when", metavar="WHEN", default="", help="Revision or time, such as 218, 14:03 or 5m (ago).")
@seconds_option("--for", "seconds", help="Time after which the fork ends, e.g. 30m. [default: 10m]")
@click.option("--output", "-o", metavar="PATH", help="Write the kubeconfig to this file instead of standard output.")
@click.option("--list", "is_list", is_flag=True, help="List the forks.")
@click.option("--delete", "name", metavar="NAME", default="", help="Delete a fork.")
@server_options
def fork(when: str, seconds: float | None, output: str | None, is_list: bool, name: str, server: Server) -> None:
    """Copy the control plane, and print a kubeconfig for the copy.

    The copy has the objects of the current or of an earlier moment with their past, and runs in the memory of the
    server until its time is over. Changes in the copy have no effect on the original. Workloads are not copied. This
    command is for administrators: the copy shows the whole past.

    \b
      setpoint fork --at 5m > before.kubeconfig
      kubectl --kubeconfig before.kubeconfig delete deployment web
      setpoint fork --list
      setpoint fork --delete fork-x2x4q
    """
    if is_list:
        for each in run(_send(server, "GET", _PATH))["items"]:
            status = each["status"]
            echo(f"{each['metadata']['name']}  revision {each['spec']['revision']}  until {status['expires']}")
        return
    if name:
        run(_send(server, "DELETE", f"{_PATH}/{name}"))
        echo(f"deleted {name}", err=True)
        return
    made = run(_created(server, when, seconds))
    text = _kubeconfig(server, made["status"]["path"])
    if output is None:
        echo(text, nl=False)
    else:
        write_kubeconfig(Path(output), text)
    found = made["metadata"]["name"], made["spec"]["revision"], made["status"]["expires"]
    echo("created {} at revision {}, until {}".format(*found), err=True)


async def _send(server: Server, method: str, path: str) -> Any:
    async with connect(server) as client:
        return await _answer(client, method, path)


async def _answer(client: "Client", method: str, path: str, body: "Object | None" = None) -> Any:
    import msgspec

    content, headers = (msgspec.json.encode(body), {"content-type": "application/json"}) if body else (b"", {})
    return msgspec.json.decode((await client.raw(method, path, headers=headers, body=content)).body)


async def _created(server: Server, when: str, seconds: float | None) -> Any:
    from setpoint.cli.past import target
    from setpoint.past.queries import revision_at

    async with connect(server) as client:
        spec: dict[str, Any] = {}
        if seconds is not None:
            spec["ttlSeconds"] = max(int(seconds), 1)
        if when:
            with target.history_failures():
                moment = target.Times.of(client).moment(when)
                found = await revision_at(client, moment) if moment is not None else None
            if found is not None:
                spec["revision"] = str(found)
        return await _answer(client, "POST", _PATH, {"spec": spec})


def _kubeconfig(server: Server, path: str) -> str:
    """Returns the selected context of the user's kubeconfig, with the address of the fork."""
    from setpoint.client.connection_config import ConfigError
    from setpoint.client.kubeconfig import load
    from setpoint.objects import yamltext
    from setpoint.server.edge.kubeconfig import KEPT

    try:
        return KEPT + yamltext.dump(load(find(server).paths).below(server.context, path))
    except ConfigError as error:
        raise Failure(str(error)) from None
