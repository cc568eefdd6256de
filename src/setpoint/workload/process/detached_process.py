"""Processes that outlive whoever starts them, and the terminal they are started from: in sessions of their own."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, TypeAlias

Stream: TypeAlias = int | IO[bytes]


def start(
    command: Sequence[str],
    environ: Mapping[str, str] | None = None,
    *,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = subprocess.DEVNULL,
    stderr: Stream = subprocess.DEVNULL,
    directory: str | None = None,
    descriptors: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Runs a command, by default with our environment and directory. `descriptors` are left open. Raises OSError."""
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=directory,
        env=None if environ is None else dict(environ),
        pass_fds=descriptors,
        start_new_session=True,
    )


def start_module(
    module: str, arguments: Sequence[str], environ: Mapping[str, str], *, stdin: Stream, stderr: Stream
) -> "subprocess.Popen[bytes]":
    """Runs a module of ours; what it says on its standard output is for us. Raises OSError."""
    # Where it stands must not matter: a directory that is in use can be neither removed nor unmounted.
    command = [sys.executable, "-m", module, *arguments]
    return start(command, environ, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, directory="/")


def let_go(process: "subprocess.Popen[bytes]") -> None:
    """It is on its own from now on: nothing is to be waited for, and nothing to be complained of."""
    process.returncode = 0
