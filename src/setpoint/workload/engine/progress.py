"""The progress of a pull or a build, from the JSON lines that an engine sends.

A failure is reported in a line of the stream, after a successful status code.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from setpoint.workload.engine.errors import EngineError, error_from

# Docker writes `Step 1/3 : FROM x`, Podman `STEP 1/3: FROM x`.
_STEP = re.compile(r"^step (\d+)/(\d+) ?: ?(.*)$", re.IGNORECASE)
_IMAGE_ID = re.compile(r"^(?:sha256:)?[0-9a-f]{64}$")
_DONE = ("pull complete", "already exists", "download complete", "verifying checksum")


class ImageProgress(NamedTuple):
    """The progress of a pull or build. `line` is the text to show; bytes are the sum of all known layers; steps are
    those of a build."""

    line: str
    done_bytes: int = 0
    total_bytes: int = 0
    step: int = 0
    steps: int = 0
    # The id of the image once known.
    image_id: str = ""


class PullProgress:
    """Sums up the layers of a pull."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}

    def update(self, message: Mapping[str, Any], default: type[EngineError]) -> ImageProgress:
        """Returns the progress after a message. Raises the error that the message reports."""
        check(message, default)
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
        return ImageProgress(line, done, total, image_id=layer if is_id else "")


class BuildProgress:
    """Tracks the steps of a build, and the bytes of its pulls."""

    def __init__(self) -> None:
        self._pull = PullProgress()
        self._step = self._steps = 0
        self.image_id = ""

    def update(self, message: Mapping[str, Any], default: type[EngineError]) -> ImageProgress:
        """Returns the progress after a message. Raises the error that the message reports."""
        check(message, default)
        made = (message.get("aux") or {}).get("ID")
        if made:
            self.image_id = str(made)
        text = str(message.get("stream") or "")
        step = _STEP.match(text.strip())
        if step:
            self._step, self._steps = int(step[1]), int(step[2])
        pulled = self._pull.update(message, default)
        return ImageProgress(
            text.rstrip("\n") if text else pulled.line,
            pulled.done_bytes,
            pulled.total_bytes,
            self._step,
            self._steps,
            self.image_id,
        )


def check(message: Mapping[str, Any], default: type[EngineError]) -> None:
    """Raises the error that a message reports."""
    text = message.get("error") or (message.get("errorDetail") or {}).get("message")
    if text:
        raise error_from(0, str(text).strip(), default)
