"""The cells of kind, verb, patch type and subresource that requests covered, and the cells that they did not."""

from collections import Counter
from collections.abc import Iterable

from tests.oracle.kinds import Kind
from tests.oracle.options import CONTENT_TYPES
from tests.oracle.request import Request
from tests.oracle.subresources import MAKERS

Cell = tuple[str, str, str, str]
_VERBS = ("create", "get", "list", "watch", "update", "delete", "deletecollection")


class Coverage:
    """Counts compared requests by cell."""

    def __init__(self) -> None:
        self.sent: Counter[Cell] = Counter()
        self.succeeded: Counter[Cell] = Counter()

    def add(self, request: Request, code: int) -> None:
        cell = (request.kind, request.verb, request.patch, request.subresource)
        self.sent[cell] += 1
        if 200 <= code < 400:
            self.succeeded[cell] += 1

    def gaps(self, kinds: Iterable[Kind]) -> tuple[int, list[Cell]]:
        """The number of cells that discovery names, and those without a request that succeeded."""
        wanted = [cell for kind in kinds for cell in cells(kind)]
        return len(wanted), [cell for cell in wanted if not self.succeeded[cell]]


def cells(kind: Kind) -> list[Cell]:
    """The cells of a kind, by its verbs and subresources."""
    found = [(kind.name, verb, "", "") for verb in _VERBS if verb in kind.verbs]
    if "patch" in kind.verbs:
        found += [(kind.name, "patch", patch, "") for patch in _patches(kind)]
    for name, verbs in kind.subresources.items():
        found += [(kind.name, verb, "", name) for verb in _VERBS if verb in verbs and name in MAKERS]
        if "patch" in verbs and name == "status":
            found += [(kind.name, "patch", patch, name) for patch in _patches(kind)]
    return found


def _patches(kind: Kind) -> list[str]:
    """The patch types of a kind; custom resources have no strategic merge patch."""
    return [patch for patch in CONTENT_TYPES if patch != "strategic" or not kind.group.endswith("example.com")]


def grouped(gaps: Iterable[Cell]) -> list[tuple[str, list[str]]]:
    """The kinds of the gaps, by verb, patch type and subresource; those of most kinds first."""
    found: dict[str, list[str]] = {}
    for kind, *rest in gaps:
        found.setdefault(" ".join(part for part in rest if part), []).append(kind)
    return sorted(found.items(), key=lambda pair: -len(pair[1]))
