"""`setpoint wait`: waits until objects are ready, deleted, or have a condition or field value."""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import name_of
from setpoint.cli.output.terminal import terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import NOT_FOUND, TIMED_OUT, USAGE, Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from setpoint.cli.support.resource_args import Kinds, Selection
    from setpoint.client.client import Client

_READY = "ready"


@click.command()
@click.argument(
    "what", metavar="NAME... | KIND [NAME...] | KIND/NAME...", nargs=-1, required=True, shell_complete=kinds_and_names
)
@click.option(
    "--for", "conditions", metavar="CONDITION", multiple=True, default=(_READY,), show_default=True,
    help="ready, create, delete, condition=NAME[=STATUS], jsonpath={PATH}[=VALUE]; if repeated, all must hold.",
)  # fmt: skip
@seconds_option("--timeout", default="30s", help="Time to wait; 0 waits indefinitely.")
@click.option("-l", "--selector", metavar="LABELS", default="", help="Selector (label query) to filter on.")
@click.option("--all", "everything", is_flag=True, help="Select all objects of the kind in the namespace.")
@server_options
def wait(what: tuple[str, ...], conditions: tuple[str, ...], server: Server, **how: Any) -> None:
    """Wait for a condition on objects.

    An object is ready when it runs and is healthy, when it has completed successfully, or when its conditions say so,
    depending on the kind. On timeout, prints the objects that do not meet the condition and the reasons, and exits with
    code 4.

    \b
      setpoint wait api web
      setpoint wait exe/api --for=condition=Ready
      setpoint wait --for=delete pod/web --timeout=60s
      setpoint wait --for=jsonpath='{.status.state}'=Running exe --all
    """
    run(_wait(server, what, conditions, how))


async def _wait(server: Server, what: tuple[str, ...], conditions: tuple[str, ...], how: dict[str, Any]) -> None:
    from setpoint.cli.support.resource_args import Kinds, select
    from setpoint.client.wait import read_until

    try:
        tests = [_is_ready if each == _READY else read_until(_condition(each)) for each in conditions]
    except ValueError as error:
        raise Failure(f"--for: {str(error).replace('create, delete', 'ready, create, delete')}", USAGE) from None
    async with connect(server) as client:
        kinds = await Kinds.of(client)
        parts = await _parts(client, kinds, what)
        selections = parts if parts is not None else select(kinds, what)
        targets = await _targets(client, selections, how["selector"], how["everything"])
        if not targets:
            if "delete" in conditions:
                return
            raise Failure("no matching objects found", NOT_FOUND)
        await _wait_all(client, targets, " and ".join(conditions), tests, how["timeout"])


async def _parts(client: "Client", kinds: "Kinds", words: tuple[str, ...]) -> "list[Selection] | None":
    """Returns the parts of an app that the names select; None if the words are a kind. Raises Failure."""
    from setpoint.cli.support.resource_args import merged

    if any("/" in word or "," in word for word in words):
        return None
    if kinds.matching(words[0]):
        return None
    from setpoint.cli.workloads.inventory import find, read_workloads, ref

    if kinds.one(ref("Executable").gvk.kind) is None:
        return None
    workloads = await read_workloads(client)
    if not workloads:
        return None
    found = [each for word in words for each in find(workloads, word)]
    chosen = [(kinds.one(ref(each.kind).gvk.kind), each.name) for each in found]
    return merged(kinds.selection(kind, (name,)) for kind, name in chosen if kind is not None)


def _condition(text: str) -> str:
    """Removes the quotes that a shell may leave in `jsonpath='{…}'`."""
    return text.replace("'", "") if text.startswith("jsonpath=") else text


async def _targets(
    client: "Client", selections: "list[Selection]", labels: str, everything: bool
) -> "list[tuple[Selection, str]]":
    found = []
    for each in selections:
        names = each.names
        if not names:
            if not (labels or everything):
                raise Failure(f"no {each.word} selected: specify names, a selector (-l app=shop), or --all", USAGE)
            listed = await client.list(each.ref, labels=labels or None)
            names = tuple(item["metadata"]["name"] for item in listed.items)
        found += [(each, name) for name in names]
    return found


def _is_ready(tree: Any) -> bool:
    from setpoint.workload.judgement import judged

    return tree is not None and judged(tree).ready


async def _wait_all(
    client: "Client",
    targets: "list[tuple[Selection, str]]",
    what: str,
    tests: "list[Callable[[Any], bool]]",
    seconds: float | None,
) -> None:
    import asyncio

    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import timeout
    from setpoint.workload.judgement import judged

    place = terminal()
    last: dict[tuple[str, str], Any] = {(each.word, name): None for each, name in targets}

    def waiting() -> str:
        names = [f"{word}/{name}" for word, name in last]
        return (
            f"waiting for {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''} to be {what}"
        )

    async def one(each: "Selection", name: str) -> None:
        def holds(tree: Any) -> bool:
            last[(each.word, name)] = tree
            return all(test(tree) for test in tests)

        found = await client.wait_for(each.ref, name, until=holds)
        del last[(each.word, name)]
        shown.text = waiting()
        shown_name = name_of(found) if found is not None else f"{each.word}/{name}"
        place.echo(f"{shown_name} {place.paint('deleted' if found is None else f'is {what}', 'good')}")

    async with progress(waiting(), client.clock) as shown:
        try:
            everything = asyncio.gather(*(one(each, name) for each, name in targets))
            if seconds is None:
                await everything
            else:
                async with timeout(client.clock, seconds):
                    await everything
        except TimeoutError:
            lines = [
                f"{word}/{name}: {'not found' if tree is None else judged(tree).text}"
                for (word, name), tree in last.items()
            ]
            raise Failure((f"not {what} within {seconds:g} s:\n  ") + "\n  ".join(lines), TIMED_OUT) from None
