"""`setpoint delete`: deletes objects and waits until they are gone."""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, name_of, output_option
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import TIMED_OUT, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_CASCADES = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}


@click.command()
@click.argument("what", metavar="KIND [NAME...] | KIND/NAME...", nargs=-1, shell_complete=kinds_and_names)
@click.option(
    "-f",
    "--filename",
    "filenames",
    metavar="FILE",
    multiple=True,
    help="File or directory with the objects to delete; - for standard input.",
)
@click.option("-R", "--recursive", is_flag=True, help="Process directories recursively.")
@click.option("-l", "--selector", metavar="LABELS", default="", help="Selector (label query) to filter on.")
@click.option("--field-selector", metavar="FIELDS", default="", help="Selector (field query) to filter on.")
@click.option("--all", "everything", is_flag=True, help="Delete all objects of the kind in the namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Select from all namespaces; with --all or a selector.")
@click.option("--cascade", type=click.Choice(list(_CASCADES)), default="background", show_default=True,
              help="Deletion strategy for dependents.")  # fmt: skip
@click.option("--wait/--no-wait", "waits", default=True, help="Wait for the objects to be gone. [default: wait]")
@seconds_option("--timeout", help="Time to wait, e.g. 30s or 5m; 0 waits indefinitely.")
@click.option(
    "--grace-period", metavar="SECONDS", type=int, help="Seconds given to the object to terminate gracefully."
)
@click.option("--now", is_flag=True, help="Equivalent to --grace-period=1.")
@click.option("--ignore-not-found", is_flag=True, help='Treat "not found" as a successful delete.')
@click.option("--dry-run", is_flag=True, help="Only print the objects that would be deleted.")
@output_option("name")
@server_options
def delete(what: tuple[str, ...], filenames: tuple[str, ...], server: Server, **how: Any) -> None:
    """Delete objects.

    \b
      setpoint delete exe/api task/migrate
      setpoint delete -f deploy/
      setpoint delete configmaps -l app=shop
    """
    run(_delete(server, what, filenames, how))


async def _delete(server: Server, what: tuple[str, ...], filenames: tuple[str, ...], how: dict[str, Any]) -> None:
    async with connect(server) as client:
        if filenames:
            if what:
                raise Failure("specify either files or names, not both", USAGE)
            found, failures = await _of_files(client, filenames, how["recursive"])
        else:
            found, failures = await _of_names(client, what, how)
        going = []
        for tree in found:
            if (error := await _delete_one(client, tree, how)) is None:
                going.append(tree)
            else:
                failures.append(error)
        if how["waits"] and not how["dry_run"]:
            await _wait_deleted(client, going, how["timeout"])
        from setpoint.cli.objects.get import raise_failures

        raise_failures(failures, how["ignore_not_found"])
        if not found and not failures:
            echo("No resources found.", err=True)


async def _of_files(client: "Client", filenames: tuple[str, ...], recursive: bool) -> "tuple[list[Object], list[Any]]":
    """Returns the objects in the files in reverse order, so that dependents are deleted before the objects they
    need.
    """
    from setpoint.cli.objects.apply import place_in_namespace
    from setpoint.cli.support.manifests import read_manifests
    from setpoint.client.kinds import ref_of
    from setpoint.objects.errors import APIError

    found: list[Object] = []
    failures: list[Any] = []
    for tree in reversed(read_manifests(filenames, recursive=recursive)):
        await place_in_namespace(client, tree)
        try:
            found.append(
                await client.get(ref_of(tree), tree["metadata"]["name"], tree["metadata"].get("namespace", ""))
            )
        except APIError as error:
            failures.append(error)
    return found, failures


async def _of_names(client: "Client", what: tuple[str, ...], how: dict[str, Any]) -> "tuple[list[Object], list[Any]]":
    from setpoint.cli.objects.get import read_objects
    from setpoint.cli.objects.tables import TableOptions
    from setpoint.cli.support.resource_args import Kinds, select
    from setpoint.client.requests import query_of

    selections = select(await Kinds.of(client), what)
    chosen = how["selector"] or how["field_selector"] or how["everything"]
    if any(each.names for each in selections):
        if chosen:
            raise Failure("names cannot be combined with --all or a selector", USAGE)
    elif not chosen:
        raise Failure(f"no {what[0]} selected: specify names, a selector (-l app=shop), or --all", USAGE)
    query = query_of(labelSelector=how["selector"], fieldSelector=how["field_selector"])
    namespace = "" if how["all_namespaces"] else client.namespace
    return await read_objects(client, selections, TableOptions(namespace=namespace, query=tuple(query)))


async def _delete_one(client: "Client", tree: "Object", how: dict[str, Any]) -> "Exception | None":
    from setpoint.objects.errors import APIError, NotFound

    grace = 1 if how["now"] else how["grace_period"]
    try:
        await client.delete(
            tree,
            propagation=_CASCADES[how["cascade"]],
            grace_period=grace,
            uid=tree["metadata"]["uid"],
            dry_run=how["dry_run"],
        )
    except NotFound:
        pass  # already deleted
    except APIError as error:
        return error
    form: Form = how["form"]
    place = terminal()
    note = " (dry run)" if how["dry_run"] else ""
    place.echo(name_of(tree) if form.name else f"{name_of(tree)} {place.paint('deleted', 'good')}{note}")
    return None


async def _wait_deleted(client: "Client", found: "list[Object]", seconds: float | None) -> None:
    """Waits until each object is gone or replaced by another of the same name."""
    import asyncio

    from setpoint.cli.output.progress import progress
    from setpoint.client.kinds import ref_of
    from setpoint.objects import meta
    from setpoint.objects.clock import timeout

    left = {meta.uid(tree): tree for tree in found}

    async def wait_one(tree: "Object") -> None:
        uid = meta.uid(tree)
        await client.wait_for(
            ref_of(tree), meta.name(tree), meta.namespace(tree), lambda now: now is None or meta.uid(now) != uid
        )
        del left[uid]
        shown.text = _waiting(left)

    async with progress(_waiting(left), client.clock) as shown:
        try:
            if seconds is None:
                await asyncio.gather(*map(wait_one, found))
            else:
                async with timeout(client.clock, seconds):
                    await asyncio.gather(*map(wait_one, found))
        except TimeoutError:
            raise Failure(f"timed out after {seconds:g} s: {_waiting(left)}", TIMED_OUT) from None


def _waiting(left: "dict[str, Object]") -> str:
    """Returns the objects that still exist, with their finalizers."""
    from setpoint.objects import meta

    names = [f"{name_of(tree)}{_finalizer_text(meta.finalizers(tree))}" for tree in list(left.values())[:3]]
    more = f" and {len(left) - 3} more" if len(left) > 3 else ""
    return f"waiting until {', '.join(names)}{more} {'is' if len(left) == 1 else 'are'} deleted"


def _finalizer_text(finalizers: list[str]) -> str:
    return f" (finalizer {', '.join(finalizers)})" if finalizers else ""
