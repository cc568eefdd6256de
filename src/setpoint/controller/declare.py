"""`@controller`: declares the controller that a function or a class implements.

    @controller(Website, owns=["v1/ConfigMap"], predicates=[generation])
    async def website(ctx: Context, request: Request) -> Result | None: ...

    @controller(Backup, concurrency=4)
    class Backups:
        def __init__(self, storage: Storage) -> None: ...
        async def reconcile(self, ctx: Context, request: Request) -> Result | None: ...

    Manager(client, controllers=[website, Backups(storage)])

The decorated function or class stays unchanged; `controller_of` creates a `Controller` from its declaration.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, Unpack, overload

from setpoint.client.kinds import Kind, KindRef, R, kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.options import ReconcileObserver, Settings
from setpoint.controller.queue import QueueObserver as QueueObserver
from setpoint.controller.request import Request, Result
from setpoint.controller.status_attribute import K_co
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.watch import Watch
from setpoint.objects.clock import Clock
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object

AwaitableResult = TypeVar("AwaitableResult", bound=Awaitable[Result | None])
BlockingResult = TypeVar("BlockingResult", bound=Result | None)
_ATTRIBUTE = "__controller__"


class Declaration(NamedTuple):
    """The declaration of a function or a class."""

    name: str
    kind: Kind[Any] | Watch | None
    settings: Settings
    # Creates the controller; None: a plain one.
    make: Callable[..., Controller] | None = None


# The class of a reconciler, and the kind of its objects.
C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)
K_contra = TypeVar("K_contra", contravariant=True)


class ReconcilerClass(Protocol[C_contra, K_contra]):
    """A class with a method `reconcile` for a kind. A class object has its methods with the instance as an argument."""

    def reconcile(
        self, instance: C_contra, ctx: Context[K_contra], request: Request, /
    ) -> Awaitable[Result | None]: ...


class BlockingReconcilerClass(Protocol[C_contra, K_contra]):
    """A class with a `def` method `reconcile` for a kind."""

    def reconcile(self, instance: C_contra, ctx: SyncContext[K_contra], request: Request, /) -> Result | None: ...


class ControllerDecorator(Generic[K_co]):
    """The decorator for a function, or a class with a method `reconcile`, that reconciles objects of a kind."""

    def __init__(
        self,
        kind: Kind[Any] | Watch | None,
        name: str,
        settings: Settings,
        make: Callable[..., Controller] | None = None,
    ) -> None:
        self._kind = kind
        self._name = name
        self._settings = settings
        self._make = make

    # Functions last: pyright explains why the last overload does not match.
    @overload
    def __call__(self, target: ReconcilerClass[C, K_co], /) -> type[C]: ...
    @overload
    def __call__(self, target: BlockingReconcilerClass[C, K_co], /) -> type[C]: ...
    @overload
    def __call__(
        self, target: Callable[[Context[K_co], Request], AwaitableResult], /
    ) -> Callable[[Context[K_co], Request], AwaitableResult]: ...
    @overload
    def __call__(
        self, target: Callable[[SyncContext[K_co], Request], BlockingResult], /
    ) -> Callable[[SyncContext[K_co], Request], BlockingResult]: ...
    def __call__(self, target: Any, /) -> Any:
        """Declares the target, and returns the target itself."""
        kind = self._kind
        if isinstance(target, type) and not callable(getattr(target, "reconcile", None)):
            raise TypeError(f"{target.__name__} has no method `reconcile(self, ctx, request)`")
        called = kind_of(kind.kind if isinstance(kind, Watch) else kind).gvk.kind if kind is not None else ""
        name = self._name or called.lower() or target.__name__.lower()
        declare(target, Declaration(name, kind, self._settings, self._make))
        return target


@overload
def controller(kind: type[R], *, name: str = "", **settings: Unpack[Settings]) -> ControllerDecorator[R]: ...
@overload
def controller(
    kind: GroupVersionKind | str | KindRef, *, name: str = "", **settings: Unpack[Settings]
) -> ControllerDecorator[Object]: ...
@overload
def controller(
    kind: Watch | None = None, *, name: str = "", **settings: Unpack[Settings]
) -> ControllerDecorator[Any]: ...
def controller(
    kind: Kind[Any] | Watch | None = None, *, name: str = "", **settings: Unpack[Settings]
) -> ControllerDecorator[Any]:
    """Declares a controller for a kind. The name is that of the kind unless another is given.

    @controller(Website, owns=["v1/ConfigMap"])
    async def website(ctx: Context[Website], request: Request) -> Result | None: ...
    """
    return ControllerDecorator(kind, name, settings)


def declare(target: object, declaration: Declaration) -> None:
    """Attaches a declaration to a function or a class."""
    setattr(target, _ATTRIBUTE, declaration)


def declaration_of(target: object) -> Declaration | None:
    """Returns the declaration of a function, a class or an instance; None if there is none."""
    found = getattr(target, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None


def controller_of(
    target: object,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    observer: ReconcileObserver | None = None,
    queue_observer: QueueObserver | None = None,
    defaults: Settings | None = None,
) -> Controller:
    """Returns a new controller for a declaration. A `Controller` is returned unchanged.

    A class is instantiated without arguments. `defaults` apply to settings that the declaration does not set. Raises
    TypeError if the target is not declared as a controller.

        websites = controller_of(website, defaults={"concurrency": 4})
    """
    if isinstance(target, Controller):
        return target
    declared = declaration_of(target)
    if declared is None:
        raise TypeError(f"{target!r} is not a controller: decorate it with @controller(Kind)")
    if isinstance(target, type):
        target = target()
    reconcile: Any = getattr(target, "reconcile", target)
    settings: Settings = {**(defaults or {}), **declared.settings}
    return (declared.make or Controller)(
        declared.name,
        reconcile,
        kind=declared.kind,
        clock=clock,
        ids=ids,
        observer=observer,
        queue_observer=queue_observer,
        **settings,
    )
