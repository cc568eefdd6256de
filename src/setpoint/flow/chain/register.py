"""The registration of handlers: decorators of a chain, or of a `registration` block.

@nodes.on_change("label-zone", after=["cloud-init"], timeout=30)
async def label_zone(ctx: HandlerContext, node: Node) -> Node | None: ...

async with nodes.registration() as new:
    @new.on_change("first", after=["second"]) ...
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeAlias

from setpoint.client.kinds import Obj
from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.flow.chain.handler import (
    DELETE,
    REMOVE,
    ChainHandler,
    Function,
    Gone,
    HandlerChain,
    HandlerContext,
    Settings,
    SyncHandlerContext,
)
from setpoint.flow.chain.order import RegistrationError
from setpoint.objects.names import qualified_name

# A `def` function runs in a thread.
OnChange: TypeAlias = (
    Callable[[HandlerContext[Obj], Obj], Awaitable[Obj | None]] | Callable[[SyncHandlerContext[Obj], Obj], Obj | None]
)
OnDelete: TypeAlias = (
    Callable[[HandlerContext[Obj], Gone[Obj]], Awaitable[None]] | Callable[[SyncHandlerContext[Obj], Gone[Obj]], None]
)

# The default timeout of a call, as for a reconcile.
TIMEOUT_SECONDS = 300.0


class Registrar(ABC, Generic[Obj]):
    """The base of objects on which handlers can be registered, also at run time. Each decorator returns the handler."""

    @abstractmethod
    def _chain(self) -> HandlerChain:
        """Returns the chain of the handlers."""

    @abstractmethod
    def _add_handler(self, handler: ChainHandler[Any]) -> None:
        """Adds a handler. Raises RegistrationError."""

    def on_change(
        self,
        name: str,
        *,
        after: Sequence[str] = (),
        timeout: float | None = TIMEOUT_SECONDS,
        backoff: Callable[[], RateLimiter] = Exponential,
        deleting: bool = False,
        once: bool = False,
        field_manager: str = "",
    ) -> "Callable[[OnChange[Obj]], ChainHandler[Obj]]":
        """Calls a function for every existing object, and on every change.

        The next handler gets the returned object; None passes the object unchanged. `after` names handlers that must
        succeed first: the function is not called for an object while one of them fails. With `deleting`, the function
        is called for terminating objects, too. With `once`, the function is called once for each generation: its
        success is recorded in the status, and holds for later processes.

            @nodes.on_change("label-zone", after=["cloud-init"], timeout=30)
            async def label_zone(ctx: HandlerContext, node: Node) -> Node | None: ...
        """
        settings = Settings(
            name=name,
            after=tuple(after),
            timeout=timeout,
            backoff=backoff,
            deleting=deleting,
            once=once,
            field_manager=field_manager,
        )
        return lambda function: self._register(function, settings)

    def on_delete(
        self,
        name: str,
        *,
        after: Sequence[str] = (),
        timeout: float | None = TIMEOUT_SECONDS,
        backoff: Callable[[], RateLimiter] = Exponential,
    ) -> "Callable[[OnDelete[Obj]], ChainHandler[Gone[Obj]]]":
        """Calls a function for every deleted object, with its last known state.

        Deletions while this process does not run are not reported: use `on_remove` for required cleanup.

            @nodes.on_delete("forget")
            async def forget(ctx: HandlerContext, gone: Gone[Node]) -> None: ...
        """
        settings = Settings(name=name, event=DELETE, after=tuple(after), timeout=timeout, backoff=backoff)
        return lambda function: self._register(function, settings)

    def on_remove(
        self,
        name: str,
        *,
        finalizer: str = "",
        after: Sequence[str] = (),
        timeout: float | None = TIMEOUT_SECONDS,
        backoff: Callable[[], RateLimiter] = Exponential,
        once: bool = False,
        field_manager: str = "",
    ) -> "Callable[[OnChange[Obj]], ChainHandler[Obj]]":
        """Calls a function for every terminating object, which stays until the function succeeds.

        The finalizer is added to every object before any handler is called. Default is the finalizer of the chain; a
        finalizer is never derived from the handler's name, so that handlers can be renamed. The finalizer stays while
        the function fails, raises `Requeue` or raises `Skip`. With `once`, a function that has succeeded is not called
        again while other handlers fail, also by later processes.

            @nodes.on_remove("release", finalizer="example.com/nodes")
            async def release(ctx: HandlerContext, node: Node) -> None: ...
        """
        finalizer = finalizer or self._chain().finalizer
        if not finalizer:
            raise RegistrationError(
                f"{name} needs a finalizer: on_remove({name!r}, finalizer='example.com/{name}'), "
                "or set a default, Chain(Kind, finalizer='example.com/clean-up')"
            )
        check_finalizer(finalizer)
        settings = Settings(
            name=name,
            event=REMOVE,
            after=tuple(after),
            timeout=timeout,
            backoff=backoff,
            finalizer=finalizer,
            once=once,
            field_manager=field_manager,
        )
        return lambda function: self._register(function, settings)

    def _register(self, function: Function[Any], settings: Settings) -> ChainHandler[Any]:
        if not settings.name:
            raise RegistrationError("a handler needs a name: on_change('label-zone')")
        if settings.timeout is not None and settings.timeout <= 0:
            raise RegistrationError(f"{settings.name}: timeout must be greater than 0, or None for no limit")
        if isinstance(settings.after, str) or not all(settings.after):
            raise RegistrationError(f"{settings.name}: `after` must be a list of handler names")
        if not callable(function) or getattr(function, "__name__", "") == "<lambda>":
            raise TypeError(f"the handler {settings.name} is not a function: use `async def` or `def`")
        handler: ChainHandler[Any] = ChainHandler(self._chain(), function, settings)
        self._add_handler(handler)
        return handler


def check_finalizer(finalizer: str) -> None:
    """Raises RegistrationError for an invalid finalizer."""
    if "/" not in finalizer or qualified_name(finalizer):
        raise RegistrationError(f"invalid finalizer {finalizer!r}: expected DOMAIN/NAME, e.g. example.com/clean-up")


class Staged(Registrar[Obj]):
    """Handlers that are registered at the end of a block."""

    def __init__(self, chain: HandlerChain) -> None:
        self.chain = chain
        self.handlers: list[ChainHandler[Any]] = []

    def _chain(self) -> HandlerChain:
        return self.chain

    def _add_handler(self, handler: ChainHandler[Any]) -> None:
        self.handlers.append(handler)


@asynccontextmanager
async def registration(*chains: HandlerChain) -> AsyncIterator[tuple[Staged[Any], ...]]:
    """Registers handlers of several chains together at the end of the block; if the block raises, none is registered.

    Within the block, handlers may come after others that are registered later. Raises RegistrationError at the end,
    without any change, if the handlers cannot be registered together.

        async with registration(nodes, pods) as (new_nodes, new_pods):
            new_nodes.on_change("label-zone")(label_zone)
            new_pods.on_change("count")(count)
    """
    staged: tuple[Staged[Any], ...] = tuple(Staged(chain) for chain in chains)
    yield staged
    for each in staged:
        each.chain.check(each.handlers)
    for each in staged:
        each.chain.adopt(each.handlers)
