"""`session-log`: merges the logs of all programs of a session by time."""

import heapq
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from setpoint.cli.dcp.diagnostics import folder
from setpoint.cli.support.errors import Failure


class _Line(msgspec.Struct):
    ts: str = ""


@click.command()
@click.argument("session_id")
@click.option("-o", "--output", metavar="FILE", default="", help="Write to a file instead of standard output.")
@click.option("-s", "--source", metavar="DIRECTORY", default="", help="Directory of the logs.")
def session_log(session_id: str, output: str, source: str) -> None:
    """Print the merged logs of a session's programs."""
    directory = Path(source) if source else folder(os.environ)
    try:
        paths = sorted(
            path for path in directory.iterdir() if path.is_file() and path.name.startswith(f"{session_id}-")
        )
    except OSError as error:
        raise Failure(f"{directory}: {error.strerror}") from None
    if not paths:
        raise Failure(f"{directory} has no logs of session {session_id}: choose another directory with --source")
    with ExitStack() as stack:
        logs = [_lines(stack.enter_context(path.open("rb"))) for path in paths]
        to = sys.stdout.buffer
        if output:
            to = stack.enter_context(os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"))
        for _, line in heapq.merge(*logs, key=lambda each: each[0]):
            to.write(line.rstrip(b"\n") + b"\n")
        to.flush()


def _lines(file: BinaryIO) -> Iterator[tuple[float, bytes]]:
    """Yields the lines with their times. A line without time gets that of the previous one."""
    at = 0.0
    for line in file:
        with suppress(msgspec.MsgspecError, ValueError):
            at = datetime.fromisoformat(msgspec.json.decode(line, type=_Line).ts).timestamp()
        yield at, line
