"""The command of a process, its exit, and the errors of a start: with a reason, a message, and the remedy."""

import difflib
import errno
import os
import signal
import stat
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
STOP_SIGNAL = int(signal.SIGTERM)
STOP_GRACE = 6.0


class Terminal(NamedTuple):
    """A terminal device that becomes the process's stdin, stdout and stderr."""

    device: str


class Command(NamedTuple):
    """A process to start. `env` is its whole environment; a `path` without a slash is searched in the PATH of `env`, a
    relative path with a slash starts at `directory`.

    `cookie` marks the process and its descendants (see `Processes.cookie`). A process with `keep` survives the control
    plane. The guardian uses the signal and the grace period if it must stop the process on its own. With
    `exact_env`, the environment has no cookie: the tree of the process is then found by parents and sessions only.
    """

    path: str
    args: Sequence[str]
    env: Mapping[str, str]
    directory: str
    cookie: str
    stdin: bool = False
    terminal: Terminal | None = None
    keep: bool = False
    stop_signal: int = STOP_SIGNAL
    grace: float = STOP_GRACE
    exact_env: bool = False


class Exit(NamedTuple):
    """The end of a process: by an exit code, or by a signal; neither if unknown, because the process was not our
    child."""

    code: int | None
    signal: int | None
    at: datetime


class StartError(Exception):
    """A process could not be started."""

    def __init__(self, reason: str, message: str, remedy: str) -> None:
        super().__init__(f"{message}: {remedy}")
        self.reason, self.message, self.remedy = reason, message, remedy


def program_of(command: Command) -> str:
    """Returns the absolute path of the program of a command. Raises StartError if the program or directory does not
    exist."""
    _check_directory(command.directory)
    for what, values in (("the arguments", command.args), ("the environment", (*command.env, *command.env.values()))):
        if any("\0" in value for value in values):
            raise StartError("BadArgument", f"a NUL character is in {what}", "remove the NUL character")
    for name in command.env:
        if not name or "=" in name:
            raise StartError("BadArgument", f"invalid name of an environment variable: {name!r}", "use another name")
    if not command.path:
        raise StartError("NotFound", "the path of the program is empty", "set the path of the executable")
    if "/" in command.path:
        return os.path.join(command.directory, command.path)
    folders = (command.env.get("PATH") or os.environ.get("PATH") or DEFAULT_PATH).split(":")
    refused = ""
    for folder in folders:
        candidate = os.path.join(command.directory, folder or ".", command.path)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            refused = refused or candidate
    if refused:
        raise _not_executable(refused)
    raise StartError(
        "NotFound",
        f"program {command.path!r} not found in PATH",
        _similar_name(command.path, folders)
        or "install the program, correct its name, use its full path, or add its directory to PATH",
    )


def start_error(command: Command, program: str, number: int, where: str) -> StartError:
    """Returns the error for the system's error number, refined by an inspection of the file system."""
    if where == "directory":
        try:
            _check_directory(command.directory)
        except StartError as error:
            return error
        return _bad_directory(
            f"{command.directory!r} cannot be entered ({os.strerror(number)})", "check its permissions"
        )
    if number == errno.ENOENT:
        interpreter = _interpreter(program)
        if interpreter is not None:
            return StartError(
                "InterpreterNotFound",
                f"the first line of {program!r} requires the interpreter {interpreter!r}, which does not exist",
                "install the interpreter or correct the first line (a carriage return at its end is part of the name)",
            )
        if os.path.exists(program):
            return StartError(
                "InterpreterNotFound",
                f"{program!r} requires a dynamic loader that does not exist on this machine",
                "the program was built for another system: install its libraries or build it for this machine",
            )
        folder, name = os.path.split(program)
        return StartError(
            "NotFound",
            f"program {program!r} does not exist",
            _similar_name(name, [folder]) or "correct the path, or build the program first",
        )
    if number in (errno.EACCES, errno.EPERM):
        if os.path.isdir(program):
            return StartError(
                "PermissionDenied", f"{program!r} is a directory", "use the path of a program in this directory"
            )
        return _not_executable(program)
    if number == errno.ENOEXEC:
        return StartError(
            "BadFormat",
            f"{program!r} is neither a program for this machine nor a script with an interpreter line",
            "begin a script with a line such as #!/bin/sh; build a program for this machine",
        )
    if number == errno.E2BIG:
        return StartError(
            "ArgumentsTooLong",
            "the arguments and the environment are longer than the system allows",
            "pass long values in a file, or inherit less of the environment",
        )
    if number == errno.EAGAIN:
        return StartError("TooManyProcesses", "the system allows no more processes", "stop some, or raise `ulimit -u`")
    if number == errno.ENOMEM:
        return StartError(
            "OutOfMemory", "there is not enough memory for one more process", "stop other processes first"
        )
    if number == errno.ETXTBSY:
        return StartError(
            "Busy", f"{program!r} is being written to", "wait until the build has finished, and start it again"
        )
    return StartError(
        "StartFailed", f"{program!r} could not be started ({os.strerror(number)})", "check the system log"
    )


def _check_directory(directory: str) -> None:
    if not os.path.isabs(directory):
        raise _bad_directory(f"{directory!r} is not an absolute path", "use an absolute path")
    try:
        mode = os.stat(directory).st_mode
    except FileNotFoundError:
        parent, name = os.path.split(directory.rstrip("/"))
        raise _bad_directory(
            f"{directory!r} does not exist",
            _similar_name(name, [parent]) or "create the directory, or correct the path",
        ) from None
    except OSError as error:
        raise _bad_directory(f"{directory!r} cannot be read ({error.strerror})", "check its permissions") from None
    if not stat.S_ISDIR(mode):
        raise _bad_directory(f"{directory!r} is a file", "use the path of its directory")


def _bad_directory(message: str, remedy: str) -> StartError:
    return StartError("BadDirectory", f"the working directory {message}", remedy)


def _not_executable(program: str) -> StartError:
    return StartError(
        "PermissionDenied",
        f"{program!r} is not executable",
        f"make it executable (chmod +x {program}), and check that its file system is not mounted noexec",
    )


def _interpreter(program: str) -> str | None:
    try:
        with open(program, "rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].strip(b" \t\n").split(maxsplit=1)
    return words[0].decode(errors="replace") if words else ""


def _similar_name(name: str, folders: Sequence[str]) -> str:
    names: set[str] = set()
    for folder in folders:
        try:
            names.update(os.listdir(folder or "."))
        except OSError:
            continue
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.7)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""
