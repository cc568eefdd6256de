"""The protocol between a worker process and its supervisor: one JSON object per line, over a socket pair.

The supervisor sends `Begin`; the worker answers `Loaded` or `Refused`, and starts its controllers on `Start`. Then the
worker sends the output of its controllers (`PrintedLine`), finished reconciles if requested (`Ran`), and reports of a
blocked event loop (`Blocked`). `StatusRequest` is answered at any time, even while the event loop is blocked. Each side
exits when the other one is gone.
"""

from typing import TypeAlias

import msgspec

from setpoint.controller.overview import Row
from setpoint.objects.reconcile_report import Reconciled, ReconcileQuery


class _Message(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    pass


class Begin(_Message, frozen=True):
    """Loads a module for a server."""

    directory: str
    module: str
    # The controller to run; empty for all.
    name: str
    kubeconfigs: list[str]
    context: str = ""
    # True if the kinds of the module must be installed.
    installs: bool = True
    # True if every reconcile is reported.
    reports_runs: bool = False


class Start(_Message, frozen=True):
    """Starts the controllers."""


class StatusRequest(_Message, frozen=True):
    """Requests the status, and optionally remembered reconciles."""

    number: int
    wanted: ReconcileQuery | None = None


class Stop(_Message, frozen=True):
    """Requests the exit, with a number of seconds for running reconciles."""

    seconds: float


class Loaded(_Message, frozen=True):
    """The module is loaded and ready to start. `files` are the imported files of the project."""

    controllers: list[str]
    files: list[str]
    # Notes for the user that are not errors.
    notes: list[str] = []


class Refused(_Message, frozen=True):
    """The module cannot be started, with the reason and location."""

    why: str
    files: list[str]
    # True if a retry with the same files may succeed, because the server did not answer.
    passes: bool = False


class StatusAnswer(_Message, frozen=True):
    """The answer to an `StatusRequest`: the status of the controllers, and the imported files."""

    number: int
    rows: list[Row]
    files: list[str]
    is_idle: bool
    reconciles: list[Reconciled] = []


class PrintedLine(_Message, frozen=True):
    """A printed or logged line. `controller` is empty if unknown."""

    controller: str
    text: str
    error: bool = False


class Ran(_Message, frozen=True):
    """A finished reconcile."""

    controller: str
    object: str
    why: list[str]
    writes: list[str]
    result: str
    seconds: float
    # The error with its location.
    error: str = ""
    again_after: float | None = None


class Blocked(_Message, frozen=True):
    """The event loop is blocked by a controller."""

    controller: str
    object: str
    where: str
    seconds: float


class Failed(_Message, frozen=True):
    """The worker exits with an error."""

    why: str


ToProgram: TypeAlias = Begin | Start | StatusRequest | Stop
FromProgram: TypeAlias = Loaded | Refused | StatusAnswer | PrintedLine | Ran | Blocked | Failed

_encode = msgspec.json.Encoder().encode
to_program = msgspec.json.Decoder(ToProgram).decode
from_program = msgspec.json.Decoder(FromProgram).decode


def line_of(message: ToProgram | FromProgram) -> bytes:
    """Encodes a message as a line."""
    return _encode(message) + b"\n"
