"""The reconcile of a generating handler: from the parent to its children, and back to its status.

The function runs to its end before any write. Its children are applied as one set, which prunes after all of them are
in place. The function is not called for a terminating parent: the children stay until the parent is deleted or, with a
finalizer, are deleted first.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, NamedTuple

from setpoint.client.kinds import AnyObject, Kind, KindRef, tree_of
from setpoint.controller.context import Context
from setpoint.controller.declare import Declaration
from setpoint.controller.reconcile_client import Applied as Memory
from setpoint.controller.request import Request, Requeue, Result, TerminalError
from setpoint.flow.apply_set import ApplySet, Transform
from setpoint.flow.fsm.results import Fail, Failed, Wait
from setpoint.flow.generate.function import Function
from setpoint.flow.generate.remains import Unowned, has_remains
from setpoint.flow.generate.report import StatusCopy, reason_of, set_condition
from setpoint.flow.generate.rules import GeneratedKinds
from setpoint.flow.marks import Owner, set_id
from setpoint.flow.orphans import placeholder_owner
from setpoint.flow.plan import PlanStep
from setpoint.flow.policy import How, Prune, Replace
from setpoint.flow.record import ConfigMapRecord
from setpoint.flow.result import PruneWithheld
from setpoint.flow.result import Result as Applied
from setpoint.objects import meta
from setpoint.objects.tree import Object

# The seconds until terminating children are checked again, in case their deletion is not observed.
LOOK_AGAIN = 30.0


class Choices(NamedTuple):
    """The options of a handler; see `generates` for their meaning."""

    condition: str
    how: How
    prune: Prune
    ignore: Mapping[Kind[Any], Sequence[str]]
    replace: Mapping[Kind[Any], Replace]
    transforms: Sequence[Transform]
    # The namespace of the inventories; empty: that of the parent.
    namespace: str
    finalizer: str


class Handler:
    """The base of both kinds of handlers: a function of an object and its status, with a condition for the result.

    A handler can be called like the function, for example in tests.
    """

    def __init__(self, function: Callable[..., Any], kind: KindRef, condition: str, declaration: Declaration) -> None:
        self.function = Function(function)
        self.kind = kind
        self.condition = condition
        update_wrapper(self, function)
        self.__controller__ = declaration  # makes the handler a controller declaration

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function.function(*args, **named)

    @property
    def name(self) -> str:
        return self.__controller__.name

    def stopped(self, ctx: Context, found: Any, error: Exception, default_reason: str) -> Exception:
        """Reports the exception that ended a run, and returns the exception that the reconcile ends with."""
        if isinstance(error, Wait):
            set_condition(ctx, found, self.condition, False, error.reason, error.message)
            return Requeue(error.after, str(error))
        if isinstance(error, Fail):
            set_condition(ctx, found, self.condition, False, error.reason, error.message)
            return TerminalError(str(error)) if error.terminal else Failed(str(error))
        if isinstance(error, Requeue):
            set_condition(ctx, found, self.condition, False, "Waiting", str(error))
            return error
        set_condition(
            ctx, found, self.condition, False, reason_of(error, default_reason), str(error) or type(error).__name__
        )
        if isinstance(error, PruneWithheld):
            return TerminalError(str(error))  # a retry does not reduce the number
        return error


class GeneratingHandler(Handler):
    """A function from a parent to its children."""

    def __init__(
        self,
        function: Callable[..., Any],
        kind: KindRef,
        rules: GeneratedKinds,
        choices: Choices,
        declaration: Declaration,
    ) -> None:
        super().__init__(function, kind, choices.condition, declaration)
        self._rules = rules
        self._choices = choices

    async def reconcile(self, ctx: Context, request: Request) -> Result | None:
        found = await ctx.object()
        if found is None:
            return await self._clear(ctx, request)
        await ctx.load_status()
        if self._choices.finalizer:
            await ctx.finalize(self._choices.finalizer, lambda: self._delete_children(ctx, found))
            found = await ctx.object()
        if found is None:
            return None
        owner = self._owner(found)
        return None if meta.is_being_deleted(owner) else await self._render(ctx, found, owner)

    def _owner(self, found: Any) -> Object:
        gvk = self.kind.gvk
        return {**tree_of(found), "apiVersion": gvk.api_version, "kind": gvk.kind}

    async def _render(self, ctx: Context, found: Any, owner: Object) -> Result | None:
        status = StatusCopy(found)
        try:
            children, again = await self.function.children(ctx, found, status.value)
            await self._rules.check(children, ctx.request.namespace, ctx.client)
        except Exception as error:
            if isinstance(error, Wait | Fail):
                status.report(ctx)
            raise self.stopped(ctx, found, error, "Error") from error
        try:
            applied = await self._children_of(ctx, owner).add(*children).apply()
        except Exception as error:
            raise self.stopped(ctx, found, error, "ApplyFailed") from error
        status.report(ctx)
        self._report_applied(ctx, found, children, applied)
        times = (again, applied.again_after, None if applied.is_complete else LOOK_AGAIN)
        return Result(requeue_after=min((each for each in times if each is not None), default=None))

    def _report_applied(self, ctx: Context, found: Any, children: Sequence[AnyObject], applied: Applied) -> None:
        if not applied.is_complete:
            message = f"waiting for the deletion before recreation: {_named(applied.waiting)}"
            set_condition(ctx, found, self.condition, False, "Replacing", message)
            return
        message = f"{len(children)} {'child is' if len(children) == 1 else 'children are'} in place"
        set_condition(ctx, found, self.condition, True, "Applied", message)

    # Sets

    def _children_of(self, ctx: Context, owner: Object) -> ApplySet:
        own = self._set(ctx, owner, self._record(ctx, owner, ctx.client.applied))
        for kind, pointers in self._choices.ignore.items():
            own.ignore(kind, *pointers)
        for kind, replace in self._choices.replace.items():
            own.on_immutable(kind, replace)
        return own

    def _set(self, ctx: Context, owner: Object, record: ConfigMapRecord | Unowned) -> ApplySet:
        choices = self._choices
        return ApplySet.of(
            ctx,
            self.name,
            owner,
            namespace=meta.namespace(owner) or choices.namespace,
            how=choices.how,
            prune=choices.prune,
            transforms=choices.transforms,
            record=record,
        )

    def _record(self, ctx: Context, owner: Object, memory: Memory | None = None) -> ConfigMapRecord:
        """Returns the storage of the inventory. Without `memory`, the inventory is read anew.

        Raises TerminalError without a namespace.
        """
        namespace = self._choices.namespace or meta.namespace(owner)
        if not namespace:
            raise TerminalError(
                f"{self.kind} is cluster-scoped: set the namespace of the inventories of {self.name}, "
                "generates(..., namespace='system')"
            )
        own_id = set_id(self.name, Owner.of(owner))
        return ConfigMapRecord(own_id, namespace, owner, ctx.client.options.field_manager, memory)

    # Deletion

    async def _delete_children(self, ctx: Context, found: Any) -> None:
        """Deletes the children of a terminating parent, and raises Requeue until they are deleted."""
        if not await self._children_of(ctx, self._owner(found)).delete(wait=False):
            set_condition(ctx, found, self.condition, False, "Deleting", "waiting for the deletion of children")
            raise Requeue(LOOK_AGAIN, "children are not deleted yet")
        ctx.discard_status()  # the status is deleted with the object

    async def _clear(self, ctx: Context, request: Request) -> Result | None:
        """Deletes the remaining children of a deleted parent."""
        owner = Owner(self.kind.gvk, request.namespace, request.name)
        tree = placeholder_owner(owner)
        record = self._record(ctx, tree)
        if not await has_remains(ctx, record, owner):
            return None
        left = Unowned(record, owner, owner_references=bool(self._choices.how.owner_references))
        gone = await self._set(ctx, tree, left).delete(wait=False)
        return None if gone else Result(requeue_after=LOOK_AGAIN)


class StatusHandler(Handler):
    """A function from an object and its status to its status."""

    async def reconcile(self, ctx: Context, request: Request) -> Result | None:
        found = await ctx.object()
        if found is None:
            return None
        await ctx.load_status()
        status = StatusCopy(found)
        try:
            answer = await self.function.answer(ctx, found, status.value)
        except Exception as error:
            if isinstance(error, Wait | Fail):
                status.report(ctx)
            raise self.stopped(ctx, found, error, "Error") from error
        status.report(ctx, answer)
        set_condition(ctx, found, self.condition, True, "Done", "")
        return None


def _named(steps: Sequence[PlanStep]) -> str:
    return ", ".join(str(step.identity) for step in steps)
