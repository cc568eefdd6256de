"""The requested part of the log of a container."""

from datetime import datetime
from typing import Literal, NamedTuple

LogSource = Literal["All", "Stdout", "Stderr"]


class LogOptions(NamedTuple):
    """The parameters of `pods/log`, with their meaning in Kubernetes."""

    # The log of the run before the present one.
    previous: bool = False
    # Goes on with later lines until the end of the run.
    follow: bool = False
    # The number of lines from the end of the log; None for all.
    tail_lines: int | None = None
    # Only lines of this time or later.
    since: datetime | None = None
    # Every line begins with its time.
    timestamps: bool = False
    # The number of bytes after which the answer ends, within a line if need be; None without a limit.
    limit_bytes: int | None = None
    source: LogSource = "All"
