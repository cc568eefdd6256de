"""The cases of the comparison with compose-go: directories with Compose files and the recorded answer.

A case is a directory below `cases`, with the optional file `case.json`: `files`, `directory`, `environ`, `profiles`,
`env_files`, `project`. `expected.json` has the answer of compose-go, in which the path of the case is `/case/NAME`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setpoint.app.compose.project import Project
from setpoint.app.compose.resolver import resolve

CASES = Path(__file__).parent / "cases"
# The home directory in all cases.
HOME = "/home/user"


@dataclass
class Case:
    """One case."""

    name: str
    place: Path
    files: list[str] = field(default_factory=list)
    directory: str = "."
    environ: dict[str, str] = field(default_factory=dict)
    profiles: list[str] = field(default_factory=list)
    env_files: list[str] = field(default_factory=list)
    project: str = ""

    @property
    def root(self) -> str:
        """The path of the case in answers."""
        return f"/case/{self.name}"

    def expected(self) -> dict[str, Any]:
        """Returns the recorded answer."""
        answer: dict[str, Any] = json.loads((self.place / "expected.json").read_text())
        return answer

    def read(self, path: str) -> str | None:
        """Reads a file of the case."""
        place = Path(path)
        if not place.is_relative_to(self.root):
            return None
        file = self.place / place.relative_to(self.root)
        return file.read_text() if file.is_file() else None

    def resolve(self) -> Project:
        """Resolves the case with the resolver under test."""
        return resolve(
            self.files,
            directory=Path(self.root) / self.directory,
            read=self.read,
            environ={"HOME": HOME, **self.environ},
            profiles=self.profiles,
            env_files=self.env_files,
            name=self.project,
        )

    def request(self) -> dict[str, Any]:
        """Returns the request for the program on compose-go."""
        return {
            "Directory": str(self.place / self.directory),
            "Files": self.files,
            "Environ": [f"{name}={value}" for name, value in {"HOME": HOME, **self.environ}.items()],
            "Profiles": self.profiles,
            "EnvFiles": self.env_files,
            "Name": self.project,
        }


def cases(folder: str) -> list[Case]:
    """Returns the cases of a folder, `valid` or `invalid`."""
    found = []
    for place in sorted((CASES / folder).iterdir()):
        options = place / "case.json"
        fields = json.loads(options.read_text()) if options.exists() else {}
        found.append(Case(place.name, place, **fields))
    return found


def answer(project: Project) -> dict[str, Any]:
    """Returns a project in the form of the recorded answers."""
    sections = {name: dict(getattr(project, name)) for name in ("networks", "volumes", "secrets", "configs", "jobs")}
    return {
        "project": {
            "name": project.name,
            "services": dict(project.services),
            **{name: inner for name, inner in sections.items() if inner},
            **project.extensions,
        },
        **({"disabled": dict(project.disabled)} if project.disabled else {}),
        **({"models": dict(project.models)} if project.models else {}),
    }


def differences(found: Any, expected: Any, path: str = "") -> list[str]:
    """Returns the paths at which two answers differ, with both values."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return [
            line
            for name in sorted({*found, *expected})
            for line in differences(found.get(name, "missing"), expected.get(name, "missing"), f"{path}.{name}")
        ]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [
            line
            for index, (one, two) in enumerate(zip(found, expected, strict=True))
            for line in differences(one, two, f"{path}[{index}]")
        ]
    is_equal = found == expected and isinstance(found, bool) == isinstance(expected, bool)
    return [] if is_equal else [f"{path}: {found!r}, expected {expected!r}"]
