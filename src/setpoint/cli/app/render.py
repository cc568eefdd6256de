"""`setpoint render`: the objects that an app file becomes, and what applying it would do to the app that runs."""

import os
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.app_file import find_file, profile_option, read_file
from setpoint.cli.output.formats import Form, output_option, write_objects, write_tree
from setpoint.cli.output.terminal import Meaning, echo, terminal
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from pathlib import Path

    from setpoint.app.changes import Change
    from setpoint.objects.tree import Object

_MEANINGS: dict[str, Meaning] = {"added": "good", "removed": "bad", "changed": "pending"}


@click.command()
@click.argument("file", default="", metavar="[FILE]")
@profile_option
@click.option("--diff", "compares", is_flag=True, help="Say what `setpoint up` would do to the app that runs.")
@click.option("--show-secrets", is_flag=True, help="Show the values of secrets, too.")
@output_option("yaml", "json", "name")
def render(file: str, profiles: tuple[str, ...], compares: bool, show_secrets: bool, form: Form) -> None:
    """Print the objects that the app file becomes. Nothing is started, and nothing is written.

    They can be given to `kubectl apply`, too. With --diff: which of them are new, changed or gone since the last
    `setpoint up`, and what that would mean for what runs.
    """
    found = find_file(file)
    loaded = read_file(found, os.environ, profiles, on_this_machine=False)
    if compares:
        _compare(loaded.app.app, found, loaded.objects, form)
        return
    objects = loaded.objects if show_secrets else _masked(loaded.objects)
    if form.name in ("json", "name"):
        write_objects(objects, form, as_list=True)
        return
    from setpoint.client.manifests import dump_yaml

    echo(dump_yaml(*objects), nl=False)


def _masked(objects: "list[Object]") -> "list[Object]":
    from setpoint.past.secret_mask import masked

    return [masked(tree) for tree in objects]


# What would change


def _compare(app: str, file: "Path", objects: "list[Object]", form: Form) -> None:
    from setpoint.session.app_apply import Applied, planned, read_applied
    from setpoint.session.paths import Places
    from setpoint.session.startup import running

    if form.name in ("name", "yaml"):
        raise Failure("--diff is printed as a table, or with -o json", USAGE)
    session = running(app, file.parent, os.environ)
    changes = planned(read_applied(Places.of_session(session)) if session is not None else Applied(), objects)
    if form.name == "json":
        write_tree([_tree(each) for each in changes], form)
        return
    if session is None:
        echo(f"{app} does not run: `setpoint up` would make everything anew", err=True)
    elif not changes:
        echo(f"nothing differs from what {app} runs", err=True)
    if changes:
        _tell(changes)


def _tell(changes: "list[Change]") -> None:
    from setpoint.cli.output.table import Cell, render_with_texts

    place = terminal()
    rows: list[list[str | Cell]] = [[each.name, each.kind, Cell(each.what, _MEANINGS[each.what])] for each in changes]
    texts = {
        "THEN": [_follows(each) for each in changes],
        "FIELDS": [", ".join(each.fields) or each.why for each in changes],
    }
    place.echo("\n".join(render_with_texts(("NAME", "KIND", "CHANGE"), rows, texts, place)))


def _follows(change: "Change") -> str:
    """What a change does to what runs, in words."""
    from setpoint.app.changes import EFFECTS
    from setpoint.cli.workloads.inventory import RUNNING

    return EFFECTS[change.effect] if change.what == "changed" and change.kind in RUNNING else ""


def _tree(change: "Change") -> "Object":
    """A change as programs read it; of the values themselves nothing, for some may be secret."""
    return {
        "kind": change.kind,
        "name": change.name,
        "namespace": change.namespace,
        "change": change.what,
        "effect": change.effect if change.what == "changed" else "",
        "fields": list(change.fields),
        "why": change.why,
    }
