"""`setpoint edit`: an object in an editor, and what was changed written back.

A text that is no YAML, or that the server refuses, comes back with the reason at its top, so that nothing typed is
lost. Where somebody else changed the object meanwhile both changes are kept, unless they are of the same field.
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

_HEAD = "# Save and close to make the change; leave it as it is, or empty it, to change nothing.\n#\n"
_TRIES = 5


@click.command()
@click.argument("what", metavar="KIND NAME | KIND/NAME...", nargs=-1, required=True, shell_complete=kinds_and_names)
@click.option("--subresource", metavar="NAME", default="", help="Write below the object: status, scale.")
@server_options
def edit(what: tuple[str, ...], subresource: str, server: Server) -> None:
    """Change objects in an editor: the one that $VISUAL or $EDITOR names, or vi.

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
                echo("Nothing was changed.", err=True)
                return
            if problem and edited == text:
                raise Failure(f"{_plain(problem)}\nThe text was left as it was, and nothing was changed", FAILED)
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
    """What somebody makes of a text, without the comments at its top. Raises Failure."""
    file.write_text(text, encoding="utf-8")
    editor = next((found for name in ("KUBE_EDITOR", "VISUAL", "EDITOR") if (found := os.environ.get(name))), "vi")
    try:
        code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
    except OSError as error:
        raise Failure(f"the editor {editor} cannot be started: {error.strerror}. Name another with EDITOR") from None
    if code != 0:
        raise Failure(f"the editor {editor} ended with exit code {code}; nothing was changed")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return "".join(lines)


def _comment(problem: str) -> str:
    return "".join(f"# {line}\n" for line in ("This was not accepted:", *problem.splitlines())) + "#\n"


def _plain(problem: str) -> str:
    return "\n".join(line.removeprefix("# ") for line in problem.splitlines() if line != "#")


def _parsed(text: str, before: "Object") -> "Object":
    """The object in a text. Raises ValueError, with what is wrong."""
    from setpoint.objects import yamltext
    from setpoint.objects.errors import BadRequest

    try:
        document = yamltext.load(text)
    except BadRequest as error:
        raise ValueError(error.message) from None
    if document.duplicates:
        raise ValueError(f"something is said twice: {document.duplicates[0]}")
    tree = document.tree
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise ValueError("this is no object: it needs apiVersion, kind and metadata")
    for what in ("name", "namespace", "uid"):
        if tree["metadata"].get(what) != before["metadata"].get(what):
            raise ValueError(f"metadata.{what} cannot be changed: it says which object this is")
    if (tree.get("apiVersion"), tree.get("kind")) != (before["apiVersion"], before["kind"]):
        raise ValueError("apiVersion and kind cannot be changed: they say which object this is")
    return tree


async def _write(client: "Client", before: "Object", after: "Object", subresource: str) -> "Object":
    """Writes a change, onto what the object has become meanwhile."""
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
    """The change from `before` to `after`, made on `latest`. Raises ValueError where both changed the same field."""
    from setpoint.merge import mergepatch

    ours, theirs = _changed(before, after), _changed(before, latest)
    for path in ours:
        if any(path[: len(other)] == other[: len(path)] for other in theirs):
            raise ValueError(f"somebody else changed .{'.'.join(path)} meanwhile; look at it anew with setpoint get")
    found: Any = mergepatch.apply(latest, mergepatch.diff(before, after))
    found["metadata"]["resourceVersion"] = latest["metadata"]["resourceVersion"]
    return dict(found)


_BOOKS = frozenset((("metadata", "resourceVersion"), ("metadata", "generation")))


def _changed(before: "Json", after: "Json", path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The fields that differ. A list is one field."""
    if before == after or path in _BOOKS:
        return []
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [path]
    return [
        found for name in {**before, **after} for found in _changed(before.get(name), after.get(name), (*path, name))
    ]
