"""`setpoint import`: opens a file of `setpoint export` as a read-only session."""

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
@click.option("--name", metavar="NAME", default="", help="Name of the session. [default: name of the file]")
@output_option("json", "yaml")
def import_(file: Path, name: str, form: Form) -> None:
    """Open a file of `setpoint export` as a read-only session.

    No workload is started, and no object can be changed. `ps`, `why`, `history`, `diff`, `at`, `blame`, `timeline`,
    `logs` and `get` print the same as on the machine of the export. kubectl can read the session, too.

    \b
      setpoint import shop-20260131-120000.setpoint --name theirs
      setpoint why api --session theirs
      setpoint down --session theirs                 # closes the session; the file stays
    """
    if not file.exists():
        raise Failure(f"file {file} not found", NOT_FOUND)
    shown = run(_import(file, name))
    session, manifest = shown.session, shown.manifest
    if form.name:
        tree = {"id": session.id, "name": session.app, "kubeconfig": session.kubeconfig, "url": session.url}
        write_tree({**tree, "app": manifest.app, "exported": manifest.exported, "revision": manifest.revision}, form)
        return
    outputs = counted(len({log.uid for log in manifest.logs}), "workload")
    parts = f"{manifest.revisions:,} writes up to revision {manifest.revision:,}, logs of {outputs}"
    echo(f"opened {session.app}: {manifest.app} as of {manifest.exported[:19]}Z; {parts}")
    echo(f"  setpoint ps --session {session.app}      queries the session (read-only)")
    echo(f"  setpoint down --session {session.app}    closes the session")


async def _import(file: Path, name: str) -> "Shown":
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import SystemClock
    from setpoint.past.archive.format import BadArchive
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
