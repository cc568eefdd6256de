"""Conversion by a Python function in the server's process, as an alternative to a webhook.

A function receives an object, its `apiVersion` and the wanted one, and returns the object in that version. The function
gets a copy, which it may change and return. The result has to meet the same requirements as that of a webhook, so the
same function behind a URL behaves the same.
"""

import inspect
import logging
from collections.abc import Callable
from typing import TypeAlias

from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.conversion import review
from setpoint.server.registry.conversion.review import Batch

ConversionFunction: TypeAlias = Callable[[Object, str, str], Object]

_log = logging.getLogger(__name__)


def check_function(name: str, function: ConversionFunction) -> None:
    """Raises TypeError if a function cannot be used for conversions."""
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise TypeError(
            f"the conversion of {name} must be a plain function (object, from_version, to_version) -> object: "
            "conversions run in synchronous code"
        )


class FunctionConverter:
    """Converts the objects of one definition with a function."""

    def __init__(self, function: ConversionFunction) -> None:
        self._function = function

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """Returns the object in another version. Raises ConversionFailed."""
        if from_version == to_version or review.is_empty(tree):
            return {**tree, "apiVersion": to_version}
        seen = review.shown(tree)
        batch = Batch("conversion function", [seen], from_version, to_version)
        try:
            made = self._function(copy(seen), from_version, to_version)
            codec.check_tree(made)
        except APIError as error:
            raise batch.failed(error.message, review.MALFORMED) from None
        except Exception as error:
            _log.exception("the conversion from %s to %s failed", from_version, to_version)
            raise batch.failed(f"{type(error).__name__}: {error}", review.CALL) from None
        # The result may be part of the function's own state, so later changes must not affect it.
        [checked] = batch.checked([copy(made)])
        metadata = tree.get("metadata")
        if type(metadata) is dict and "resourceVersion" in metadata:
            checked["metadata"]["resourceVersion"] = metadata["resourceVersion"]
        return checked
