"""`setpoint test`: the tests of the project, run by pytest where the app file is."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import click

from setpoint.cli.support.errors import Failure


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("arguments", metavar="[ARGUMENTS...]", nargs=-1, type=click.UNPROCESSED)
def test(arguments: tuple[str, ...]) -> None:
    """Run the tests of the project with pytest, in the directory of setpoint.yaml; the exit code is pytest's.

    What is given is for pytest: `setpoint test -k shop -x`. The fixture `world` is a server of a test's own.
    """
    from setpoint.cli.app.app_file import find_file

    if importlib.util.find_spec("pytest") is None:
        raise Failure(f"pytest is not installed for {sys.executable}: install it with `pip install pytest`")
    try:
        directory = find_file("").parent
    except Failure:
        directory = Path.cwd()
    raise SystemExit(subprocess.call([sys.executable, "-m", "pytest", *arguments], cwd=directory))
