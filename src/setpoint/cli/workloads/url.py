"""`setpoint url` and `setpoint open`: print or open the URLs of services."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import FAILED, NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object


@click.command()
@click.argument("name", required=False, shell_complete=workload_names)
@server_options
def url(name: str | None, server: Server) -> None:
    """Print the URL of a service, or of the only service of a workload. Without NAME, lists all URLs.

    \b
      curl "$(setpoint url web)/healthz"
    """
    run(_url(server, name))


async def _url(server: Server, name: str | None) -> None:
    async with connect(server) as client:
        known = await _urls(client, replicas=name is not None)
    place = terminal()
    if name is None:
        if not known:
            echo("No services found.", err=True)
            return
        from setpoint.cli.output.table import render

        rows = [[service, address or "no address yet"] for service, address in sorted(known.items())]
        place.echo("\n".join(render(("NAME", "URL"), rows, place)))
        return
    place.echo(_one(known, name))


def _one(known: dict[str, str], name: str) -> str:
    if name not in known:
        hint = f"available: {', '.join(sorted(known))}" if known else "there are no services"
        raise Failure(f"no service or workload with a service named {name}; {hint}", NOT_FOUND)
    if not known[name]:
        raise Failure(f"{name} has no address yet: no process serves it; see `setpoint ps`", FAILED)
    return known[name]


async def _urls(client: "Client", *, replicas: bool = True) -> dict[str, str]:
    """Returns the URL of each service by name, and of each workload with only one service; with `replicas`, also of
    each replica."""
    from setpoint.cli.workloads.inventory import SERVICE, read_workloads, ref, url_of
    from setpoint.objects import meta

    workloads = await read_workloads(client)
    services = (await client.list(ref(SERVICE))).items
    found = {workload.name: workload.urls[0] for workload in workloads if len(workload.urls) == 1}
    urls_by_address = {address.partition("://")[2]: address for workload in workloads for address in workload.urls}
    for service in services:
        address = url_of(service)
        found[meta.name(service)] = urls_by_address.get(address.partition("://")[2], address)
    return found | (await _replica_urls(client, workloads, services) if replicas else {})


async def _replica_urls(client: "Client", workloads: "list[Workload]", services: "Sequence[Object]") -> dict[str, str]:
    """Returns the URL of each replica, by its number (api.2), at which its process listens."""
    from setpoint.cli.workloads.inventory import ref, url_of
    from setpoint.objects import meta

    replicas = {
        meta.uid(child.tree): child for each in workloads if each.kind != "Task" for child in (each, *each.children)
    }
    schemes = {meta.name(service): url_of(service).partition("://")[0] for service in services}
    found: dict[str, list[str]] = {}
    for endpoint in (await client.list(ref("Endpoint"))).items if replicas else ():
        for owner in meta.owner_references(endpoint):
            child = replicas.get(owner["uid"])
            if child is not None and child.called != child.name:
                spec = endpoint["spec"]
                scheme = schemes.get(spec["serviceName"]) or "tcp"
                found.setdefault(child.called, []).append(f"{scheme}://{spec['address']}:{spec['port']}")
    return {name: urls[0] for name, urls in found.items() if len(urls) == 1}


@click.command("open")
@click.argument("name", shell_complete=workload_names)
@click.option("--print", "only_print", is_flag=True, help="Print the URL without opening a browser.")
@server_options
def open_(name: str, only_print: bool, server: Server) -> None:
    """Open a service in the browser."""
    run(_open(server, name, only_print))


async def _open(server: Server, name: str, only_print: bool) -> None:
    async with connect(server) as client:
        address = _one(await _urls(client), name)
    # Users who open a browser expect HTTP, even if no probe or annotation says so.
    if address.startswith("tcp://"):
        address = f"http://{address.removeprefix('tcp://')}"
    echo(address)
    if not only_print and click.launch(address) != 0:
        raise Failure("cannot open a browser: open the URL manually")
