"""How far a pull or a build is, from the JSON lines that an engine sends while it works.

The last word counts: an engine that fails says so in a line of a stream that began well.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from setpoint.workload.engine.errors import EngineError, error_from

# Docker writes `Step 1/3 : FROM x`, Podman `STEP 1/3: FROM x`.
_STEP = re.compile(r"^step (\d+)/(\d+) ?: ?(.*)$", re.IGNORECASE)
_IMAGE_ID = re.compile(r"^(?:sha256:)?[0-9a-f]{64}$")
_DONE = ("pull complete", "already exists", "download complete", "verifying checksum")


class Progress(NamedTuple):
    """How far it is. `line` is what to show of this moment; bytes are of all layers known so far; steps are a
    build's."""

    line: str
    done_bytes: int = 0
    total_bytes: int = 0
    step: int = 0
    steps: int = 0
    # Of a build: what the programs that it runs print, rather than what the engine says.
    image_id: str = ""


class PullProgress:
    """Adds up the layers of a pull."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}

    def take(self, message: Mapping[str, Any], otherwise: type[EngineError]) -> Progress:
        """What a message says. Raises the error that it reports."""
        check(message, otherwise)
        layer, status = str(message.get("id") or ""), str(message.get("status") or message.get("stream") or "").strip()
        detail = message.get("progressDetail") or {}
        known = self._layers.get(layer, (0, 0))
        if detail.get("total") and status.lower() == "downloading":
            self._layers[layer] = (int(detail.get("current") or 0), int(detail["total"]))
        elif status.lower() in _DONE and known[1]:
            self._layers[layer] = (known[1], known[1])
        done = sum(layer[0] for layer in self._layers.values())
        total = sum(layer[1] for layer in self._layers.values())
        is_id = bool(_IMAGE_ID.match(layer)) and layer.removeprefix("sha256:") == status.removeprefix("sha256:")
        line = status if not layer or is_id else f"{layer}: {status}"
        return Progress(line, done, total, image_id=layer if is_id else "")


class BuildProgress:
    """Follows the steps of a build; what it pulls on the way counts as bytes."""

    def __init__(self) -> None:
        self._pull = PullProgress()
        self._step = self._steps = 0
        self.image_id = ""

    def take(self, message: Mapping[str, Any], otherwise: type[EngineError]) -> Progress:
        """What a message says. Raises the error that it reports."""
        check(message, otherwise)
        made = (message.get("aux") or {}).get("ID")
        if made:
            self.image_id = str(made)
        text = str(message.get("stream") or "")
        step = _STEP.match(text.strip())
        if step:
            self._step, self._steps = int(step[1]), int(step[2])
        pulled = self._pull.take(message, otherwise)
        return Progress(
            text.rstrip("\n") if text else pulled.line,
            pulled.done_bytes,
            pulled.total_bytes,
            self._step,
            self._steps,
            self.image_id,
        )


def check(message: Mapping[str, Any], otherwise: type[EngineError]) -> None:
    """Raises the error that a message reports."""
    text = message.get("error") or (message.get("errorDetail") or {}).get("message")
    if text:
        raise error_from(0, str(text).strip(), otherwise)
