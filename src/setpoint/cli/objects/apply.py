"""`setpoint apply`: applies the objects in files by server-side apply, optionally as a set that is pruned."""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, name_of, output_option, write_objects
from setpoint.cli.output.terminal import Meaning, Terminal, echo, harmless, terminal
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import FAILED, USAGE, Failure, code_of

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_SIGNS: dict[str, Meaning] = {"+": "good", "-": "bad", "@": "quiet"}
_DEFINITION = "CustomResourceDefinition"


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "-f",
    "--filename",
    "filenames",
    metavar="FILE",
    multiple=True,
    help="File, directory or URL to apply; - for standard input.",
)
@click.option("-R", "--recursive", is_flag=True, help="Process directories recursively.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server", "client"]),
    is_flag=False,
    flag_value="server",
    default="none",
    show_default=True,
    help="Only print the changes that would be made.",
)
@click.option("--diff", "show_diff", is_flag=True, help="Show the differences line by line.")
@click.option("--force-conflicts", is_flag=True, help="Force the changes against conflicts with other field managers.")
@click.option("--field-manager", metavar="NAME", default="", help="Name of the field manager. [default: setpoint]")
@click.option("--set", "set_name", metavar="NAME", default="", help="Name of the set that the objects belong to.")
@click.option(
    "--prune", is_flag=True, help="Delete objects of the set that are no longer in the files; requires --set."
)
@output_option("json", "yaml", "name")
@server_options
def apply(files: tuple[str, ...], filenames: tuple[str, ...], server: Server, **how: Any) -> None:
    """Apply a configuration to objects by file.

    Fields that the files no longer contain are removed; fields of other managers are kept. With --set and --prune,
    deletes the objects that an earlier apply of the same set created and that the files no longer contain.

    \b
      setpoint apply -f deploy/ --diff --dry-run
      setpoint apply -f shop.yaml --set shop --prune
    """
    run(_apply(server, (*filenames, *files), how))


async def _apply(server: Server, places: tuple[str, ...], how: dict[str, Any]) -> None:
    from setpoint.cli.support.manifests import read_manifests

    if how["prune"] and not how["set_name"]:
        raise Failure("--prune requires --set NAME, because only objects of a set can be pruned", USAGE)
    if how["set_name"] and how["form"].name:
        raise Failure("-o and --set cannot be combined", USAGE)
    if how["dry_run"] == "client":
        how["dry_run"] = "server"  # the server validates more, and changes no object either
    objects = read_manifests(places, recursive=how["recursive"])
    async with connect(server) as client:
        if how["field_manager"]:
            client = client.with_options(field_manager=how["field_manager"])
        if how["set_name"]:
            await _apply_set(client, objects, how)
        else:
            await _apply_each(client, objects, how)


async def _apply_each(client: "Client", objects: "list[Object]", how: dict[str, Any]) -> None:
    """Applies the objects one after the other. Continues after failures."""
    from setpoint.client.mapper import NoMatch
    from setpoint.client.write_verbs import without_system_fields
    from setpoint.flow.order import rank
    from setpoint.objects.errors import APIError, NotFound
    from setpoint.objects.gvk import GroupKind, GroupVersionKind

    def order(tree: "Object") -> int:
        gvk = GroupVersionKind.of(tree)
        return rank(GroupKind(gvk.group, gvk.kind))

    is_dry = how["dry_run"] == "server"
    form: Form = how["form"]
    printed: list[Object] = []
    failures: list[tuple[str, Exception]] = []
    defined: list[Object] = []
    for tree in sorted(objects, key=order):
        if defined and tree["kind"] != _DEFINITION:
            await _established(client, defined)
            defined = []
        try:
            await place_in_namespace(client, tree)
            before = await _as_is(client, tree)
            after = await client.apply(
                without_system_fields(tree), force=how["force_conflicts"], dry_run=is_dry, field_validation="Strict"
            )
        except (APIError, NoMatch, ValueError) as error:
            if isinstance(error, NotFound) and is_dry:
                error = NotFound(
                    f"{error.message} (other objects of this command may create what is missing, but not in a dry run)"
                )
            failures.append((_called(tree), error))
            continue
        if tree["kind"] == _DEFINITION and not is_dry:
            defined.append(after)
        printed.append(after)
        if not form.name:
            _print_result(before, after, is_dry, how["show_diff"])
    if form.name and printed:
        write_objects(printed, form, as_list=len(objects) > 1)
    _fail(failures)


async def _established(client: "Client", definitions: "list[Object]") -> None:
    """Waits until the server serves the defined kinds, because the next objects may be of these kinds."""
    for definition in definitions:
        await client.wait_for(
            "apiextensions.k8s.io/v1/CustomResourceDefinition",
            definition["metadata"]["name"],
            until="condition=Established",
            timeout=30.0,
        )


async def place_in_namespace(client: "Client", tree: "Object") -> None:
    """Sets the namespace of the command on an object without namespace."""
    from setpoint.client.kinds import ref_of

    metadata = tree.setdefault("metadata", {})
    if not metadata.get("name"):
        raise ValueError("the object has no name; only named objects can be applied")
    if not metadata.get("namespace") and (await client.resource(ref_of(tree))).namespaced:
        metadata["namespace"] = client.namespace


async def _as_is(client: "Client", tree: "Object") -> "Object | None":
    from setpoint.client.kinds import ref_of
    from setpoint.objects.errors import NotFound

    metadata = tree["metadata"]
    try:
        return await client.get(ref_of(tree), metadata["name"], metadata.get("namespace", ""))
    except NotFound:
        return None


def _called(tree: "Object") -> str:
    metadata = tree.get("metadata") or {}
    return f"{tree['kind']} {metadata.get('name', '(without a name)')}"


def _print_result(before: "Object | None", after: "Object", is_dry: bool, show_diff: bool) -> None:
    from setpoint.client.edits import plain

    place = terminal()
    old, new = (None if before is None else plain(before)), plain(after)
    what = "created" if old is None else "unchanged" if old == new else "configured"
    note = " (dry run)" if is_dry else ""
    place.echo(f"{name_of(after)} {place.paint(what, 'quiet' if what == 'unchanged' else 'good')}{note}")
    if show_diff and old != new:
        place.echo("\n".join(_difference(old, new, place)))


def _difference(old: "Object | None", new: "Object", place: Terminal) -> list[str]:
    """Returns the differences line by line, with secrets masked."""
    from setpoint.past.difference import unified

    lines = unified(old or {}, new, "", "")[2:]  # both headers would name the same object
    return [f"  {place.paint(harmless(line), _SIGNS.get(line[0], ''))}" for line in lines]


def _fail(failures: list[tuple[str, Exception]]) -> None:
    """Prints all failures and raises the last one. Uses the common exit code if all failures have the same one."""
    if not failures:
        return
    from setpoint.objects.errors import ApplyConflict

    messages = [f"{name}: {getattr(error, 'message', error)}" for name, error in failures]
    if any(isinstance(error, ApplyConflict) for _, error in failures):
        messages[-1] += ". Remove the fields from the files, or use --force-conflicts"
    for text in messages[:-1]:
        echo(f"Error: {text}", err=True)
    codes = {code_of(error) for _, error in failures}
    raise Failure(messages[-1], codes.pop() if len(codes) == 1 else FAILED)


async def _apply_set(client: "Client", objects: "list[Object]", how: dict[str, Any]) -> None:
    """Applies the objects as a set, which records its members."""
    from setpoint.flow.apply_set import ApplySet
    from setpoint.flow.plan import Action
    from setpoint.flow.policy import How, Prune
    from setpoint.flow.result import ApplyFailed, PruneWithheld, Refused

    applied = ApplySet(
        client,
        how["set_name"],
        namespace=client.namespace,
        how=How(force=True) if how["force_conflicts"] else How(),
        prune=Prune(enabled=how["prune"]),
    )
    applied.add(*objects)
    place = terminal()
    plan = await applied.plan()
    is_dry = how["dry_run"] == "server"
    if how["show_diff"]:
        place.echo(plan.render())
    try:
        if not is_dry:
            await applied.apply()
    except (Refused, PruneWithheld, ApplyFailed) as error:
        raise Failure(str(error)) from None
    words = {Action.CREATE: "created", Action.KEEP: "unchanged", Action.PRUNE: "pruned", Action.LEAVE: "left"}
    for step in plan.steps:
        if step.action is Action.FORGET:
            continue
        group = f".{step.identity.group}" if step.identity.group else ""
        word = words.get(step.action, "configured")
        note = " (dry run)" if is_dry else ""
        painted = place.paint(word, "quiet" if word == "unchanged" else "good")
        place.echo(f"{step.identity.kind.lower()}{group}/{step.identity.name} {painted}{note}")
