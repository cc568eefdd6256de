"""What a handler is given beside the object: the context of a reconcile, with what is its own."""

from typing import TYPE_CHECKING, Any

from setpoint.controller.context import Context
from setpoint.controller.status import Status
from setpoint.flow.chain.handler import Handler

if TYPE_CHECKING:
    from setpoint.flow.chain.chain import Chain


class HandlerContext(Context):
    """One call of one handler. The status that it reports is that of the object: all handlers write into the same, and
    it is sent once when the last has ended."""

    def __init__(self, chain: "Chain[Any]", outer: Context, handler: Handler[Any], deadline: float | None) -> None:
        super().__init__(chain, outer.run, deadline)
        self.handler = handler
        # When it wants to be called again.
        self.again: float | None = None
        self._outer = outer

    def requeue_after(self, seconds: float) -> None:
        """Has this handler, and those that come after it, called again in some seconds, though nothing changes. Of
        several times the earliest counts."""
        self.again = seconds if self.again is None else min(self.again, seconds)

    @property
    def attempt(self) -> int:
        """How often this handler was tried since it last succeeded; 0 the first time."""
        return self.handler.limiter.retries(self.request)

    def about(self) -> dict[str, str]:
        about = super().about()
        return {**about, "controller": f"{about['controller']}/{self.handler.name}", "handler": self.handler.name}

    async def load_status(self, found: Any = None) -> Status:
        return await self._outer.load_status(found)

    @property
    def status(self) -> Status:
        return self._outer.status
