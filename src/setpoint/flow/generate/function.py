"""The function of a handler: its arguments, and the collection of its results.

The function is called with the object and a mutable status, preceded by the context if there is a third parameter. The
function may be a generator or an async generator, or return an iterable or an awaitable of one. A `def` function runs
in a thread, with a `SyncContext`. A `Result(requeue_after=...)` among the children requests another call after some
seconds.
"""

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from typing import Any

from setpoint.client.kinds import AnyObject, ref_of
from setpoint.controller.context import Context
from setpoint.controller.request import Result, TerminalError
from setpoint.controller.sync_context import SyncContext, is_blocking
from setpoint.schema.types import Resource

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_WITH_CONTEXT = 3


class Function:
    """The function of a handler. Raises TypeError for a wrong signature."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name: str = getattr(function, "__name__", type(function).__name__)
        wanted = [
            each for each in inspect.signature(function).parameters.values() if each.default is inspect.Parameter.empty
        ]
        wanted = [each for each in wanted if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        if len(wanted) not in (_WITH_CONTEXT - 1, _WITH_CONTEXT) or any(
            each.kind not in _POSITIONAL for each in wanted
        ):
            parameters = ", ".join(each.name for each in wanted) or "no arguments"
            raise TypeError(f"{self.name} takes {parameters}: expected (parent, status) or (ctx, parent, status)")
        self._with_context = len(wanted) == _WITH_CONTEXT
        self._is_blocking = is_blocking(function)

    def _call(self, ctx: Context | SyncContext, obj: Any, status: Any) -> Any:
        found = self.function(ctx, obj, status) if self._with_context else self.function(obj, status)
        # An iterator runs where its function was called.
        return list(found) if isinstance(found, Iterator) else found

    async def answer(self, ctx: Context, obj: Any, status: Any) -> Any:
        """Calls the function, in a thread if defined with `def`, and awaits the result if necessary."""
        if self._is_blocking:
            found = await ctx.run_blocking(lambda call: self._call(SyncContext(ctx, call), obj, status))
        else:
            found = self._call(ctx, obj, status)
        return await found if isinstance(found, Awaitable) else found

    async def children(self, ctx: Context, parent: Any, status: Any) -> tuple[list[AnyObject], float | None]:
        """Returns the children, and the seconds until the next call. Raises TerminalError for invalid children."""
        found = await self.answer(ctx, parent, status)
        if isinstance(found, AsyncIterable):
            items = [each async for each in found]
        elif isinstance(found, Iterable) and not isinstance(found, dict | str | bytes):
            items = list(found)
        else:
            what = "None" if found is None else f"a {type(found).__name__}"
            raise TerminalError(f"{self.name} returned {what}: yield the children, or return a list (empty for none)")
        times = [each.requeue_after for each in items if isinstance(each, Result) and each.requeue_after is not None]
        children = [each for each in items if not isinstance(each, Result)]
        for each in children:
            if not isinstance(each, Resource | dict):
                raise TerminalError(f"{self.name} returned a {type(each).__name__}: expected a Resource or a dict")
            try:
                ref_of(each)
            except ValueError as error:
                raise TerminalError(f"{self.name} returned an invalid child: {error}") from None
        return children, min(times, default=None)
