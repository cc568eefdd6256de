"""The log of an instance: on standard error, to the socket of its client, and optionally in files.

Lines have DCP's format: time, level, logger and message, separated by tabs. Files contain one JSON object per line, so
that `session-log` can merge the files of a session by time.
"""

import logging
import os
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import click
import msgspec

from setpoint.cli.support.errors import Failure
from setpoint.store.files import make_directory

# The context key under which the group of commands stores its --verbosity.
VERBOSITY = "setpoint.cli.dcp.verbosity"
LOG_SOCKET = "DCP_LOG_SOCKET"
LEVEL = "DCP_DIAGNOSTICS_LOG_LEVEL"
FOLDER = "DCP_DIAGNOSTICS_LOG_FOLDER"
SESSION_ID = "DCP_LOG_SESSION_ID"
SUFFIX = "DCP_LOG_FILE_NAME_SUFFIX"
CONTEXT = "DCP_LOGGING_CONTEXT"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR}
_SOCKET_SECONDS = 2.0

_log = logging.getLogger(__name__)


def set_up(verbosity: str, environ: Mapping[str, str]) -> None:
    """Configures logging according to flags and variables. Raises Failure."""
    verbosity = verbosity or click.get_current_context().meta.get(VERBOSITY, "")
    level = _level(verbosity, "--verbosity") if verbosity else logging.WARNING
    handlers: list[logging.Handler] = []
    if path := environ.get(LOG_SOCKET):
        with suppress(OSError):  # no listener: log to standard error
            handlers.append(_SocketHandler(path))
            # The client filters the messages, so that all informational ones are sent.
            level = min(level, logging.INFO)
    if not handlers:
        handlers.append(logging.StreamHandler())
    handlers[0].setFormatter(_LineFormatter())
    handlers[0].setLevel(level)
    if wanted := environ.get(LEVEL):
        deeper = _level(wanted, LEVEL)
        handlers.append(_file_handler(environ, deeper))
        level = min(level, deeper)
    logging.basicConfig(level=level, handlers=handlers, force=True)
    if context := environ.get(CONTEXT):
        _log.debug("%s", context)


def report(failure: Failure, environ: Mapping[str, str]) -> None:
    """Writes the reason why an instance cannot run to the log of its client: nobody reads the standard error of a
    detached process."""
    if environ.get(LOG_SOCKET) or environ.get(LEVEL):
        _log.error("%s", failure.message)


def folder(environ: Mapping[str, str]) -> Path:
    """Returns the directory of the log files."""
    return Path(environ.get(FOLDER) or Path(tempfile.gettempdir()) / "dcp" / "logs")


def _level(text: str, where: str) -> int:
    """Parses a level: a word, or a number, where larger means more verbose."""
    if text.lower() in _LEVELS:
        return _LEVELS[text.lower()]
    if text.isdigit():
        return logging.INFO if text == "0" else logging.DEBUG
    raise Failure(f"{where}: invalid level {text!r}: use debug, info, error or a number")


def _file_handler(environ: Mapping[str, str], level: int) -> logging.Handler:
    where = folder(environ)
    make_directory(where)
    session = environ.get(SESSION_ID) or f"{os.getpid()}"
    suffix = environ.get(SUFFIX) or f"{os.getpid()}"
    path = where / f"{session}-dcp-{suffix}.log"
    os.close(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    )  # the handler would create a world-readable file
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setLevel(level)
    handler.setFormatter(_JSONFormatter())
    return handler


def _fields(record: logging.LogRecord) -> tuple[str, str, str, str]:
    """Returns the time, level, logger and message of a record."""
    time = datetime.fromtimestamp(record.created).astimezone()
    stamp = f"{time:%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03}{time:%z}"
    level = {"WARNING": "warning", "CRITICAL": "error"}.get(record.levelname, record.levelname.lower())
    text = record.getMessage()
    if record.exc_info:
        text = f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
    return stamp, level, record.name, text


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp, level, name, text = _fields(record)
        return "\t".join((stamp, level, name, text.replace("\n", "\\n")))


class _JSONFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp, level, name, text = _fields(record)
        fields = {"level": level, "ts": stamp, "logger": name, "msg": text, "pid": record.process}
        return msgspec.json.encode(fields).decode()


class _SocketHandler(logging.Handler):
    """Writes lines to a unix socket. Lines are dropped if the reader is gone."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(_SOCKET_SECONDS)
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            self._socket.sendall(self.format(record).encode() + b"\n")

    def close(self) -> None:
        self._socket.close()
        super().close()
