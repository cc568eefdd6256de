"""Paths into a JSON tree of any shape, for rules that are data: `spec.volumes[*].secret.secretName`.

A path goes down by names, `['quoted/names']` and `[*]` (every item of a list, every value of a map). It finds what is
there and never raises on a tree: what has another shape than the path expects has nothing at it.
"""

import re
from functools import lru_cache
from typing import Any

from setpoint.objects.tree import Json

_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\*)\]|\['([^']*)'\]")
_EVERY = None


class PathError(ValueError):
    """A text is no path."""


class Path:
    """A way down a tree. Raises PathError for a text that is none."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[str | None] = []
        at = 0
        while at < len(text):
            found = _STEP.match(text, at)
            if found is None:
                raise PathError(f"{text!r} is no path: it should read like spec.volumes[*].name or metadata['a/b']")
            name, every, quoted = found.groups()
            self._steps.append(_EVERY if every else name if quoted is None else quoted)
            at = found.end()

    def find(self, tree: Json) -> list[Any]:
        """All there is at the path; null counts as not there."""
        values = [tree]
        for step in self._steps:
            following: list[Any] = []
            for value in values:
                if step is not _EVERY:
                    if isinstance(value, dict) and step in value:
                        following.append(value[step])
                elif isinstance(value, list):
                    following += value
                elif isinstance(value, dict):
                    following += value.values()
            if not following:
                return following
            values = following
        return [value for value in values if value is not None]

    def text_at(self, tree: Json) -> str:
        """The first text at the path that is not empty; else the empty one."""
        return next((value for value in self.find(tree) if isinstance(value, str) and value), "")


@lru_cache(maxsize=2048)
def path(text: str) -> Path:
    """A path, read once. Raises PathError."""
    return Path(text)
