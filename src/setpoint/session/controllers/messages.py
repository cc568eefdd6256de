"""What a program of controllers and whoever runs it say to each other: one JSON object a line, over a socket pair.

The one who runs it begins with `Begin`; the program answers `Loaded` or `Refused`, and on `Start` it works. From then
on it tells what its controllers print (`Line`), what they do where somebody wants to see it (`Ran`), and that one of
them blocks (`Blocked`). `Ask` is answered at any time, even while everything else in the program stands still. Who
hears nothing more from the other side ends.
"""

from typing import TypeAlias

import msgspec

from setpoint.controller.overview import Row
from setpoint.objects.reconcile_report import Reconciled, Wanted


class _Message(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    pass


class Begin(_Message, frozen=True):
    """What to load, from where, and which server it is for."""

    directory: str
    module: str
    # Which of the controllers in it; all of them when empty.
    name: str
    kubeconfigs: list[str]
    context: str = ""
    # Whether the kinds that it defines are installed.
    installs: bool = True
    # Whether every reconcile is told of.
    tells_runs: bool = False


class Start(_Message, frozen=True):
    """Work."""


class Ask(_Message, frozen=True):
    """Tell how you do, and what you remember of some reconciles, where they are wanted."""

    number: int
    wanted: Wanted | None = None


class Stop(_Message, frozen=True):
    """Finish the reconciles that run, within so many seconds, and end."""

    seconds: float


class Loaded(_Message, frozen=True):
    """Everything is there to start. `files` are those of the project that it is made of."""

    controllers: list[str]
    files: list[str]
    # What somebody should know though nothing is wrong.
    notes: list[str] = []


class Refused(_Message, frozen=True):
    """It cannot be started; says why, with the place in the file."""

    why: str
    files: list[str]
    # Whether the same files may be fine a moment later: it is the server that does not answer.
    passes: bool = False


class Told(_Message, frozen=True):
    """How its controllers do, for an `Ask`; and what it is made of by now."""

    number: int
    rows: list[Row]
    files: list[str]
    settled: bool
    reconciles: list[Reconciled] = []


class Line(_Message, frozen=True):
    """A line that somebody printed or logged; `controller` is empty where nobody knows whose it is."""

    controller: str
    text: str
    error: bool = False


class Ran(_Message, frozen=True):
    """A reconcile that has ended."""

    controller: str
    object: str
    why: list[str]
    writes: list[str]
    result: str
    seconds: float
    # What it failed with, with the place in the file.
    error: str = ""
    again_after: float | None = None


class Blocked(_Message, frozen=True):
    """Nothing else can run in the program: one of its controllers does not let go."""

    controller: str
    object: str
    where: str
    seconds: float


class Failed(_Message, frozen=True):
    """It ends, though nobody told it to."""

    why: str


ToProgram: TypeAlias = Begin | Start | Ask | Stop
FromProgram: TypeAlias = Loaded | Refused | Told | Line | Ran | Blocked | Failed

_encode = msgspec.json.Encoder().encode
to_program = msgspec.json.Decoder(ToProgram).decode
from_program = msgspec.json.Decoder(FromProgram).decode


def line_of(message: ToProgram | FromProgram) -> bytes:
    """A message as it goes over the wire."""
    return _encode(message) + b"\n"
