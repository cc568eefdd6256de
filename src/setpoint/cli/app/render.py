"""`setpoint render`: prints the objects generated from an app file, and the changes that `setpoint up` would make."""

import os
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.app_file import find_file, profile_option, read_file
from setpoint.cli.app.source_options import report_source, source_options
from setpoint.cli.output.formats import Form, output_option, write_objects, write_tree
from setpoint.cli.output.terminal import Meaning, echo, terminal
from setpoint.cli.support.errors import USAGE, Failure

if TYPE_CHECKING:
    from pathlib import Path

    from setpoint.app.changes import ObjectChange
    from setpoint.objects.tree import Object

_MEANINGS: dict[str, Meaning] = {"added": "good", "removed": "bad", "changed": "pending"}


@click.command()
@click.argument("file", default="", metavar="[FILE]")
@source_options
@profile_option
@click.option(
    "--diff", "compares", is_flag=True, help="Show the changes that `setpoint up` would make to the running app."
)
@click.option("--show-secrets", is_flag=True, help="Print the values of secrets instead of masking them.")
@output_option("yaml", "json", "name")
def render(file: str, profiles: tuple[str, ...], compares: bool, show_secrets: bool, form: Form) -> None:
    """Print the objects generated from the app file, without starting or writing anything.

    `kubectl apply` accepts the output, too. With --diff, lists the objects added, changed or removed since the last
    `setpoint up`, and the effect on running parts.
    """
    found = find_file(file)
    loaded = read_file(found, os.environ, profiles, on_this_machine=False)
    report_source(found, loaded, names=False)
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


# The changes that `setpoint up` would make


def _compare(app: str, file: "Path", objects: "list[Object]", form: Form) -> None:
    from setpoint.session.app_apply import Applied, planned, read_applied
    from setpoint.session.paths import Places
    from setpoint.session.startup import running

    if form.name in ("name", "yaml"):
        raise Failure("--diff supports only the table and -o json", USAGE)
    session = running(app, file.parent, os.environ)
    changes = planned(read_applied(Places.of_session(session)) if session is not None else Applied(), objects)
    if form.name == "json":
        write_tree([_tree(each) for each in changes], form)
        return
    if session is None:
        echo(f"{app} is not running: `setpoint up` would create all objects", err=True)
    elif not changes:
        echo(f"no differences from the running {app}", err=True)
    if changes:
        _print_changes(changes)


def _print_changes(changes: "list[ObjectChange]") -> None:
    from setpoint.cli.output.table import Cell, render_with_texts

    place = terminal()
    rows: list[list[str | Cell]] = [[each.name, each.kind, Cell(each.what, _MEANINGS[each.what])] for each in changes]
    texts = {
        "THEN": [_follows(each) for each in changes],
        "FIELDS": [", ".join(each.fields) or each.why for each in changes],
    }
    place.echo("\n".join(render_with_texts(("NAME", "KIND", "CHANGE"), rows, texts, place)))


def _follows(change: "ObjectChange") -> str:
    """Returns the effect of a change on a running part, as text."""
    from setpoint.app.changes import EFFECTS
    from setpoint.cli.workloads.inventory import RUNNING

    return EFFECTS[change.effect] if change.what == "changed" and change.kind in RUNNING else ""


def _tree(change: "ObjectChange") -> "Object":
    """Returns a change for JSON output. The values are left out, because some may be secret."""
    return {
        "kind": change.kind,
        "name": change.name,
        "namespace": change.namespace,
        "change": change.what,
        "effect": change.effect if change.what == "changed" else "",
        "fields": list(change.fields),
        "why": change.why,
    }
