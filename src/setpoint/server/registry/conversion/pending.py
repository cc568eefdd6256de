"""Conversions that cannot be had at once: what synchronous code says that needs one, and who has them made.

Most of what handles objects is plain functions, and a webhook takes its time. So a function that needs a conversion
which is not at hand stops with `NotConverted`; whoever called it and can wait has it made and calls it once more
(`Resource.converting`). Where many objects are read they are converted together beforehand.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from setpoint.merge.updater import Convert
from setpoint.objects.tree import Object


class Wanted(NamedTuple):
    """A conversion that somebody needs."""

    tree: Object
    from_version: str
    to_version: str


class NotConverted(Exception):  # noqa: N818 - a signal to who can wait for it
    """An object is needed in another version, and somebody else has to be asked for it first."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(f"{wanted.from_version} was not converted to {wanted.to_version} yet")
        self.wanted = wanted


# What keeps conversions at hand, for as long as it is kept itself.
Held: TypeAlias = Sequence[object]
# Has objects converted. Raises ConversionFailed.
Fetch: TypeAlias = Callable[[Sequence[Wanted]], Awaitable[Held]]


class Converter(NamedTuple):
    """How the objects of a definition get from one version to another."""

    # Raises NotConverted where `fetch` has to be asked first, and ConversionFailed.
    convert: Convert
    # None where nobody ever has to wait.
    fetch: Fetch | None = None
