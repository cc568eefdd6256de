"""Conversions that are not available at once: the signal of synchronous code that needs one, and the types of those
that fetch them.

Most code that handles objects is synchronous, and a webhook takes time. So a function that needs a missing conversion
raises `NotConverted`; a caller that can wait fetches the conversion and calls the function again
(`Resource.converting`). If many objects are read, they are converted together in advance.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from setpoint.merge.updater import Convert
from setpoint.objects.tree import Object


class RequiredConversion(NamedTuple):
    """A required conversion."""

    tree: Object
    from_version: str
    to_version: str


class NotConverted(Exception):  # noqa: N818 - a signal to callers that can wait
    """An object is needed in another version, and the conversion has to be fetched first."""

    def __init__(self, wanted: RequiredConversion) -> None:
        super().__init__(f"{wanted.from_version} was not converted to {wanted.to_version} yet")
        self.wanted = wanted


# Keeps conversions in the cache as long as this value is referenced.
ConvertedObjects: TypeAlias = Sequence[object]
# Converts objects. Raises ConversionFailed.
Fetch: TypeAlias = Callable[[Sequence[RequiredConversion]], Awaitable[ConvertedObjects]]


class Converter(NamedTuple):
    """The conversion between the versions of a definition."""

    # Raises NotConverted if `fetch` has to be called first, and ConversionFailed.
    convert: Convert
    # None if conversions never have to be fetched.
    fetch: Fetch | None = None
