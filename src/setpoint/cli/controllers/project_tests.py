"""`setpoint test`: runs the tests of the project with pytest in the directory of the app file."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import click

from setpoint.cli.support.errors import Failure


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("arguments", metavar="[ARGUMENTS...]", nargs=-1, type=click.UNPROCESSED)
def test(arguments: tuple[str, ...]) -> None:
    """Run the tests of the project with pytest in the directory of setpoint.yaml, and exit with pytest's exit code.

    All arguments are passed to pytest: `setpoint test -k shop -x`. The fixture `world` provides a server for each test.
    """
    from setpoint.cli.app.app_file import find_own_file

    if importlib.util.find_spec("pytest") is None:
        raise Failure(f"pytest is not installed for {sys.executable}: install it with `pip install pytest`")
    try:
        directory = find_own_file().parent
    except Failure:
        directory = Path.cwd()
    raise SystemExit(subprocess.call([sys.executable, "-m", "pytest", *arguments], cwd=directory))
