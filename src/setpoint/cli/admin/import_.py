"""`setpoint import`: opens what `setpoint export` wrote, to be looked at with all commands."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import counted
from setpoint.cli.support.connection import run
from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.session.archive.viewer import Shown


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", metavar="NAME", default="", help="What to call it. [default: as the file]")
@output_option("json", "yaml")
def import_(file: Path, name: str, form: Form) -> None:
    """Open what `setpoint export` wrote, as a session to be read.

    Nothing of it is run, and nothing can be changed. `ps`, `why`, `history`, `diff`, `at`, `blame`, `timeline`, `logs`
    and `get` tell what they told where it was made, and kubectl reads it too.

    \b
      setpoint import shop-20260131-120000.setpoint --name theirs
      setpoint why api --session theirs
      setpoint down --session theirs                 # closes it; the file stays
    """
    if not file.exists():
        raise Failure(f"there is no file {file}", NOT_FOUND)
    shown = run(_import(file, name))
    session, manifest = shown.session, shown.manifest
    if form.name:
        told = {"id": session.id, "name": session.app, "kubeconfig": session.kubeconfig, "url": session.url}
        write_tree({**told, "app": manifest.app, "exported": manifest.exported, "revision": manifest.revision}, form)
        return
    outputs = counted(len({log.uid for log in manifest.logs}), "workload")
    parts = f"{manifest.revisions:,} writes up to revision {manifest.revision:,}, the output of {outputs}"
    echo(f"{session.app} is open: {manifest.app} as of {manifest.exported[:19]}Z; {parts}")
    echo(f"  setpoint ps --session {session.app}      ask it what you like; nothing can be changed")
    echo(f"  setpoint down --session {session.app}    closes it")


async def _import(file: Path, name: str) -> "Shown":
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import SystemClock
    from setpoint.session.archive.format import BadArchive
    from setpoint.session.archive.viewer import name_for, show
    from setpoint.store.contract import StoreError

    clock = SystemClock()
    try:
        async with progress(f"opening {file}", clock):
            return await show(file, name or name_for(file), os.environ, clock)
    except (BadArchive, StoreError) as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"{error.filename or file}: {error.strerror or error}") from None
