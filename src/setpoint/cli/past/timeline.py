"""`setpoint timeline`: shows the changes of several objects in chronological order."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.past.object_ref import ObjectReference


@click.command()
@click.argument("what", metavar="[KIND/NAME | NAME]...", nargs=-1, shell_complete=kinds_and_names)
@target.moment_options
@click.option("--app", metavar="APP", default="", help="Show all objects of an app, by its label.")
@click.option("--only", is_flag=True, help="Exclude the dependents of the objects.")
@click.option("--no-headers", is_flag=True, help="Do not print headers.")
@output_option("json", "yaml", "wide", "name")
@server_options
def timeline(
    what: tuple[str, ...], server: Server, form: Form, since: str, until: str, app: str, only: bool, no_headers: bool
) -> None:
    """Show the changes of objects and their dependents, oldest first. Without arguments, shows all workloads.

    \b
      setpoint timeline --since 10m
      setpoint timeline deployment/web
      setpoint timeline api db
    """
    run(_timeline(what, server, form, since, until, app, only, not no_headers))


async def _timeline(
    what: tuple[str, ...], server: Server, form: Form, since: str, until: str, app: str, only: bool, headers: bool
) -> None:
    from setpoint.cli.past.history import write_table
    from setpoint.past.queries import current_user
    from setpoint.past.timeline import timeline

    async with connect(server) as client:
        with target.history_failures():
            times = target.Times.of(client)
            places = await _places(client, what, app, only)
            found = await timeline(client, places, since=times.moment(since), until=times.moment(until))
            me = await current_user(client)
    if form.name == "name":
        for revision in found:
            echo(f"{revision.number} {revision.place}")
    elif form.is_table:
        write_table(found, times, me, wide=form.name == "wide", headers=headers, with_object=True)
    else:
        write_tree({"kind": "Timeline", "items": [revision.to_json() for revision in found]}, form)


async def _places(client: "Client", what: tuple[str, ...], app: str, only: bool) -> "list[ObjectReference]":
    from setpoint.objects.errors import NotFound
    from setpoint.past.related_objects import Related

    related = Related(client, await client.mapper.resources(refresh=False))
    if app:
        return await related.of_app(app)
    if not what:
        return await related.workloads()
    found: list[ObjectReference] = []
    for words in _split(what):
        place = await target.find(client, words)
        found.append(place)
        if only:
            continue
        try:
            found += await related.owned(await client.get(place.kind, place.name, place.namespace), place)
        except NotFound:
            continue  # a deleted object has a history, but no dependents
    return found


def _split(what: tuple[str, ...]) -> "list[tuple[str, ...]]":
    """Returns one selection per word: `KIND/NAME` or a name."""
    return [(word,) for word in what]
