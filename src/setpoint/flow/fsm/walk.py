"""One walk: from the first state until a state ends the walk.

A walk changes only outputs. Its results are in `steps`, which `report` converts to conditions.
"""

from typing import Any, NamedTuple, cast

from setpoint.controller.context import Context
from setpoint.controller.request import Requeue, TerminalError
from setpoint.controller.sync_context import call_in_thread
from setpoint.controller.tracing import Tracer
from setpoint.flow.fsm.fsm_metrics import Measures
from setpoint.flow.fsm.members import Members
from setpoint.flow.fsm.outputs import Outputs
from setpoint.flow.fsm.results import Done, Fail, Failed, Wait
from setpoint.flow.fsm.state import AsyncFunction, BlockingFunction, Next, Note, State
from setpoint.flow.result import PruneWithheld
from setpoint.objects.clock import timeout
from setpoint.objects.errors import ApplyConflict, Conflict
from setpoint.objects.tree import Object

# Reasons of conditions that are not set by the states themselves.
LOOP, ERROR, CONFLICT, TIMED_OUT, APPLY_FAILED = "Loop", "Error", "Conflict", "TimedOut", "ApplyFailed"
PRUNE_WITHHELD = "PruneWithheld"


class StateResult(NamedTuple):
    """The result of one state."""

    state: State
    passed: bool
    reason: str
    message: str = ""
    # True if the state waits without a failure.
    waits: bool = False


class StateWalk:
    """One walk through the states."""

    def __init__(
        self,
        ctx: Context,
        obj: Any,
        owner: Object,
        members: Members,
        measures: Measures,
        tracer: Tracer | None = None,
    ) -> None:
        self._ctx = ctx
        self._object = obj
        self._owner = owner
        self._members = members
        self._measures = measures
        self._tracer = tracer
        self.steps: list[StateResult] = []
        # The applied objects, as stored by the server.
        self.applied: list[Object] = []
        # True if the walk reached a `Done`.
        self.complete = False
        # The exception that the reconcile ends with.
        self.raises: Exception | None = None
        self.requeue_after: float | None = None

    @property
    def ready(self) -> bool:
        """True if the walk is complete and all states succeeded."""
        return self.complete and all(step.passed for step in self.steps)

    @property
    def stopped_at(self) -> StateResult | None:
        """The first state that did not succeed."""
        return next((step for step in self.steps if not step.passed), None)

    async def run(self, start: State) -> None:
        """Walks the states. Keeps an exception in `raises` instead of raising."""
        state: State | None = start
        while state is not None:
            if any(step.state is state for step in self.steps):
                self._enter_again(state)
                return
            state = await self._pass(state)
        if not self.complete:
            await self._members.stopped()
        elif not start.finalizes:
            await self._prune()

    async def _prune(self) -> None:
        """Deletes outputs that are no longer wanted, after a complete walk."""
        last = self.steps[-1].state
        try:
            self._requeue_after(await self._members.complete())
        except Exception as error:
            self.steps.pop()
            self.complete = False
            if isinstance(error, PruneWithheld):
                self._stop(last, PRUNE_WITHHELD, TerminalError(f"{error}: raise the limit, or delete them manually"))
            else:
                self._stop(last, _is_conflict(error) or APPLY_FAILED, error)

    def _enter_again(self, state: State) -> None:
        way = " -> ".join([*(step.state.condition for step in self.steps), state.condition])
        message = f"states form a cycle: {way}"
        self.steps = [step for step in self.steps if step.state is not state]
        self.steps.append(StateResult(state, False, LOOP, message))
        self.raises = TerminalError(message)

    async def _pass(self, state: State) -> State | None:
        """Calls a state and applies its outputs. Returns the next state."""
        kept, delete = self._members.rules.kept, self._members.delete if state.finalizes else None
        out = Outputs(self._owner, tuple(self.applied), kept=kept, delete_children=delete)
        self._ctx.state = state.condition
        started = self._ctx.clock.monotonic()
        try:
            if self._tracer is None:
                return await self._call(state, out)
            with self._tracer.start_as_current_span(f"state {state.condition}"):
                return await self._call(state, out)
        finally:
            result = "passed" if self.steps and self.steps[-1].passed else "stopped"
            self._measures.record_call(state.condition, result, self._ctx.clock.monotonic() - started)

    async def _call(self, state: State, out: Outputs) -> State | None:
        try:
            if state.timeout is None:
                result = await self._result_of(state, out)
            else:
                async with timeout(self._ctx.clock, state.timeout):
                    result = await self._result_of(state, out)
            result = Done() if result is Done else result
            if not isinstance(result, State | Done | Wait | Fail | Note):
                what = "None" if result is None else f"a {type(result).__name__}"
                raise TerminalError(f"{state.name} returned {what}: expected the next state, Done, Wait, Fail or Note")
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

    async def _result_of(self, state: State, out: Outputs) -> Next:
        if state.is_blocking:
            return await call_in_thread(self._ctx, cast(BlockingFunction[Any], state.function), self._object, out)
        return await cast(AsyncFunction[Any], state.function)(self._ctx, self._object, out)

    async def _conclude(self, state: State, result: "State | Done | Wait | Fail | Note", out: Outputs) -> State | None:
        if isinstance(result, Fail):
            message = f"{state.condition}: {result.reason}{f': {result.message}' if result.message else ''}"
            self.steps.append(StateResult(state, False, result.reason, result.message))
            self.raises = TerminalError(message) if result.terminal else Failed(message)
            return None
        if not isinstance(result, Wait) or result.keep_outputs:
            try:
                self.applied += await self._members.put(out)
            except Exception as error:
                self._stop(state, _is_conflict(error) or APPLY_FAILED, error)
                return None
        if isinstance(result, Wait):
            self._stop_waiting(state, result)
            return None
        return self._next_state(state, result, out)

    def _next_state(self, state: State, result: "State | Done | Note", out: Outputs) -> State | None:
        if isinstance(result, Note):
            self.steps.append(StateResult(state, False, result.reason, result.message))
            following = Done() if result.then is Done else result.then
        else:
            self.steps.append(StateResult(state, True, state.reason, state.message))
            following = result
        self._requeue_after(out.requeue_after)
        if isinstance(following, State):
            return following
        self.complete = True
        if isinstance(following, Done):
            self._requeue_after(following.requeue_after)
        return None

    def _requeue_after(self, seconds: float | None) -> None:
        if seconds is not None:
            self.requeue_after = seconds if self.requeue_after is None else min(self.requeue_after, seconds)

    def _stop_waiting(self, state: State, wait: Wait) -> None:
        self.steps.append(StateResult(state, False, wait.reason, wait.message, waits=True))
        self._requeue_after(wait.after)
        self.raises = Requeue(self.requeue_after, f"{state.condition}: {wait.message or wait.reason}")

    def _stop(self, state: State, reason: str, error: Exception) -> None:
        self.steps.append(StateResult(state, False, reason, str(error) or type(error).__name__))
        self.raises = error


def _is_conflict(error: Exception) -> str:
    return CONFLICT if isinstance(error, Conflict) and not isinstance(error, ApplyConflict) else ""
