"""One walk: from the first state on, until one says that it ends.

A walk changes nothing but outputs; what it found out is in `steps`, and `report` makes conditions of that.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

from setpoint.controller.context import Context
from setpoint.controller.request import Requeue, TerminalError
from setpoint.controller.tracing import Tracer
from setpoint.flow.fsm.measure import Measures
from setpoint.flow.fsm.outputs import Applier, Output, Outputs
from setpoint.flow.fsm.results import Done, Fail, Failed, Wait
from setpoint.flow.fsm.state import State
from setpoint.objects.clock import timeout
from setpoint.objects.errors import ApplyConflict, Conflict
from setpoint.objects.tree import Object

# Makes what applies the outputs of one reconcile.
MakeApplier: TypeAlias = Callable[[Context], Applier]

# What conditions say where the states themselves do not.
LOOP, ERROR, CONFLICT, TIMED_OUT, APPLY_FAILED = "Loop", "Error", "Conflict", "TimedOut", "ApplyFailed"


class Step(NamedTuple):
    """How one state went."""

    state: State
    passed: bool
    reason: str
    message: str = ""
    # It is waited for, and not because something went wrong.
    waits: bool = False


class Walk:
    """Walks once."""

    def __init__(
        self,
        ctx: Context,
        obj: Any,
        owner: Object,
        applier: Applier,
        manager: str,
        measures: Measures,
        tracer: Tracer | None = None,
    ) -> None:
        self._ctx = ctx
        self._object = obj
        self._owner = owner
        self._applier = applier
        self._manager = manager
        self._measures = measures
        self._tracer = tracer
        self.steps: list[Step] = []
        self.outputs: list[Output] = []
        # The objects that were applied, as the server has them.
        self.applied: list[Object] = []
        # It came to a `Done`.
        self.complete = False
        # What the reconcile is to end with.
        self.raises: Exception | None = None
        self.requeue_after: float | None = None

    @property
    def ready(self) -> bool:
        """Whether everything is as it should be."""
        return self.complete and all(step.passed for step in self.steps)

    @property
    def stopped_at(self) -> Step | None:
        """The first state that is not as it should be."""
        return next((step for step in self.steps if not step.passed), None)

    async def run(self, start: State) -> None:
        """Walks. What goes wrong is not raised but kept in `raises`."""
        state: State | None = start
        while state is not None:
            if any(step.state is state for step in self.steps):
                self._enter_again(state)
                return
            state = await self._pass(state)
        if self.complete:
            try:
                await self._applier.complete(self._owner, self.outputs, self._manager)
            except Exception as error:
                last = self.steps.pop()
                self.complete = False
                self._stop(last.state, APPLY_FAILED, error)

    def _enter_again(self, state: State) -> None:
        way = " -> ".join([*(step.state.condition for step in self.steps), state.condition])
        message = f"states run in a circle: {way}"
        self.steps = [step for step in self.steps if step.state is not state]
        self.steps.append(Step(state, False, LOOP, message))
        self.raises = TerminalError(message)

    async def _pass(self, state: State) -> State | None:
        """Calls a state and applies what it put out. Returns the next one."""
        out = Outputs(self._owner, tuple(self.applied))
        started = self._ctx.clock.monotonic()
        span = self._tracer.start_as_current_span(f"state {state.condition}") if self._tracer else nullcontext()
        try:
            with span:
                following = await self._call(state, out)
        finally:
            result = "passed" if self.steps and self.steps[-1].passed else "stopped"
            self._measures.passed(state.condition, result, self._ctx.clock.monotonic() - started)
        return following

    async def _call(self, state: State, out: Outputs) -> State | None:
        try:
            async with timeout(self._ctx.clock, state.timeout) if state.timeout is not None else nullcontext():
                result = await state.function(self._ctx, self._object, out)
            result = Done() if result is Done else result
            if not isinstance(result, State | Done | Wait | Fail):
                what = "nothing" if result is None else f"a {type(result).__name__}"
                raise TerminalError(f"{state.name} answered {what}: return the next state, Done, Wait or Fail")
        except (Wait, Fail) as answer:
            result = answer
        except Requeue as error:
            self._stop_waiting(state, Wait(error.after, message=str(error)))
            return None
        except TimeoutError as error:
            if state.timeout is None:
                self._stop(state, ERROR, error)
            else:
                self._stop(state, TIMED_OUT, TimeoutError(f"{state.condition} took longer than {state.timeout:g} s"))
            return None
        except Exception as error:
            self._stop(state, _is_conflict(error) or ERROR, error)
            return None
        return await self._conclude(state, result, out)

    async def _conclude(self, state: State, result: "State | Done | Wait | Fail", out: Outputs) -> State | None:
        if isinstance(result, Fail):
            message = f"{state.condition}: {result.reason}{f': {result.message}' if result.message else ''}"
            self.steps.append(Step(state, False, result.reason, result.message))
            self.raises = TerminalError(message) if result.terminal else Failed(message)
            return None
        if not isinstance(result, Wait) or result.keep_outputs:
            try:
                await self._apply(out)
            except Exception as error:
                self._stop(state, _is_conflict(error) or APPLY_FAILED, error)
                return None
        if isinstance(result, Wait):
            self._stop_waiting(state, result)
            return None
        self._go_on(state, result, out)
        return result if isinstance(result, State) else None

    async def _apply(self, out: Outputs) -> None:
        found = out.found
        if found:
            self.applied += (await self._applier.apply(self._owner, found, self._manager)).objects
            self.outputs += found

    def _go_on(self, state: State, result: "State | Done", out: Outputs) -> None:
        reason, message = out.noted or (state.reason, state.message)
        self.steps.append(Step(state, out.noted is None, reason, message))
        self._come_again(out.requeue_after)
        if isinstance(result, Done):
            self.complete = True
            self._come_again(result.requeue_after)

    def _come_again(self, seconds: float | None) -> None:
        if seconds is not None:
            self.requeue_after = seconds if self.requeue_after is None else min(self.requeue_after, seconds)

    def _stop_waiting(self, state: State, wait: Wait) -> None:
        self.steps.append(Step(state, False, wait.reason, wait.message, waits=True))
        self._come_again(wait.after)
        self.raises = Requeue(self.requeue_after, f"{state.condition}: {wait.message or wait.reason}")

    def _stop(self, state: State, reason: str, error: Exception) -> None:
        self.steps.append(Step(state, False, reason, str(error) or type(error).__name__))
        self.raises = error


def _is_conflict(error: Exception) -> str:
    return CONFLICT if isinstance(error, Conflict) and not isinstance(error, ApplyConflict) else ""
