"""`setpoint purge`: permanently removes past values of an object."""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import counted
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, ended_sessions, find, run, server_options
from setpoint.cli.support.errors import NO_SERVER, NOT_FOUND, USAGE, Failure, explained

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object
    from setpoint.past.object_ref import ObjectReference
    from setpoint.session.stored_runs import StoredRun

_CLUSTER_WIDE = "confirmClusterWide"


@click.command()
@click.argument("what", metavar="KIND/NAME", nargs=-1, required=True, shell_complete=kinds_and_names)
@click.option("--reason", metavar="TEXT", required=True, help="Reason, recorded in the tombstone.")
@click.option(
    "--through", metavar="REVISION", default="", help="Remove only values written at or before this revision."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@output_option("json", "yaml")
@server_options
def purge(what: tuple[str, ...], reason: str, through: str, yes: bool, form: Form, server: Server) -> None:
    """Permanently remove past values of an object: replaced values and deleted values.

    The current object stays; delete the object first to remove that value, too. The values are removed from the server,
    from the stored runs of the session and from `setpoint runs`, and cannot be restored. Archives of `setpoint export`,
    audit logs and logs of workloads are not covered. A server with a store in etcd can only remove the history of the
    whole cluster.

    \b
      setpoint purge secret/database --reason "leaked in a ticket"
      setpoint purge configmap/settings --reason cleanup --through 1200
      setpoint purge secret/database --session shop --reason leaked --yes
    """
    if through and not through.isdecimal():
        raise Failure(f"--through {through}: expected a revision, such as 1200", USAGE)
    results = run(_purge(what, reason, through, yes, server))
    if form.name:
        write_tree({"kind": "Purge", "items": results}, form)
        return
    for each in results:
        echo(f"{each['store']}: removed {counted(each['removed'], 'value')} of {each['object']}")


async def _purge(what: tuple[str, ...], reason: str, through: str, yes: bool, server: Server) -> "list[dict[str, Any]]":
    results: list[dict[str, Any]] = []
    is_served, runs = _meant(server)
    if not yes:
        _confirm(f"Permanently remove the past values of {' '.join(what)}?")
    if is_served:
        async with connect(server) as client:
            with target.history_failures():
                place = await target.find(client, what)
                answer = await _at_server(client, place, reason, through, yes)
        results.append({"store": "server", "object": str(place), "removed": answer["removed"]})
    for each in runs:
        results += await _in_run(each, what, reason, through, server)
    return results


def _meant(server: Server) -> "tuple[bool, list[StoredRun]]":
    """Returns True if a server must be asked, and the stored runs of the selected session."""
    from setpoint.session.stored_runs import stored_runs

    try:
        found = find(server)
    except Failure as failure:
        runs = [run for each in ended_sessions(server) for run in stored_runs(each)]
        if not runs or failure.exit_code not in (NO_SERVER, NOT_FOUND):
            raise
        return False, runs
    return True, stored_runs(found.session) if found.session is not None else []


async def _at_server(client: "Client", place: "ObjectReference", reason: str, through: str, yes: bool) -> "Object":
    from setpoint.objects.errors import BadRequest
    from setpoint.past.queries import purge

    try:
        return await purge(client, place, reason, through)
    except BadRequest as error:
        if _CLUSTER_WIDE not in error.message:
            raise
    echo(
        "The server keeps its objects in etcd, which cannot remove the past of one object. A purge compacts the whole "
        "cluster: the history of every object, and of every other user of the cluster, is removed up to the last "
        "revision of these values, and watches from before it end. Then every member is defragmented, and does not "
        "answer meanwhile.",
        err=True,
    )
    if not yes:
        _confirm("Compact and defragment the whole etcd cluster?")
    return await purge(client, place, reason, through, cluster_wide=True)


async def _in_run(
    run: "StoredRun", what: tuple[str, ...], reason: str, through: str, server: Server
) -> "list[dict[str, Any]]":
    from setpoint.session.stored_runs import purge_stored
    from setpoint.store.contract import StoreError

    places: list[ObjectReference] = []

    async def meant(client: "Client") -> "ObjectReference":
        client.namespace = server.namespace or client.namespace or "default"
        places.append(await target.find(client, what))
        return places[-1]

    try:
        with explained():
            removed = await purge_stored(run, meant, reason, int(through) if through else None)
    except StoreError as error:
        raise Failure(f"{run.store}: {error}") from None
    except Failure as failure:
        if getattr(failure, "exit_code", 0) == NOT_FOUND:
            return []  # that run had no such kind
        raise
    return [{"store": str(run.store), "object": str(places[-1]), "removed": removed}]


def _confirm(question: str) -> None:
    if not click.confirm(question, err=True):
        raise Failure("aborted; no value was removed")
