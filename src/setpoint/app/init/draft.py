"""The draft of an app file: services and tasks as trees, with comments about their origin, and notes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from setpoint.objects import yamltext
from setpoint.objects.tree import Json, Object

_SECTIONS = ("volumes", "networks", "secrets")


class Proposed(NamedTuple):
    """A proposed service or task: its command, and comments about the origin and guesses."""

    name: str
    is_task: bool
    runs: str
    comments: tuple[str, ...]


def python_files(directory: str) -> Json:
    """Returns the files to watch for a Python program. For a whole project, excludes the tests, and the controllers,
    which are reloaded separately."""
    files = f"{directory}**/*.py"
    return [files] if directory else {"paths": [files], "ignore": ["test_*", "controllers/"]}


class Proposal(NamedTuple):
    """A proposed app file, and notes for its author. `found` are the files that were used."""

    text: str
    notes: tuple[str, ...]
    found: tuple[str, ...]
    parts: tuple[Proposed, ...] = ()


@dataclass
class Draft:
    """The content of the draft, with the names of the app file."""

    services: dict[str, Object] = field(default_factory=dict)
    tasks: dict[str, Object] = field(default_factory=dict)
    sections: dict[str, Object] = field(default_factory=dict)
    # Comments by the name of the service or task.
    comments: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # The files that were used.
    found: list[str] = field(default_factory=list)

    def service(self, name: str, fields: Object, *comments: str) -> None:
        self._add(self.services, name, fields, comments)

    def task(self, name: str, fields: Object, *comments: str) -> None:
        self._add(self.tasks, name, fields, comments)

    def _add(self, section: dict[str, Object], name: str, fields: Object, comments: tuple[str, ...]) -> None:
        if name in self.services or name in self.tasks:
            self.note(f"duplicate name {name}; the second was left out")
            return
        section[name] = fields
        self.comments[name] = list(comments)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def record_source(self, file: str) -> None:
        if file not in self.found:
            self.found.append(file)

    def proposal(self, app: str) -> Proposal:
        """Returns the file as text."""
        lines = [f"# Written by `setpoint init`{f', from {_listed(self.found)}' if self.found else ''}."]
        lines += (f"# Note: {note}." for note in self.notes)
        lines += ["", f"app: {app}"]
        for name, section in (("services", self.services), ("tasks", self.tasks)):
            if section:
                lines += ["", f"{name}:"]
                for each, fields in section.items():
                    lines += (f"  # {comment}" for comment in self.comments[each])
                    lines += _indented(yamltext.dump({each: fields}, in_order=True), "  ")
        for name in _SECTIONS:
            if self.sections.get(name):
                lines += ["", *yamltext.dump({name: self.sections[name]}, in_order=True).splitlines()]
        return Proposal("\n".join(lines) + "\n", tuple(self.notes), tuple(self.found), tuple(self._parts()))

    def _parts(self) -> Iterator[Proposed]:
        for section in (self.services, self.tasks):
            for name, fields in section.items():
                build = fields.get("build")
                context = build.get("context", ".") if isinstance(build, dict) else build
                words = fields.get("run") or fields.get("image") or f"build {context}"
                runs = words if isinstance(words, str) else " ".join(map(str, words))
                yield Proposed(name, section is self.tasks, runs, tuple(self.comments[name]))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _indented(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}" if line else "" for line in text.splitlines()]
