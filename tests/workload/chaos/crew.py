"""What runs under a control plane that is killed, whatever it is: what a scenario has it do, and asks of it."""

from collections.abc import Callable
from typing import Protocol

from setpoint.client.client import Client
from setpoint.objects import meta
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object

_SECONDS = 60.0


class Crew(Protocol):
    """Some workloads: some end with the control plane, some are kept."""

    async def apply(self, client: Client) -> None:
        """Creates whatever is not there yet."""

    async def converge(self, client: Client) -> None:
        """Returns when all that should run does. Those that are kept must be the ones that ran before."""

    async def disturb(self, client: Client) -> None:
        """Has some of them do something, so that a kill may come in the middle of it."""

    async def check(self) -> None:
        """The control plane has ended: nothing of the session is left, nothing is lost that is kept, nothing twice."""

    async def retire(self, client: Client) -> None:
        """Ends those that are kept."""

    async def left(self) -> list[str]:
        """Whatever is there."""

    async def clear(self) -> None:
        """Sees that no test leaves anything behind."""


async def ensure(client: Client, tree: Object) -> None:
    """Creates an object that is not there; one that is about to go is gone first."""
    kind, name = _kind(tree), meta.name(tree)
    try:
        await client.create(tree)
    except AlreadyExists:
        there = await client.wait_for(kind, name, until=lambda _: True, timeout=_SECONDS)
        if there is None or meta.is_being_deleted(there):
            await client.wait_for(kind, name, until="delete", timeout=_SECONDS)
            await client.create(tree)


async def until(client: Client, kind: str, name: str, is_so: Callable[[Object], bool]) -> Object:
    """The status of an object, as soon as it is so."""
    seen: Object = {}

    def looked(tree: Object | None) -> bool:
        nonlocal seen
        seen = (tree or {}).get("status") or {}
        return is_so(seen)

    try:
        await client.wait_for(kind, name, until=looked, timeout=_SECONDS)
    except TimeoutError:
        raise AssertionError(f"{name} is not as it should be: {seen}") from None
    return seen


def _kind(tree: Object) -> str:
    return f"{tree['apiVersion']}/{tree['kind']}"
