"""`setpoint demo`: copies a sample app, a small shop, to a directory and runs the app there."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import CONFLICT, Failure
from setpoint.cli.support.processes import require_processes

_APP = "shop"
# Files that earlier runs may have left in the source directory.
_NOT_COPIED = shutil.ignore_patterns("data", "__pycache__")


@click.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="Directory for the app, kept afterwards. [default: a temporary directory, removed when the app stops]",
)
@click.option("--tour", is_flag=True, help="Show the app command by command and exit; the default without a terminal.")
@click.pass_context
def demo(ctx: click.Context, directory: Path | None, tour: bool) -> None:
    """Start a sample app to try Setpoint.

    The app is a small shop: a database, an API, a web page, a worker and a migration, each a short Python program. On a
    terminal the app runs until `q` or Ctrl-C; edit the files, break the programs, and try `setpoint why`.
    """
    require_processes()
    with _copied(directory) as place:
        # The shop runs on this Python, even if the PATH has another python3.
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        if tour or not (sys.stdin.isatty() and sys.stdout.isatty()):
            from setpoint.cli.demo.tour import run

            sys.exit(run(place))
        from setpoint.cli.app.up import up

        echo(f"The shop is in {place}\nSee its README.md for commands to try there in another terminal.\n")
        os.chdir(place)
        ctx.invoke(up, words=(), detached=False, logs=True, seconds=0.0)


@contextmanager
def _copied(directory: Path | None) -> Iterator[Path]:
    """Copies the app to a directory and yields its path. Raises Failure."""
    if directory is not None:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise Failure(f"{directory} is not empty; choose a new or empty directory", CONFLICT)
        yield _copy(directory)
        return
    parent = Path(tempfile.mkdtemp(prefix="demo-")).resolve()
    try:
        yield _copy(parent / _APP)
    finally:
        _tidy(parent, parent / _APP)


def _copy(place: Path) -> Path:
    try:
        with resources.as_file(resources.files(__package__) / _APP) as source:
            shutil.copytree(source, place, ignore=_NOT_COPIED, dirs_exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot copy the app to {place}: {error.strerror or error}") from None
    return place.resolve()


def _tidy(parent: Path, place: Path) -> None:
    """Removes the temporary directory and the stored history, unless the app is still running."""
    from setpoint.session.paths import Places
    from setpoint.session.registry import session_id
    from setpoint.session.startup import running

    if running(_APP, place, os.environ) is not None:
        echo(f"The directory stays while the app is running: cd {place}")
        return
    os.chdir(parent.parent)
    for left in (parent, Places.of(os.environ, session_id(_APP, str(place))).data):
        shutil.rmtree(left, ignore_errors=True)
