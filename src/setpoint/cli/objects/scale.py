"""`setpoint scale`: sets the number of replicas of any kind with a scale subresource."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import CONFLICT, NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.cli.support.resource_args import Kinds, Selection
    from setpoint.client.client import Client

_SCALE = "scale"


@click.command()
@click.argument("what", metavar="NAME=REPLICAS... | KIND/NAME...", nargs=-1, required=True,
                shell_complete=kinds_and_names)  # fmt: skip
@click.option("--replicas", metavar="NUMBER", type=click.IntRange(min=0), help="New desired number of replicas.")
@click.option(
    "--current-replicas", metavar="NUMBER", type=int, help="Precondition: current desired number of replicas."
)
@server_options
def scale(what: tuple[str, ...], replicas: int | None, current_replicas: int | None, server: Server) -> None:
    """Set the number of replicas.

    \b
      setpoint scale api=3 worker=1
      setpoint scale api --replicas=3
      setpoint scale --replicas=3 deployment/web executablereplicaset/api
    """
    run(_scale(server, what, replicas, current_replicas))


async def _scale(server: Server, what: tuple[str, ...], replicas: int | None, current: int | None) -> None:
    from setpoint.cli.support.resource_args import Kinds

    async with connect(server) as client:
        kinds = await Kinds.of(client)
        for selection, name, number in await _wanted(client, kinds, what, replicas):
            if _SCALE not in selection.resource.subresources:
                raise Failure(_no_scale(kinds, selection), USAGE)
            await _scale_one(client, selection, name, number, current)


async def _wanted(
    client: "Client", kinds: "Kinds", what: tuple[str, ...], replicas: int | None
) -> "list[tuple[Selection, str, int]]":
    from setpoint.cli.support.resource_args import select

    if not any("=" in each for each in what):
        if replicas is None:
            raise Failure("specify the number of replicas as NAME=NUMBER or --replicas=NUMBER", USAGE)
        if "/" not in what[0] and kinds.one(what[0]) is None:
            return [(*await _named(client, kinds, name), replicas) for name in what]
        return [(each, name, replicas) for each in select(kinds, what, needs_names=True) for name in each.names]
    if replicas is not None:
        raise Failure("--replicas cannot be combined with NAME=NUMBER", USAGE)
    found = []
    for each in what:
        name, equals, number = each.partition("=")
        if not equals or not number.isdecimal():
            raise Failure(f"invalid argument {each!r}: expected NAME=NUMBER, e.g. api=3", USAGE)
        found.append((*await _named(client, kinds, name), int(number)))
    return found


async def _named(client: "Client", kinds: "Kinds", name: str) -> "tuple[Selection, str]":
    """Finds the scalable object of this name; KIND/NAME selects the kind."""
    from setpoint.cli.support.resource_args import select
    from setpoint.objects.errors import APIError

    if "/" in name:
        [selection] = select(kinds, [name])
        return selection, selection.names[0]
    having = []
    for resource in kinds.listable():
        if _SCALE in resource.subresources:
            selection = kinds.selection(resource, (name,))
            try:
                await client.get(selection.ref, name)
                having.append(selection)
            except APIError:
                continue
    if not having:
        raise await _not_scalable(client, kinds, name)
    if len(having) > 1:
        options = ", ".join(f"{each.word}/{name}" for each in having)
        raise Failure(f"{name} is ambiguous: specify one of {options}", USAGE)
    return having[0], name


async def _not_scalable(client: "Client", kinds: "Kinds", name: str) -> Failure:
    """Returns the Failure for a name without a scalable object, with a hint for parts of an app."""
    from setpoint.objects import meta
    from setpoint.objects.errors import APIError
    from setpoint.workload.kinds.api_names import APP_LABEL

    for kind, what in _SINGLE.items():
        resource = kinds.one(kind)
        if resource is None:
            continue
        try:
            tree = await client.get(kinds.selection(resource).ref, name)
        except APIError:
            continue
        hint = _REMEDIES.get(kind, "") if APP_LABEL in meta.labels(tree) else ""
        return Failure(f"{name} is {what}, which cannot be scaled{hint.format(name)}", USAGE)
    return Failure(f"no scalable object named {name}", NOT_FOUND)


_SINGLE = {"executable": "a single process", "container": "a single container", "task": "a task"}
_REMEDIES = {
    "executable": (
        ": add `replicas: 1` under services.{} in the app file and run `setpoint up` to make the service scalable"
    )
}


def _no_scale(kinds: "Kinds", selection: "Selection") -> str:
    scalable = sorted({kinds.word_for(each) for each in kinds.listable() if _SCALE in each.subresources})
    hint = " An Executable is a single process; use an ExecutableReplicaSet." if selection.word == "executable" else ""
    return f"{selection.word} cannot be scaled.{hint} Scalable kinds: {', '.join(scalable)}"


async def _scale_one(client: "Client", selection: "Selection", name: str, number: int, current: int | None) -> None:
    before = await client.scale(selection.ref, name)
    had = before.get("spec", {}).get("replicas", 0)
    if current is not None and had != current:
        raise Failure(f"{selection.word}/{name} has {had} desired replicas, expected {current}: not changed", CONFLICT)
    await client.scale(selection.ref, name, replicas=number)
    place = terminal()
    place.echo(f"{selection.word}/{name} {place.paint('scaled', 'good')} from {had} to {number}")
