"""`setpoint demo`: a small shop, copied to where one may do with it as one likes, and run."""

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

_APP = "shop"
# What is left by those who tried it out where it came from.
_NOT_COPIED = shutil.ignore_patterns("data", "__pycache__")


@click.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="Put the app there, and leave it there. Without it, its directory goes when the app ends.",
)
@click.option("--tour", is_flag=True, help="Show it command by command, and end; as it is without a terminal.")
@click.pass_context
def demo(ctx: click.Context, directory: Path | None, tour: bool) -> None:
    """Try things out with an app that is there already.

    It is a small shop: a database, an API, a page, a worker and a migration, each a short program in Python. At a
    terminal it runs until `q` or Ctrl-C; edit it, break it, and ask `setpoint why`.
    """
    with _copied(directory) as place:
        # Whatever else is called python3 here, the shop runs on this one.
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        if tour or not (sys.stdin.isatty() and sys.stdout.isatty()):
            from setpoint.cli.demo.tour import take

            sys.exit(take(place))
        from setpoint.cli.app.up import up

        echo(f"The shop is in {place}\nIts README.md tells what to try, in another terminal there.\n")
        os.chdir(place)
        ctx.invoke(up, file="", profiles=(), detached=False, logs=True, seconds=0.0)


@contextmanager
def _copied(directory: Path | None) -> Iterator[Path]:
    """The app in a directory of its own. Raises Failure."""
    if directory is not None:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise Failure(f"{directory} is not empty; choose a directory that is not there yet", CONFLICT)
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
        raise Failure(f"the app cannot be put into {place}: {error.strerror or error}") from None
    return place.resolve()


def _tidy(parent: Path, place: Path) -> None:
    """Nothing of it is left, its past included; unless it was left to run."""
    from setpoint.session.paths import Places
    from setpoint.session.registry import session_id
    from setpoint.session.startup import running

    if running(_APP, place, os.environ) is not None:
        echo(f"Its directory stays while it runs: cd {place}")
        return
    os.chdir(parent.parent)
    for left in (parent, Places.of(os.environ, session_id(_APP, str(place))).data):
        shutil.rmtree(left, ignore_errors=True)
