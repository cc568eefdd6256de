"""`setpoint apply`: makes objects as files say, by server-side apply; as a set, so that what is no longer said goes."""

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
@click.option("-f", "--filename", "filenames", metavar="FILE", multiple=True, help="A file, directory, URL, or -.")
@click.option("-R", "--recursive", is_flag=True, help="Directories with all that is below them.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server", "client"]),
    is_flag=False,
    flag_value="server",
    default="none",
    show_default=True,
    help="Say what would happen, and change nothing.",
)
@click.option("--diff", "show_diff", is_flag=True, help="Show what changes, line by line.")
@click.option("--force-conflicts", is_flag=True, help="Take over the fields that somebody else owns.")
@click.option("--field-manager", metavar="NAME", default="", help="As whom to own the fields. [default: setpoint]")
@click.option("--set", "set_name", metavar="NAME", default="", help="The set that these objects are.")
@click.option("--prune", is_flag=True, help="Delete what the set had and no longer has; needs --set.")
@output_option("json", "yaml", "name")
@server_options
def apply(files: tuple[str, ...], filenames: tuple[str, ...], server: Server, **how: Any) -> None:
    """Make objects as files say.

    Fields that the files no longer name go, fields of others stay. With --set and --prune, objects that an earlier
    apply of the same set made and that the files no longer have are deleted.

    \b
      setpoint apply -f deploy/ --diff --dry-run
      setpoint apply -f shop.yaml --set shop --prune
    """
    run(_apply(server, (*filenames, *files), how))


async def _apply(server: Server, places: tuple[str, ...], how: dict[str, Any]) -> None:
    from setpoint.cli.support.manifests import read_manifests

    if how["prune"] and not how["set_name"]:
        raise Failure("--prune needs --set NAME: only what a set made can be known to be gone from it", USAGE)
    if how["set_name"] and how["form"].name:
        raise Failure("-o and --set do not go together: leave out one of them", USAGE)
    if how["dry_run"] == "client":
        how["dry_run"] = "server"  # it knows more, and changes nothing either
    objects = read_manifests(places, recursive=how["recursive"])
    async with connect(server) as client:
        if how["field_manager"]:
            client = client.with_options(field_manager=how["field_manager"])
        if how["set_name"]:
            await _apply_set(client, objects, how)
        else:
            await _apply_each(client, objects, how)


async def _apply_each(client: "Client", objects: "list[Object]", how: dict[str, Any]) -> None:
    """Applies one after the other; what fails does not keep the rest from being tried."""
    from setpoint.client.mapper import NoMatch
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
            after = await client.apply(tree, force=how["force_conflicts"], dry_run=is_dry, field_validation="Strict")
        except (APIError, NoMatch, ValueError) as error:
            if isinstance(error, NotFound) and is_dry:
                error = NotFound(f"{error.message} (it may come with another of these objects: a dry run makes none)")
            failures.append((_called(tree), error))
            continue
        if tree["kind"] == _DEFINITION and not is_dry:
            defined.append(after)
        printed.append(after)
        if not form.name:
            _tell(before, after, is_dry, how["show_diff"])
    if form.name and printed:
        write_objects(printed, form, as_list=len(objects) > 1)
    _fail(failures)


async def _established(client: "Client", definitions: "list[Object]") -> None:
    """Waits until the server serves the kinds that were defined: what comes next may be of them."""
    for definition in definitions:
        await client.wait_for(
            "apiextensions.k8s.io/v1/CustomResourceDefinition",
            definition["metadata"]["name"],
            until="condition=Established",
            timeout=30.0,
        )


async def place_in_namespace(client: "Client", tree: "Object") -> None:
    """Puts an object that names no namespace into the one of the command."""
    from setpoint.client.kinds import ref_of

    metadata = tree.setdefault("metadata", {})
    if not metadata.get("name"):
        raise ValueError("the object has no name, and only named ones can be applied")
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


def _tell(before: "Object | None", after: "Object", is_dry: bool, show_diff: bool) -> None:
    from setpoint.client.edits import plain

    place = terminal()
    old, new = (None if before is None else plain(before)), plain(after)
    what = "created" if old is None else "unchanged" if old == new else "configured"
    note = " (dry run)" if is_dry else ""
    place.echo(f"{name_of(after)} {place.paint(what, 'quiet' if what == 'unchanged' else 'good')}{note}")
    if show_diff and old != new:
        place.echo("\n".join(_difference(old, new, place)))


def _difference(old: "Object | None", new: "Object", place: Terminal) -> list[str]:
    """What changes, line by line, secrets masked."""
    from setpoint.past.difference import unified

    lines = unified(old or {}, new, "", "")[2:]  # both sides are the object just named
    return [f"  {place.paint(harmless(line), _SIGNS.get(line[0], ''))}" for line in lines]


def _fail(failures: list[tuple[str, Exception]]) -> None:
    """All failures are told; they end the command as the first of them would."""
    if not failures:
        return
    from setpoint.objects.errors import ApplyConflict

    told = [f"{name}: {getattr(error, 'message', error)}" for name, error in failures]
    if any(isinstance(error, ApplyConflict) for _, error in failures):
        told[-1] += ". Take the fields out of the files, or take them over with --force-conflicts"
    for text in told[:-1]:
        echo(f"Error: {text}", err=True)
    codes = {code_of(error) for _, error in failures}
    raise Failure(told[-1], codes.pop() if len(codes) == 1 else FAILED)


async def _apply_set(client: "Client", objects: "list[Object]", how: dict[str, Any]) -> None:
    """Applies objects as one set, which remembers what it has."""
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
