"""One page of a list."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.server.registry.resource import Resource
from setpoint.store.contract import Item


class ObjectPage(NamedTuple):
    """Objects at a revision, and the number of remaining objects if requested and known."""

    resource: Resource
    items: Sequence[Item]
    revision: int
    continue_token: str = ""
    remaining: int | None = None
