"""The resolved project of Compose files, and the problems of files that cannot be resolved."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from setpoint.objects.tree import Object

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class Reader(Protocol):
    """Reads files for the resolver."""

    def __call__(self, path: str, /) -> str | None:
        """Returns the text of the file at an absolute path, or None if there is no such file. Raises OSError or
        UnicodeDecodeError if the file cannot be read."""


class Problem(NamedTuple):
    """A fault of one value. `path` has the form `services.web.ports[0]`; `text` names the reason and the remedy. A
    fault of a complete file has line 0."""

    file: str
    line: int
    column: int
    path: str
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return ": ".join(part for part in (where, self.path, self.text) if part)


class ComposeError(ValueError):
    """All problems of the files, in the order of files and lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda each: each[:3]))
        super().__init__("\n".join(map(str, self.problems)))


def no_position(parts: Sequence[str | int]) -> tuple[str, int, int]:
    """Returns no position, for a project without files."""
    return "", 0, 0


@dataclass(frozen=True)
class Project:
    """A resolved project. Each service has the long form that `docker compose config --format json` prints."""

    name: str
    services: Mapping[str, Object]
    """The enabled services."""
    disabled: Mapping[str, Object]
    """The services that the selected profiles leave out."""
    profiles: tuple[str, ...] = ()
    """The selected profiles."""
    networks: Mapping[str, Object] = field(default_factory=dict)
    volumes: Mapping[str, Object] = field(default_factory=dict)
    secrets: Mapping[str, Object] = field(default_factory=dict)
    configs: Mapping[str, Object] = field(default_factory=dict)
    models: Mapping[str, Object] = field(default_factory=dict)
    jobs: Mapping[str, Object] = field(default_factory=dict)
    extensions: Mapping[str, Any] = field(default_factory=dict)
    """The top-level keys that begin with `x-`."""
    files: tuple[str, ...] = ()
    """All files that were read: Compose files and files of variables and labels."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables for interpolation: the environment and the `.env` files."""
    warnings: tuple[Problem, ...] = ()
    locate: Callable[[Sequence[str | int]], tuple[str, int, int]] = no_position

    def position(self, path: str) -> tuple[str, int, int]:
        """Returns file, line and column of the value at a path such as `services.web.ports[0]`, or of its nearest
        parent with a known position. Line and column begin with 1."""
        return self.locate([int(index) if index else name for index, name in _PART.findall(path)])
