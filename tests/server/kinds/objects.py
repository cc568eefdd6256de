"""Right objects of every core kind, and the tables of cases that change them."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tests.server.kinds.writes import PLURALS, Place

_CASES = Path(__file__).parent / "cases"
_NAMESPACED = set(PLURALS.values()) - {"Namespace", "Node", "PersistentVolume"}


def load(name: str) -> Any:
    return yaml.safe_load((_CASES / f"{name}.yaml").read_text())


@cache
def bases() -> dict[str, Any]:
    """An object of each kind. Not to be changed."""
    found: dict[str, Any] = load("bases")
    return found


def place_of(kind: str, subresource: str = "") -> Place:
    """Where the object of a kind is."""
    return Place("", kind, "ns" if kind in _NAMESPACED else "", "a", subresource)
