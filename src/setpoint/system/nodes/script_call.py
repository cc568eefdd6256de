"""Calls of the functions of a script, which may be plain or `async def`, and may fail."""

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

from setpoint.objects.errors import InternalError

C = TypeVar("C")
R = TypeVar("R")


async def call_script(function: Callable[[C], R | Awaitable[R]], call: C, wanted: type[R], container: str) -> R:
    """Returns the result of a function of the script of a container. Raises InternalError if the function fails, or
    returns another type than the wanted one."""
    try:
        answer = function(call)
        result = await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        text = f"the script of container {container} failed: {type(error).__name__}: {error}"
        raise InternalError(text) from error
    if not isinstance(result, wanted):
        raise InternalError(f"the script of container {container} returned no {wanted.__name__}, but {result!r}")
    return result
