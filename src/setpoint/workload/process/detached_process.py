"""Starts processes that outlive their starter and its terminal, in sessions of their own."""

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
    """Runs a command, by default with our environment and directory. `descriptors` stay open. Raises OSError."""
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
    """Runs a module of ours; its standard output is a pipe to us. Raises OSError."""
    # Runs in the root directory: a directory in use can be neither removed nor unmounted.
    command = [sys.executable, "-m", module, *arguments]
    return start(command, environ, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, directory="/")


def stop_tracking(process: "subprocess.Popen[bytes]") -> None:
    """Stops tracking the child process, without a warning when the object is deleted."""
    process.returncode = 0
