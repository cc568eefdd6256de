"""Processes of ours that go on by themselves: they outlive who starts them, and the terminal they are started from."""

import subprocess
import sys
from collections.abc import Mapping, Sequence


def start(
    module: str, arguments: Sequence[str], environ: Mapping[str, str], *, stdin: int, stderr: int
) -> "subprocess.Popen[bytes]":
    """Runs a module in a process of its own; what it says on its standard output is for us. Raises OSError."""
    # Where it stands must not matter: a directory that is in use can be neither removed nor unmounted.
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd="/",
        env=dict(environ),
        start_new_session=True,
    )


def let_go(process: "subprocess.Popen[bytes]") -> None:
    """It is on its own from now on: nothing is to be waited for, and nothing to be complained of."""
    process.returncode = 0
