"""Paths into a JSON tree of any shape, for declarative rules: `spec.volumes[*].secret.secretName`.

A path descends by names, `['quoted/names']` and `[*]` (every item of a list, every value of a map). A search never
raises: a tree of another shape has no value at the path.
"""

import re
from functools import lru_cache
from typing import Any

from setpoint.objects.tree import Json

_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\*)\]|\['([^']*)'\]")
_EVERY = None


class PathError(ValueError):
    """An invalid path."""


class Path:
    """A path into a tree. Raises PathError for an invalid text."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[str | None] = []
        at = 0
        while at < len(text):
            found = _STEP.match(text, at)
            if found is None:
                raise PathError(f"invalid path {text!r}: expected e.g. spec.volumes[*].name or metadata['a/b']")
            name, every, quoted = found.groups()
            self._steps.append(_EVERY if every else name if quoted is None else quoted)
            at = found.end()

    def find(self, tree: Json) -> list[Any]:
        """Returns all values at the path; null counts as missing."""
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
        """Returns the first non-empty string at the path; else an empty one."""
        return next((value for value in self.find(tree) if isinstance(value, str) and value), "")


@lru_cache(maxsize=2048)
def path(text: str) -> Path:
    """Returns a cached path. Raises PathError."""
    return Path(text)
