"""A sampling profiler of this process: a thread records the stacks of all other threads a hundred times a second.

The result is a file for https://www.speedscope.app. Sampling costs little and requires no changes to the profiled code.
"""

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import msgspec

from setpoint.objects.tree import Object
from setpoint.store.files import make_directory, write_private

INTERVAL_SECONDS = 0.01
_MOST_FRAMES = 128


class Profile:
    """The sampled stacks of the threads of this process. With `cpu`, only samples of threads that used CPU time."""

    def __init__(self, *, cpu: bool) -> None:
        self._cpu = cpu
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="setpoint-profile", daemon=True)
        self._stacks: dict[str, Counter[tuple[str, ...]]] = {}
        self._spent: dict[int, float] = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops sampling and waits for the sampling thread to end."""
        self._ended.set()
        self._thread.join()

    def write(self, path: Path, name: str) -> None:
        """Writes the samples to a file. Raises OSError."""
        make_directory(path.parent)
        write_private(path, msgspec.json.encode(self.to_speedscope(name)))

    def to_speedscope(self, name: str) -> Object:
        """Returns the samples in speedscope's format: one profile per thread, with sorted stacks so that equal stacks
        are adjacent."""
        frames: dict[str, int] = {}
        profiles = []
        for thread, stacks in sorted(self._stacks.items()):
            samples = [[frames.setdefault(each, len(frames)) for each in stack] for stack in sorted(stacks)]
            weights = [count * INTERVAL_SECONDS for _, count in sorted(stacks.items())]
            profiles.append(
                {
                    "type": "sampled",
                    "name": thread,
                    "unit": "seconds",
                    "startValue": 0,
                    "endValue": sum(weights),
                    "samples": samples,
                    "weights": weights,
                }
            )
        return {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "name": name,
            "exporter": "setpoint",
            "shared": {"frames": [{"name": each} for each in frames]},
            "profiles": profiles,
        }

    def _sample(self) -> None:
        own = threading.get_ident()
        while not self._ended.wait(INTERVAL_SECONDS):
            names = {each.ident: each.name for each in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                if ident != own and ident in names and not (self._cpu and self._is_idle(ident)):
                    self._stacks.setdefault(names[ident], Counter())[_stack(frame)] += 1

    def _is_idle(self, ident: int) -> bool:
        """Returns True if the thread has used no CPU time since the last sample."""
        try:
            spent = time.clock_gettime(time.pthread_getcpuclockid(ident))
        except (AttributeError, OSError):
            return False  # without a CPU clock per thread, every sample counts
        before, self._spent[ident] = self._spent.get(ident, 0.0), spent
        return spent - before < INTERVAL_SECONDS / 10


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """Returns the calls of a stack, the outermost first."""
    found: list[str] = []
    while frame is not None and len(found) < _MOST_FRAMES:
        code = frame.f_code
        found.append(f"{code.co_qualname} ({frame.f_globals.get('__name__', code.co_filename)})")
        frame = frame.f_back
    return tuple(reversed(found))
