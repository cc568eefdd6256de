"""`setpoint edit`: opens an object in an editor and writes the changes back.

Invalid YAML and changes that the server rejects are reopened with the error at the top, so that no input is lost. If
another client has changed the object in the meantime, both changes are merged, unless they affect the same field.
"""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import name_of, without_managed_fields
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import CONFLICT, FAILED, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Json, Object

_HEAD = (
    "# Edit the object below. Save and close to apply the changes; an unchanged or empty file cancels the edit.\n#\n"
)
_TRIES = 5


@click.command()
@click.argument("what", metavar="KIND NAME | KIND/NAME...", nargs=-1, required=True, shell_complete=kinds_and_names)
@click.option("--subresource", metavar="NAME", default="", help="Subresource to edit: status, scale.")
@server_options
def edit(what: tuple[str, ...], subresource: str, server: Server) -> None:
    """Edit objects in an editor: $VISUAL, $EDITOR, or vi.

    \b
      setpoint edit exe/api
      EDITOR="code --wait" setpoint edit configmap prices
    """
    run(_edit(server, what, subresource))


async def _edit(server: Server, what: tuple[str, ...], subresource: str) -> None:
    from setpoint.cli.support.resource_args import Kinds, select

    async with connect(server) as client:
        for selection in select(await Kinds.of(client), what, needs_names=True):
            for name in selection.names:
                found = await client.get(selection.ref, name)
                await _edit_one(client, without_managed_fields(found), subresource)


async def _edit_one(client: "Client", before: "Object", subresource: str) -> None:
    from setpoint.objects import yamltext
    from setpoint.objects.errors import APIError, Conflict

    original = yamltext.dump(before)
    text, problem = original, ""
    with tempfile.TemporaryDirectory(prefix="setpoint-edit-") as directory:
        file = Path(directory) / f"{before['kind'].lower()}-{before['metadata']['name'].replace('/', '-')}.yaml"
        while True:
            edited = _edited(file, _HEAD + problem + text)
            if not edited.strip() or edited == original:
                echo("Edit cancelled, no changes made.", err=True)
                return
            if problem and edited == text:
                raise Failure(f"{_plain(problem)}\nEdit cancelled: the file was saved without corrections", FAILED)
            text = edited
            try:
                after = _parsed(text, before)
                written = await _write(client, before, after, subresource)
            except ValueError as error:
                problem = _comment(str(error))
                continue
            except Conflict as error:
                raise Failure(f"{error.message}. Your text:\n{text}", CONFLICT) from None
            except APIError as error:
                problem = _comment(error.message)
                continue
            place = terminal()
            place.echo(f"{name_of(written)} {place.paint('edited', 'good')}")
            return


def _edited(file: Path, text: str) -> str:
    """Opens the text in the editor. Returns the result without the comments at the top. Raises Failure."""
    file.write_text(text, encoding="utf-8")
    editor = next((found for name in ("KUBE_EDITOR", "VISUAL", "EDITOR") if (found := os.environ.get(name))), "vi")
    try:
        code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
    except OSError as error:
        raise Failure(f"cannot start the editor {editor}: {error.strerror}. Set EDITOR to another editor") from None
    if code != 0:
        raise Failure(f"the editor {editor} exited with code {code}; no changes made")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return "".join(lines)


def _comment(problem: str) -> str:
    return "".join(f"# {line}\n" for line in ("The change was rejected:", *problem.splitlines())) + "#\n"


def _plain(problem: str) -> str:
    return "\n".join(line.removeprefix("# ") for line in problem.splitlines() if line != "#")


def _parsed(text: str, before: "Object") -> "Object":
    """Parses the edited text. Raises ValueError with the reason if invalid."""
    from setpoint.objects import yamltext
    from setpoint.objects.errors import BadRequest

    try:
        document = yamltext.load(text)
    except BadRequest as error:
        raise ValueError(error.message) from None
    if document.duplicates:
        raise ValueError(f"duplicate field: {document.duplicates[0]}")
    tree = document.tree
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise ValueError("not an object: apiVersion, kind and metadata are required")
    for what in ("name", "namespace", "uid"):
        if tree["metadata"].get(what) != before["metadata"].get(what):
            raise ValueError(f"metadata.{what} is immutable")
    if (tree.get("apiVersion"), tree.get("kind")) != (before["apiVersion"], before["kind"]):
        raise ValueError("apiVersion and kind are immutable")
    return tree


async def _write(client: "Client", before: "Object", after: "Object", subresource: str) -> "Object":
    """Writes the change. On conflict, repeats the change on the latest version of the object."""
    from setpoint.client.kinds import ref_of
    from setpoint.objects.errors import Conflict

    metadata = before["metadata"]
    for attempt in range(_TRIES):
        try:
            return await client.update(after, subresource=subresource, field_validation="Strict")
        except Conflict:
            if attempt == _TRIES - 1:
                raise
            latest = without_managed_fields(
                await client.get(ref_of(before), metadata["name"], metadata.get("namespace", ""))
            )
            after = rebased(before, after, latest)
    raise AssertionError("the last attempt returns or raises")


def rebased(before: "Object", after: "Object", latest: "Object") -> "Object":
    """Applies the change from `before` to `after` to `latest`. Raises ValueError if both changed the same field."""
    from setpoint.merge import mergepatch

    ours, theirs = _changed(before, after), _changed(before, latest)
    for path in ours:
        if any(path[: len(other)] == other[: len(path)] for other in theirs):
            raise ValueError(f"another client changed .{'.'.join(path)} in the meantime; check with `setpoint get`")
    found: Any = mergepatch.apply(latest, mergepatch.diff(before, after))
    found["metadata"]["resourceVersion"] = latest["metadata"]["resourceVersion"]
    return dict(found)


_BOOKS = frozenset((("metadata", "resourceVersion"), ("metadata", "generation")))


def _changed(before: "Json", after: "Json", path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Returns the paths of the fields that differ. A list counts as one field."""
    if before == after or path in _BOOKS:
        return []
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [path]
    return [
        found for name in {**before, **after} for found in _changed(before.get(name), after.get(name), (*path, name))
    ]
