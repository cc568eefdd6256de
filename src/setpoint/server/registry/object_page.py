"""Objects that a list found."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.server.registry.resource import Resource
from setpoint.store.contract import Item


class ObjectPage(NamedTuple):
    """Objects as they were at a revision, and how many more there are, if that was asked for and is known."""

    resource: Resource
    items: Sequence[Item]
    revision: int
    continue_token: str = ""
    remaining: int | None = None
