"""The machine: the declared states, and their controller.

A walk goes from the first state until one returns `Done`, `Wait` or `Fail`. A machine with finalizer states adds its
finalizer to every object before the first state, and removes the finalizer only when these states have returned `Done`
without a requeue.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, get_args, get_type_hints, overload

import setpoint.flow.fsm.report as report
from setpoint.client.kinds import AnyObject, Kind, KindRef, R, kind_of, tree_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.options import Settings
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.watch import Watch, for_none
from setpoint.flow.fsm.fsm_metrics import Measures
from setpoint.flow.fsm.members import Members, OutputPolicies, set_name
from setpoint.flow.fsm.outputs import Outputs
from setpoint.flow.fsm.results import Done, Wait
from setpoint.flow.fsm.state import Function, Next, State
from setpoint.flow.fsm.state_graph import GraphError, StateGraph, graph_of
from setpoint.flow.fsm.walk import StateWalk
from setpoint.flow.marks import SET_LABEL
from setpoint.flow.policy import AS_THE_SET, PRUNE, How, Prune, Replace
from setpoint.flow.record import INVENTORY_RULE
from setpoint.flow.summary.summary import summarize
from setpoint.flow.summary.summary_rules import SummaryRules as SummaryRules
from setpoint.objects import meta
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.names import qualified_name
from setpoint.objects.tree import Object
from setpoint.schema.types.frozen import thaw as thaw_any
from setpoint.schema.types.model import Model
from setpoint.schema.types.resource import Resource

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    # The class of the objects; for type checkers, `FSM` stands for a machine of any kind.
    K = TypeVarWithDefault("K", default=Any)
else:
    K = TypeVar("K")

# The fields of the status that states do not write.
_REPORTED = ("conditions", "observedGeneration")
# The number of names in a message.
_NAMES = 3
_FORCED = How(force=True)
_ANYWHERE = "*"


class StateSettings(TypedDict, total=False):
    """The settings of a state."""

    # The reason of the condition when the state is passed.
    reason: str
    # The message of the condition when the state is passed.
    message: str
    # The timeout of one call in seconds; None: that of the reconcile.
    timeout: float | None
    # The seconds after which a wait in this state is reported as `DeadlineExceeded`. The wait continues.
    deadline: float | None
    # The transitions that the code does not show: states, or the names of their conditions.
    then: Sequence[State | str] | None


class MachineSettings(TypedDict, total=False):
    """The settings of a machine; see `FSM` for their meaning."""

    finalizer: str
    suspend: Callable[[Object], str] | None
    create: Callable[[Request], AnyObject | None] | None
    how: How
    prune: Prune
    inventory_namespace: str


class FSM(Generic[K]):
    """A finite-state machine for the objects of a kind. Walks begin at the state that is declared first.

    fsm = FSM(Bucket, finalizer="storage.example.com/bucket")

    @fsm.state("BucketProvisioned")
    async def provisioned(ctx: Context[Bucket], bucket: Bucket, out: Outputs) -> Next:
        return Done() if await storage.has(bucket.metadata.name) else Wait(10, reason="Pending")
    """

    @overload
    def __init__(self: "FSM[R]", kind: type[R], **settings: Unpack[MachineSettings]) -> None: ...
    @overload
    def __init__(
        self: "FSM[Object]", kind: GroupVersionKind | str | KindRef, **settings: Unpack[MachineSettings]
    ) -> None: ...
    def __init__(
        self,
        kind: Kind[Any],
        *,
        # The finalizer that keeps an object until its finalizer states have run.
        finalizer: str = "",
        # Returns why an object is suspended; empty: not suspended.
        suspend: Callable[[Object], str] | None = None,
        # Creates the object of a request without an object; None: not needed.
        create: Callable[[Request], AnyObject | None] | None = None,
        # The write policy of outputs.
        how: How = AS_THE_SET,
        # The policy for outputs that are no longer put out.
        prune: Prune = PRUNE,
        # The namespace of the inventory of cluster-scoped objects.
        inventory_namespace: str = "default",
    ) -> None:
        self.kind = kind_of(kind)
        self.finalizer = finalizer
        # Returns why an object is suspended; empty: not suspended.
        self.suspend = suspend
        # Creates the object of a request without an object; None: not needed.
        self.create = create
        self.states: list[State] = []
        self.finalizers: list[State] = []
        self._how, self._prune, self._namespace = how, prune, inventory_namespace
        self._kept: set[GroupKind] = set()
        self._ignored: dict[KindRef, list[str]] = {}
        self._replaced: dict[KindRef, Replace] = {}

    # Write policies of outputs

    def keep(self, *kinds: Kind[Any]) -> None:
        """Never deletes outputs of these kinds: neither when no longer put out, nor with their owner."""
        self._kept.update(kind_of(kind).gvk.group_kind for kind in kinds)

    def ignore(self, kind: Kind[Any], *pointers: str) -> None:
        """Leaves fields of existing outputs of a kind to other managers: JSON Pointers, with `*` for any item."""
        self._ignored.setdefault(kind_of(kind), []).extend(pointers)

    def on_immutable(self, kind: Kind[Any], replace: Replace) -> None:
        """Sets the policy for outputs of a kind with a change of an immutable field."""
        self._replaced[kind_of(kind)] = replace

    @property
    def rules(self) -> OutputPolicies:
        """The write policies of outputs. By default, fields of other managers are taken over."""
        how = self._how.over(_FORCED)
        return OutputPolicies(how, self._prune, self._kept, self._ignored, self._replaced, self._namespace)

    # Declaring

    def state(self, condition: str, **how: Unpack[StateSettings]) -> Callable[[Function[K]], State]:
        """Declares a state of existing objects, with the type of its condition."""
        return lambda function: self._add(State(condition=condition, function=function, **how))

    def finalize(self, condition: str, **how: Unpack[StateSettings]) -> Callable[[Function[K]], State]:
        """Declares a state of terminating objects."""
        return lambda function: self._add(State(condition=condition, function=function, finalizes=True, **how))

    def wait_ready(
        self,
        condition: str,
        following: State | None = None,
        *,
        after: float = 10.0,
        timeout: float | None = None,
        ready: Callable[[AnyObject], bool] | None = None,
        rules: SummaryRules | None = None,
        reason: str = "Done",
        message: str = "",
    ) -> State:
        """Declares a state that waits until all outputs of the previous states are ready.

        Readiness is determined by the summary of an object, or by `ready`. Then the walk continues with the following
        state, or is done. After `timeout` seconds the condition reports DeadlineExceeded, and the wait continues.
        """

        async def children_ready(ctx: Context, obj: Any, out: Outputs) -> Next:
            now, waited = ctx.clock.now(), []
            for each in out.applied:
                name = f"{each['kind']} {meta.name(each)}"
                if ready is not None:
                    waited += [] if ready(each) else [name]
                elif not (summary := summarize(each, rules=rules, now=now)).ready:
                    waited.append(f"{name} ({summary.message or summary.reason or summary.state})")
            if waited:
                return Wait(after, "ChildrenNotReady", f"not ready: {_first_of(sorted(waited))}")
            return Done() if following is None else following

        state = State(condition=condition, function=children_ready, deadline=timeout, reason=reason, message=message)
        return self._add(state)

    def delete_children(self, condition: str, following: State | None = None, *, after: float | None = None) -> State:
        """Declares a finalizer state that deletes all outputs of the object and waits for their deletion.

        Outputs that others may need are deleted last. Without such a state, the outputs are deleted after the last
        finalizer state.
        """

        async def children_deleted(ctx: Context, obj: Any, out: Outputs) -> Next:
            left = await out.delete_children()
            if left:
                return Wait(after, "WaitingForChildren", f"not deleted yet: {_first_of(left)}")
            return Done() if following is None else following

        return self._add(State(condition=condition, function=children_deleted, finalizes=True))

    def _add(self, state: State) -> State:
        condition = state.condition
        if not condition or qualified_name(condition):
            raise GraphError(f"invalid condition type {condition!r}: use a word in CamelCase, e.g. KeyIssued")
        if condition in (report.READY, report.SUSPENDED):
            raise GraphError(f"the condition {condition} is reserved: choose another one")
        if any(each.condition == condition for each in (*self.states, *self.finalizers)):
            raise GraphError(f"a state with the condition {condition} already exists")
        (self.finalizers if state.finalizes else self.states).append(state)
        return state

    # Graphs and controller

    def graph(self) -> StateGraph:
        """Returns the graph of the states for existing objects. Raises GraphError."""
        found = graph_of(self.states)
        found.check()
        return found

    def finalizer_graph(self) -> StateGraph | None:
        """Returns the graph of the finalizer states; None without any. Raises GraphError."""
        if not self.finalizers:
            return None
        if not self.finalizer:
            raise GraphError("finalizer states need a finalizer: FSM(Kind, finalizer='example.com/clean-up')")
        found = graph_of(self.finalizers)
        found.check()
        return found

    def controller(self, *, name: str = "", **settings: Unpack[Settings]) -> "FSMController":
        """Returns the controller of this machine. Raises GraphError for an invalid graph."""
        self.graph()
        self.finalizer_graph()
        return FSMController(self, name or self.kind.gvk.kind.lower(), settings)


class FSMController(Controller):
    """Walks the objects of a kind through the states of a machine."""

    def __init__(self, fsm: FSM[Any], name: str, settings: Settings) -> None:
        self.fsm = fsm
        self.measures = Measures(name)
        # Even without finalizer states, objects wait for outputs that the garbage collector would not delete.
        self.finalizer = fsm.finalizer or f"setpoint.dev/{set_name(name)}"
        self._rules = fsm.rules
        ask = fsm.suspend
        settings.setdefault("suspend", suspended if ask is None else lambda found: ask(tree_of(found)))
        settings["extra_rules"] = [*settings.get("extra_rules", ()), INVENTORY_RULE]
        super().__init__(name, self._walk_once, kind=fsm.kind, **settings)

    def _reset_state(self) -> None:
        super()._reset_state()
        self._followed: set[tuple[GroupVersionKind, str]] = set()

    def families(self) -> Sequence[MetricFamily]:
        """Returns the metrics of the controller and its states."""
        return [*super().families(), *self.measures.families()]

    async def follow(self, ctx: Context, kind: GroupVersionKind, namespace: str) -> None:
        """Watches outputs of an undeclared kind, restricted to objects of apply sets."""
        if (kind, namespace) in self._followed:
            return
        self._followed.add((kind, namespace))
        if not ctx.client.is_declared(kind, namespace) and (kind, _ANYWHERE) not in self._followed:
            self._followed.add((kind, _ANYWHERE))
            await self.watch(Watch(KindRef(kind), for_none, labels=SET_LABEL, optional=True))

    async def _walk_once(self, ctx: Context, request: Request) -> Result | None:
        fsm = self.fsm
        found = await ctx.object()
        if found is None:
            self.measures.discard(request)
            await self._create(ctx, request)
            return None
        owner = self._owner(found)
        if meta.is_being_deleted(owner):
            await self._finalize(ctx, owner)
            return None
        if (fsm.finalizer or fsm.finalizers) and self.finalizer not in meta.finalizers(owner):
            await ctx.finalize(self.finalizer, lambda: self._clean_up(ctx))
            found = await ctx.object()
            if found is None:
                return None
            owner = self._owner(found)
        walk = await self._walk(ctx, found, owner, fsm.states[0], self._members(ctx, owner))
        report.report(ctx, found, walk, fsm.states)
        if walk.raises is not None:
            raise _before_deadline(ctx, walk, walk.raises)
        return Result(requeue_after=walk.requeue_after)

    async def _create(self, ctx: Context, request: Request) -> None:
        """Creates the object of a request without an object, if the machine defines that."""
        made = self.fsm.create(request) if self.fsm.create is not None else None
        if made is not None:
            with suppress(AlreadyExists):  # the cache will report the object
                await ctx.client.create(made)

    async def _finalize(self, ctx: Context, owner: Object) -> None:
        """Handles a terminating object: cleans up, and reports the progress."""
        if self.finalizer in meta.finalizers(owner):
            await ctx.finalize(self.finalizer, lambda: self._clean_up(ctx))
        found = await ctx.object()
        if found is not None and {*meta.finalizers(self._owner(found))} - {self.finalizer}:  # else deleted
            await ctx.load_status()
            report.report_deleting(ctx, found, None, self.fsm.states, ())

    async def _clean_up(self, ctx: Context) -> None:
        """Walks the finalizer states, and deletes the remaining outputs; returns only when all are deleted."""
        fsm, found = self.fsm, await ctx.object()
        owner = self._owner(found)
        members, walk = self._members(ctx, owner), None
        if fsm.finalizers:
            walk = await self._walk(ctx, found, owner, fsm.finalizers[0], members)
            if not walk.ready or walk.requeue_after is not None:
                report.report_deleting(ctx, found, walk, fsm.states, fsm.finalizers)
                more = walk.raises or Requeue(walk.requeue_after, "cleanup is incomplete")
                raise _before_deadline(ctx, walk, more)
        if left := await members.delete():
            waits = f"waiting for the deletion of outputs: {_first_of([str(entry.identity) for entry in left])}"
            await ctx.load_status()
            report.report_deleting(ctx, found, walk, fsm.states, fsm.finalizers, waits)
            raise Requeue(None, waits)
        ctx.discard_status()  # the status is deleted with the object

    def _owner(self, found: Any) -> Object:
        """Returns the metadata of an object that its outputs need."""
        gvk = self.fsm.kind.gvk
        metadata = dict(found["metadata"]) if isinstance(found, dict) else found.metadata.to_json()
        metadata.pop("managedFields", None)
        return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}

    def _members(self, ctx: Context, owner: Object) -> Members:
        return Members(ctx, owner, self.name, self.options.field_manager or self.name, self._rules, self)

    async def _walk(self, ctx: Context, found: Any, owner: Object, start: State, members: Members) -> StateWalk:
        """Walks the states, and takes over changes that states made in the status of their copy of the object."""
        await ctx.load_status(found)
        obj = editable(found)
        before = thaw(_status_in(obj)) if isinstance(obj, dict) else _status_in(obj)
        walk = StateWalk(ctx, obj, owner, members, self.measures, self.options.tracer)
        now = self.clock.monotonic
        self.measures.record_reconcile(ctx.request, meta.generation(owner), now())
        await walk.run(start)
        at = walk.steps[-1].state.condition
        self.measures.record_walk(ctx.request, at, meta.generation(owner), now(), ready=walk.ready)
        report_changes(ctx, before, _status_in(obj))
        return walk


def suspended(obj: AnyObject) -> str:
    """Returns why an object is suspended by its field `spec.suspend`; empty: not suspended."""
    spec = obj.get("spec") if isinstance(obj, dict) else getattr(obj, "spec", None)
    asks = spec.get("suspend") if isinstance(spec, dict) else getattr(spec, "suspend", None)
    return "spec.suspend is true" if asks is True else ""


def _first_of(names: Sequence[str]) -> str:
    """Returns the first few names, and the number of further ones."""
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}"


def _status_in(obj: Any) -> Object:
    status = obj.get("status") if isinstance(obj, dict) else getattr(obj, "status", None)
    found: Object = status.to_json() if isinstance(status, Model) else status or {}
    return found


def editable(found: Any) -> Any:
    """Returns a shallow copy of an object with a mutable status, for the states."""
    if not isinstance(found, Resource):
        return {**found, "status": thaw(found.get("status") or {})}
    obj: Any = copy(found)
    if getattr(obj, "status", None) is not None:
        obj.status = thaw_any(obj.status)
        return obj
    hint = get_type_hints(type(obj)).get("status")
    for cls in (hint, *get_args(hint)):
        if isinstance(cls, type) and issubclass(cls, Model):
            with suppress(TypeError):  # the status has required fields: the states must create it
                obj.status = cls()
    return obj


def report_changes(ctx: Context, before: Object, after: Object) -> None:
    """Reports the changed fields of the status."""
    for field in {*before, *after} - {*_REPORTED}:
        if field not in after:
            ctx.status.pop(field, None)
        elif field not in before or before[field] != after[field]:
            ctx.status[field] = after[field]


def _before_deadline(ctx: Context, walk: StateWalk, raises: Exception) -> Exception:
    """Shortens a requeue to the deadline of the waiting state, so that the exceeded deadline is reported in time."""
    step = walk.stopped_at
    if step is None or step.state.deadline is None or not isinstance(raises, Requeue) or raises.after is None:
        return raises
    since = report.false_since(report.conditions_of(ctx), step.state.condition) or ctx.clock.now()
    left = step.state.deadline - (ctx.clock.now() - since).total_seconds()
    return Requeue(min(raises.after, left), str(raises)) if left > 0 else raises
