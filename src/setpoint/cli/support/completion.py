"""Shell completion of kinds and names by asking the server. Offers no completions if the server is missing or slow."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.support.connection import Server, connect, run

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from setpoint.client.client import Client

# A blocked shell is worse than missing completions.
_PATIENCE_SECONDS = 2.0


def _server(ctx: click.Context) -> Server:
    given = Server(*(ctx.params.get(name) or "" for name in Server._fields))
    outer = ctx.find_object(Server)
    return given.over(outer) if outer is not None else given


def _complete(ctx: click.Context, ask: "Callable[[Client], Any]", incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    async def answer() -> list[str]:
        async with connect(_server(ctx), quiet=True) as client:
            found: list[str] = await ask(client.with_options(timeout=_PATIENCE_SECONDS))
            return found

    try:
        return [CompletionItem(each) for each in run(answer()) if each.startswith(incomplete)]
    except Exception:
        return []


async def _kinds(client: "Client") -> list[str]:
    from setpoint.cli.support.resource_args import Kinds

    return sorted({each.plural for each in (await Kinds.of(client)).listable()})


async def _names(client: "Client", word: str) -> list[str]:
    from setpoint.cli.support.resource_args import Kinds
    from setpoint.client.kinds import KindRef

    resource = (await Kinds.of(client)).one(word)
    if resource is None:
        return []
    listed = await client.list(KindRef(resource.gvk, metadata_only=True))
    return [each["metadata"]["name"] for each in listed.items]


async def _talking(client: "Client") -> list[str]:
    from setpoint.cli.controllers.controller_status import read_controllers

    return (await read_controllers(client)).logs


def controller_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completes names of controllers with logs."""
    return _complete(ctx, _talking, incomplete)


def kinds_and_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completes kinds first, then names of that kind; also names after `KIND/`."""
    given = ctx.params.get(param.name or "") or ()
    word, slash, _ = incomplete.partition("/")
    if slash:

        async def pairs(client: "Client") -> list[str]:
            return [f"{word}/{name}" for name in await _names(client, word)]

        return _complete(ctx, pairs, incomplete)
    if given and "/" not in given[0]:
        return _complete(ctx, lambda client: _names(client, given[0]), incomplete)
    return _complete(ctx, _kinds, incomplete)


def workload_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completes names of workloads, and of replicas by number."""

    async def names(client: "Client") -> list[str]:
        from setpoint.cli.workloads.inventory import read_workloads

        workloads = await read_workloads(client)
        replicas = {child.called for each in workloads if each.kind != "Task" for child in each.children}
        return sorted({each.called for each in workloads} | replicas)

    return _complete(ctx, names, incomplete)


def task_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completes names of tasks."""

    async def names(client: "Client") -> list[str]:
        return await _names(client, "tasks.setpoint.dev")

    return _complete(ctx, names, incomplete)
