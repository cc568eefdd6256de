"""`ctx.status` and `ctx.condition`, for the contexts of `async def` and of `def` functions."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, overload

from setpoint.controller.status import Status, StatusReport
from setpoint.objects.tree import Object
from setpoint.schema.types.model import Model

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    # The kind of the reconciled objects. A `Context` without a kind is the context of any kind. Only type checkers need
    # the default: they contain `typing_extensions`, and the package does not depend on it.
    K_co = TypeVarWithDefault("K_co", covariant=True, default=object)
else:
    K_co = TypeVar("K_co", covariant=True)

# The kind of a context without a kind. Inside the class, `object` is a method.
AnyKind: TypeAlias = object
S = TypeVar("S", bound=Model)
S_co = TypeVar("S_co", bound=Model, covariant=True)


class HasStatus(Protocol[S_co]):
    """An object with a typed status."""

    @property
    def status(self) -> S_co | None: ...


class StatusAttribute:
    """`ctx.status`: an object of the status class of the context's kind, or a mapping for any other context."""

    @overload
    def __get__(self, ctx: "StatusReporter[HasStatus[S]]", owner: Any = None) -> S: ...
    @overload
    def __get__(self, ctx: "StatusReporter[AnyKind]", owner: Any = None) -> Status: ...
    def __get__(self, ctx: "StatusReporter[Any]", owner: Any = None) -> Any:
        return ctx.status_report().view

    @overload
    def __set__(self, ctx: "StatusReporter[HasStatus[S]]", status: S) -> None: ...
    @overload
    def __set__(self, ctx: "StatusReporter[AnyKind]", status: Model | Object) -> None: ...
    def __set__(self, ctx: "StatusReporter[Any]", status: Any) -> None:
        ctx.status_report().put(status)


class StatusReporter(Generic[K_co]):
    """The part of a context that reports the status of the reconciled object."""

    # The status to report. The controller writes changes once, after the reconcile. Assigning replaces the status, but
    # keeps its conditions.
    status = StatusAttribute()

    @abstractmethod
    def status_report(self) -> StatusReport:
        """Returns the collected status."""

    def condition(
        self,
        type: str,  # noqa: A002 - the field's own name
        status: bool | str | None,
        reason: str,
        message: str = "",
    ) -> bool:
        """Sets a condition of the status, and returns True if the condition changed. None stands for `Unknown`.

        ctx.condition("Ready", True, "AllUp", "3 of 3 replicas are up")
        """
        return self.status_report().condition(type, status, reason, message)
