"""What a terminal shows, as a text that can be looked at: colours as `‹31›`, their end as `‹›`.

With UPDATE_SNAPSHOTS=1 the texts are written anew; look at what changed.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cli.pseudo_terminal import shown

_SNAPSHOTS = Path(__file__).parent / "snapshots"


def check_looks(name: str, arguments: Sequence[str], columns: int, look: str) -> None:
    """A command looks on a terminal as it did when it was looked at; `look` is plain or colour."""
    environ = {**os.environ, "TERM": "xterm-256color", **({"NO_COLOR": "1"} if look == "plain" else {})}
    text = shown([sys.executable, "-m", "setpoint", *arguments], columns, environ)
    text = re.sub(r"\x1b\[([\d;]+)m", r"‹\1›", text.replace("\x1b[0m", "‹›"))
    file = _SNAPSHOTS / f"{name}-{columns}-{look}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(text)
    assert text == file.read_text()
