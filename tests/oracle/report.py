"""The differences of a run, grouped by class, and the text that tells about them."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml
from tests.oracle.comparison import Difference, class_of
from tests.oracle.episode import Finding
from tests.oracle.request import Request

_INTENDED = Path(__file__).with_name("intended.yaml")


class Intended(NamedTuple):
    """A rule of the table of intended differences."""

    reason: str
    of_class: re.Pattern[str]
    of_request: re.Pattern[str]
    # One of the earlier requests of the episode contains this; none if there is no such condition.
    before: re.Pattern[str] | None = None
    # True if the request is the first update of its object.
    is_first: bool = False

    def covers(self, name: str, finding: Finding) -> bool:
        """Returns True if the rule explains a difference of the class."""
        if not self.of_class.fullmatch(name) or not self.of_request.search(finding.request.told()):
            return False
        before = self.before
        if before is not None and not any(before.search(request.told()) for request in finding.history[:-1]):
            return False
        return not self.is_first or _is_first_update(finding)


def _is_first_update(finding: Finding) -> bool:
    """Returns True if no earlier request updated the object since its creation."""
    wanted = _object_of(finding.request)
    for request, code in zip(reversed(finding.history[:-1]), reversed(finding.codes[:-1]), strict=True):
        if code >= 400 or ("dryRun", "All") in request.query or _object_of(request) != wanted:
            continue
        if request.method in ("PUT", "PATCH") and code != 201:
            return False
        if request.method == "DELETE" or code == 201:
            break
    return True


def _object_of(request: Request) -> str:
    return request.path.removesuffix(f"/{request.subresource}") if request.subresource else request.path


def intended() -> list[Intended]:
    """The table of intended differences."""
    return [
        Intended(
            rule["reason"],
            re.compile(rule["class"], re.DOTALL),
            re.compile(rule.get("request", "")),
            re.compile(rule["before"]) if "before" in rule else None,
            bool(rule.get("first")),
        )
        for rule in yaml.safe_load(_INTENDED.read_text())
    ]


@dataclass
class Group:
    """The differences of one class. `example` is the smallest finding so far."""

    name: str
    example: Finding
    difference: Difference
    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        """The class in Markdown."""
        kinds = ", ".join(f"{kind} ({count})" for kind, count in self.kinds.most_common(6))
        more = f" and {len(self.kinds) - 6} more" if len(self.kinds) > 6 else ""
        requests = "\n".join(_clipped(request.told(), 1200) for request in self.example.history[-4:])
        return (
            f"### {self.count} × {self.name}\n\nKinds: {kinds}{more}\n\n```\n{requests}\n```\n\n"
            f"- real: `{_clipped(self.difference.real, 400)}`\n- ours: `{_clipped(self.difference.ours, 400)}`\n"
        )


@dataclass
class Report:
    """The counts of a run, its classes of differences, and the intended ones."""

    seed: int
    count: int = 0
    succeeded: int = 0
    seconds: float = 0.0
    differing: int = 0
    groups: dict[str, Group] = field(default_factory=dict)
    meant: Counter[str] = field(default_factory=Counter)
    rules: list[Intended] = field(default_factory=intended)

    def add(self, finding: Finding) -> None:
        """Counts a finding."""
        unexplained = False
        for difference, name in _classed(finding):
            rule = next((rule for rule in self.rules if rule.covers(name, finding)), None)
            if rule is not None:
                self.meant[rule.reason] += 1
                continue
            unexplained = True
            if name not in self.groups:
                self.groups[name] = Group(name, finding, difference)
            group = self.groups[name]
            group.count += 1
            group.kinds[finding.request.kind] += 1
            if len(finding.history) < len(group.example.history):
                group.example, group.difference = finding, difference
        self.differing += unexplained

    def ranked(self) -> list[Group]:
        return sorted(self.groups.values(), key=lambda group: (-group.count, group.name))

    def told(self) -> str:
        """The report in Markdown."""
        share = self.succeeded / max(self.count, 1)
        head = (
            f"# Differences, seed {self.seed}\n\n{self.count} requests compared in {self.seconds:.0f} s "
            f"({self.count / max(self.seconds, 0.001):.0f} a second), {share:.1%} succeeded on the real server; "
            f"{self.differing} differ without an explanation, in {len(self.groups)} classes.\n"
        )
        meant = "".join(f"- {count} × {reason}\n" for reason, count in self.meant.most_common())
        index = "".join(f"{number}. {group.count} × {group.name}\n" for number, group in enumerate(self.ranked(), 1))
        return "\n".join(
            (head, "## Intended\n", meant, "## Index\n", index, "## Classes\n", *map(Group.told, self.ranked()))
        )


def _classed(finding: Finding) -> list[tuple[Difference, str]]:
    found: dict[str, Difference] = {}
    for difference in finding.compared.differences:
        found.setdefault(class_of(finding.request, difference), difference)
    return [(difference, name) for name, difference in found.items()]


def _clipped(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[:size]}…"
