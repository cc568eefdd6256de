"""The traces, metrics and logs of services in an archive: files of the session, line by line, with secrets masked."""

import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from setpoint.past.archive.reader import file_lines
from setpoint.session.archive.secrets import Secrets
from setpoint.store.files import make_directory, make_file
from setpoint.telemetry.errors import MalformedTelemetry
from setpoint.telemetry.held import read_line
from setpoint.telemetry.journal import Journal
from setpoint.telemetry.moments import nanoseconds_of

_FOLDER: Final = "telemetry"
_is_file = re.compile(rf"{_FOLDER}/([0-9]{{1,9}}\.jsonl)").fullmatch


def write_telemetry(
    archive: zipfile.ZipFile,
    directory: Path,
    since: datetime | None,
    secrets: Secrets,
    new: Callable[[str], zipfile.ZipInfo],
) -> None:
    """Writes the records of a session that are not older than `since`."""
    for path in Journal(directory, 0).files():
        lines = _lines(path, nanoseconds_of(since) if since is not None else 0)
        first = next(lines, b"")
        if not first:
            continue
        with archive.open(new(f"{_FOLDER}/{path.name}"), "w", force_zip64=True) as file:
            file.write(secrets.object(first) + b"\n")
            for line in lines:
                file.write(secrets.object(line) + b"\n")


def _lines(path: Path, since: int) -> Iterator[bytes]:
    """Yields the valid lines of a file."""
    with path.open("rb") as file:
        for line in file:
            try:
                if read_line(line).time >= since:
                    yield line.rstrip(b"\n")
            except MalformedTelemetry:
                continue  # such as a line that is being written


def unpack_telemetry(archive: zipfile.ZipFile, directory: Path) -> None:
    """Creates the files of telemetry of a session. Raises BadArchive and OSError."""
    for name in archive.namelist():
        found = _is_file(name)
        if found is None:
            continue
        make_directory(directory)
        path = directory / found[1]
        make_file(path)
        with archive.open(name) as packed, path.open("ab") as file:
            # Lines that are no records are skipped when the files are read.
            file.writelines(file_lines(packed, name))
