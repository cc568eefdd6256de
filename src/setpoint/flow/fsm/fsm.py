"""The machine: its states as they are declared, and the controller that they make.

A state is passed or it is not; a walk goes from the first state until one answers `Done`, `Wait` or `Fail`. A machine
with finalizer states gives every object its finalizer before anything else is done, and lets it go only when these have
answered `Done` without more to come.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypedDict, Unpack, get_args, get_type_hints

from setpoint.client.kinds import AnyObject, Kind, kind_of, tree_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.options import Settings
from setpoint.controller.request import Request, Requeue, Result
from setpoint.flow.fsm import report
from setpoint.flow.fsm.graph import Graph, GraphError, graph_of
from setpoint.flow.fsm.measure import Measures
from setpoint.flow.fsm.outputs import Outputs, PlainApplier
from setpoint.flow.fsm.readiness import READY, is_ready
from setpoint.flow.fsm.results import Done, Wait
from setpoint.flow.fsm.state import Function, Next, State
from setpoint.flow.fsm.walk import MakeApplier, Walk
from setpoint.objects import meta
from setpoint.objects.frozen import thaw
from setpoint.objects.measure import Family
from setpoint.objects.names import qualified_name
from setpoint.objects.tree import Object
from setpoint.schema.types.model import Model
from setpoint.schema.types.resource import Resource

# The annotation that has an object left alone while it is "true".
SUSPEND = "setpoint.dev/suspend"
# What the status has beside the fields that states write.
_REPORTED = ("conditions", "observedGeneration")
_NAMES = 3


class StateSettings(TypedDict, total=False):
    """What can be said of a state; `State` says what each means."""

    reason: str
    message: str
    timeout: float | None
    deadline: float | None
    then: Sequence[State | str] | None


class FSM:
    """A finite-state machine for the objects of a kind. The state that is declared first is where walks begin."""

    def __init__(self, kind: Kind[Any], *, finalizer: str = "", suspend: Callable[[Object], str] | None = None) -> None:
        self.kind = kind_of(kind)
        self.finalizer = finalizer
        # Says why an object is to be left alone; nothing: it is not.
        self.suspend = suspend or suspended
        self.states: list[State] = []
        self.finalizers: list[State] = []

    # Declaring

    def state(self, condition: str, **how: Unpack[StateSettings]) -> Callable[[Function], State]:
        """Declares a state of objects that live, and the type of its condition."""
        return lambda function: self._add(State(condition=condition, function=function, **how))

    def finalize(self, condition: str, **how: Unpack[StateSettings]) -> Callable[[Function], State]:
        """Declares a state of objects that are being deleted."""
        return lambda function: self._add(State(condition=condition, function=function, finalizes=True, **how))

    def wait_ready(
        self,
        condition: str,
        following: State | None = None,
        *,
        after: float = 10.0,
        ready: Callable[[AnyObject], bool] = is_ready,
        **how: Unpack[StateSettings],
    ) -> State:
        """A state that waits until everything that was put out before it in the walk is ready; then the walk goes on
        with the state that follows, or is done."""

        async def children_ready(ctx: Context, obj: Any, out: Outputs) -> Next:
            waited = sorted(f"{each['kind']} {meta.name(each)}" for each in out.applied if not ready(each))
            if waited:
                more = f" and {len(waited) - _NAMES} more" if len(waited) > _NAMES else ""
                return Wait(after, "ChildrenNotReady", f"not ready: {', '.join(waited[:_NAMES])}{more}")
            return Done() if following is None else following

        return self._add(State(condition=condition, function=children_ready, **how))

    def _add(self, state: State) -> State:
        condition = state.condition
        if not condition or qualified_name(condition):
            raise GraphError(f"{condition!r} is no type of a condition: use a word in CamelCase, such as KeyIssued")
        if condition in (READY, report.SUSPENDED):
            raise GraphError(f"the condition {condition} is told by itself: give the state another one")
        if any(each.condition == condition for each in (*self.states, *self.finalizers)):
            raise GraphError(f"there is a state with the condition {condition} already")
        (self.finalizers if state.finalizes else self.states).append(state)
        return state

    # What it is

    def graph(self) -> Graph:
        """The states of objects that live, and what leads where. Raises GraphError."""
        found = graph_of(self.states)
        found.check()
        return found

    def finalizer_graph(self) -> Graph | None:
        """The same of those that are being deleted; None where there are none."""
        if not self.finalizers:
            return None
        if not self.finalizer:
            raise GraphError("states that clean up need a finalizer: FSM(Kind, finalizer='example.com/clean-up')")
        found = graph_of(self.finalizers)
        found.check()
        return found

    def controller(
        self, *, name: str = "", applier: MakeApplier = PlainApplier, **settings: Unpack[Settings]
    ) -> "FSMController":
        """The controller of this machine, which is like any other. Raises GraphError where states do not fit."""
        self.graph()
        self.finalizer_graph()
        return FSMController(self, name or self.kind.gvk.kind.lower(), applier, settings)


class FSMController(Controller):
    """Has the objects of a kind walk through the states of a machine."""

    def __init__(self, fsm: FSM, name: str, applier: MakeApplier, settings: Settings) -> None:
        self.fsm = fsm
        self.measures = Measures(name)
        self._applier = applier
        super().__init__(name, self._walk_once, kind=fsm.kind, **settings)

    def families(self) -> Sequence[Family]:
        """What it tells `/metrics`."""
        return list(self.measures.families())

    async def _walk_once(self, ctx: Context, request: Request) -> Result | None:
        fsm = self.fsm
        found = await ctx.object()
        if found is None:
            self.measures.forget(request)
            return None
        if why := fsm.suspend(tree_of(found)):
            self.measures.suspends(request)
            await ctx.load_status()
            report.tell_suspended(ctx, found, why)
            return None
        if fsm.finalizers:
            await ctx.finalize(fsm.finalizer, lambda: self._clean_up(ctx))
            found = await ctx.object()
        if found is None:
            return None
        if meta.is_being_deleted(tree_of(found)):
            if {*meta.finalizers(tree_of(found))} - {fsm.finalizer}:  # else it is about to be gone
                await ctx.load_status()
                report.tell_deleting(ctx, found, None, fsm.states, ())
            return None
        walk = await self._walk(ctx, found, fsm.states[0])
        report.tell(ctx, found, walk, fsm.states)
        if walk.raises is not None:
            raise _before_deadline(ctx, walk, walk.raises)
        return Result(requeue_after=walk.requeue_after)

    async def _clean_up(self, ctx: Context) -> None:
        """Walks the finalizer states; returns only when nothing is left to do."""
        found = await ctx.object()
        walk = await self._walk(ctx, found, self.fsm.finalizers[0])
        if walk.ready and walk.requeue_after is None:
            with suppress(AttributeError):
                del ctx.status  # the object goes, and its status with it
            return
        report.tell_deleting(ctx, found, walk, self.fsm.states, self.fsm.finalizers)
        raise _before_deadline(ctx, walk, walk.raises or Requeue(walk.requeue_after, "there is more to clean up"))

    async def _walk(self, ctx: Context, found: Any, start: State) -> Walk:
        """Walks, and takes over what states have written into the status of their copy of the object."""
        await ctx.load_status()
        gvk = self.fsm.kind.gvk
        owner: Object = {**tree_of(found), "apiVersion": gvk.api_version, "kind": gvk.kind}
        obj = editable(found)
        before: Object = tree_of(obj).get("status") or {}
        if isinstance(obj, dict):
            before = thaw(before)
        manager = self.options.field_manager or self.name
        walk = Walk(ctx, obj, owner, self._applier(ctx), manager, self.measures, self.options.tracer)
        now = self.clock.monotonic
        self.measures.saw(ctx.request, meta.generation(owner), now())
        await walk.run(start)
        at = walk.steps[-1].state.condition
        self.measures.walked(ctx.request, at, meta.generation(owner), now(), ready=walk.ready)
        take_over(ctx, before, tree_of(obj).get("status") or {})
        return walk


def suspended(obj: Object) -> str:
    """Why an object is to be left alone: its annotation, or its field `spec.suspend`. Nothing: it is not."""
    if meta.annotations(obj).get(SUSPEND) == "true":
        return f"the annotation {SUSPEND} is true"
    spec = obj.get("spec")
    if isinstance(spec, dict) and spec.get("suspend") is True:
        return "spec.suspend is true"
    return ""


def editable(found: Any) -> Any:
    """A copy of an object that has a status, for states to write into."""
    if not isinstance(found, Resource):
        tree = thaw(found)
        tree.setdefault("status", {})
        return tree
    obj: Any = found.edit()
    if getattr(obj, "status", None) is None:
        hint = get_type_hints(type(obj)).get("status")
        for cls in (hint, *get_args(hint)):
            if isinstance(cls, type) and issubclass(cls, Model):
                with suppress(TypeError):  # it cannot be empty: the states have to make it
                    obj.status = cls()
    return obj


def take_over(ctx: Context, before: Object, after: Object) -> None:
    """Reports the fields that have changed."""
    for field in {*before, *after} - {*_REPORTED}:
        if field not in after:
            ctx.status.pop(field, None)
        elif field not in before or before[field] != after[field]:
            ctx.status[field] = after[field]


def _before_deadline(ctx: Context, walk: Walk, raises: Exception) -> Exception:
    """The same, but not later than the deadline of the state that is waited in: it is to be told then."""
    step = walk.stopped_at
    if step is None or step.state.deadline is None or not isinstance(raises, Requeue) or raises.after is None:
        return raises
    since = report.false_since(report.conditions_of(ctx), step.state.condition) or ctx.clock.now()
    left = step.state.deadline - (ctx.clock.now() - since).total_seconds()
    return Requeue(min(raises.after, left), str(raises)) if left > 0 else raises
