"""How handlers are registered: by decorators, on a chain or on something that keeps them for it.

@nodes.on_change("label-zone", after=["cloud-init"], timeout=30)
async def label_zone(ctx: HandlerContext, node: Node) -> Node | None: ...

async with nodes.registration() as new:
    @new.on_change("first", after=["second"]) ...
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeAlias

from setpoint.client.kinds import Obj
from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.flow.chain.handler import DELETE, REMOVE, Gone, Handler, HandlerChain, HandlerContext, Settings
from setpoint.flow.chain.order import RegistrationError
from setpoint.objects.names import qualified_name

OnChange: TypeAlias = Callable[[HandlerContext, Obj], Awaitable[Obj | None]]
OnDelete: TypeAlias = Callable[[HandlerContext, Gone[Obj]], Awaitable[None]]

# What a call may take if nothing else is said, as a reconcile may.
TIMEOUT_SECONDS = 300.0


class Registrar(ABC, Generic[Obj]):
    """What handlers can be registered on, before it runs or while it does. Each decorator gives the handler."""

    @abstractmethod
    def _chain(self) -> HandlerChain:
        """The chain that handlers are for."""

    @abstractmethod
    def _take(self, handler: Handler[Any]) -> None:
        """Takes a handler. Raises RegistrationError."""

    def on_change(
        self,
        name: str,
        *,
        after: Sequence[str] = (),
        timeout: float | None = TIMEOUT_SECONDS,
        backoff: Callable[[], RateLimiter] = Exponential,
        deleting: bool = False,
        field_manager: str = "",
    ) -> "Callable[[OnChange[Obj]], Handler[Obj]]":
        """Has a function called for every object that is there, and whenever one changes.

        The object that it returns is the one that the next handler gets; None leaves that as it is. `after` names the
        handlers whose work it builds on: it is not called for an object that one of them has failed at. With `deleting`
        it is called for objects that are being deleted, too.
        """
        settings = Settings(
            name=name,
            after=tuple(after),
            timeout=timeout,
            backoff=backoff,
            deleting=deleting,
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
    ) -> "Callable[[OnDelete[Obj]], Handler[Gone[Obj]]]":
        """Has a function called for every object that is gone, with how it was last. What goes while this process does
        not run is not told: what must be cleaned up after needs `on_remove`."""
        settings = Settings(name=name, what=DELETE, after=tuple(after), timeout=timeout, backoff=backoff)
        return lambda function: self._register(function, settings)

    def on_remove(
        self,
        name: str,
        *,
        finalizer: str = "",
        after: Sequence[str] = (),
        timeout: float | None = TIMEOUT_SECONDS,
        backoff: Callable[[], RateLimiter] = Exponential,
        field_manager: str = "",
    ) -> "Callable[[OnChange[Obj]], Handler[Obj]]":
        """Has a function called for every object that is to be deleted, which is not gone before that has ended well.

        The finalizer is put on every object before any handler is called for it. It is that of the chain unless one is
        given, never made of the handler's name: a handler can be renamed. It stays while the function fails, asks for
        another time (`Requeue`) or skips (`Skip`).
        """
        finalizer = finalizer or self._chain().finalizer
        if not finalizer:
            raise RegistrationError(
                f"{name} needs a finalizer: on_remove({name!r}, finalizer='example.com/{name}'), "
                "or one for all of them, Chain(Kind, finalizer='example.com/clean-up')"
            )
        check_finalizer(finalizer)
        settings = Settings(
            name=name,
            what=REMOVE,
            after=tuple(after),
            timeout=timeout,
            backoff=backoff,
            finalizer=finalizer,
            field_manager=field_manager,
        )
        return lambda function: self._register(function, settings)

    def _register(self, function: Callable[[HandlerContext, Any], Awaitable[Any]], settings: Settings) -> Handler[Any]:
        if not settings.name:
            raise RegistrationError("a handler needs a name: on_change('label-zone')")
        if settings.timeout is not None and settings.timeout <= 0:
            raise RegistrationError(f"{settings.name} needs time: timeout is above 0, or None for no limit")
        if isinstance(settings.after, str) or not all(settings.after):
            raise RegistrationError(f"{settings.name}: `after` is a list of names of handlers")
        if not any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
            raise TypeError(f"the handler {settings.name} is no coroutine function: define it with `async def`")
        handler: Handler[Any] = Handler(self._chain(), function, settings)
        self._take(handler)
        return handler


def check_finalizer(finalizer: str) -> None:
    """Raises RegistrationError for what the server would not take."""
    if "/" not in finalizer or qualified_name(finalizer):
        raise RegistrationError(f"{finalizer!r} is no finalizer: it reads DOMAIN/NAME, such as example.com/clean-up")


class Staged(Registrar[Obj]):
    """Handlers that wait for the end of a block."""

    def __init__(self, chain: HandlerChain) -> None:
        self.chain = chain
        self.handlers: list[Handler[Any]] = []

    def _chain(self) -> HandlerChain:
        return self.chain

    def _take(self, handler: Handler[Any]) -> None:
        self.handlers.append(handler)


@asynccontextmanager
async def registration(*chains: HandlerChain) -> AsyncIterator[tuple[Staged[Any], ...]]:
    """Registers handlers of several chains together: none is called before the block has ended well, and none is there
    if it has not. Within it, handlers may come after others that are registered later.

    Raises RegistrationError at the end, with nothing changed, where they do not fit together.
    """
    staged: tuple[Staged[Any], ...] = tuple(Staged(chain) for chain in chains)
    yield staged
    for each in staged:
        each.chain.check(each.handlers)
    for each in staged:
        each.chain.adopt(each.handlers)
