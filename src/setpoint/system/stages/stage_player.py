"""Plays the stages of the objects of one kind: chooses, waits, and takes the steps.

As in KWOK, a change of an object during the wait makes a new choice, with a new wait.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects import meta
from setpoint.objects.errors import APIError, NotFound, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.system.stages.stage import ReadyStage
from setpoint.system.stages.stage_set import StageSet, choose
from setpoint.system.stages.stage_sources import StageSources
from setpoint.system.stages.stage_steps import FIELD_MANAGER, EventRecorder, StepRunner
from setpoint.system.stages.stage_templates import Addresses, TemplateScene

# The pauses after a server that does not answer: doubled, with a random fifth.
_FIRST_SECONDS, _LONGEST_SECONDS, _JITTER = 1.0, 1920.0, 0.2
# The stages of one object without a wait between them, and the pause after that number.
_MOST_AT_ONCE, _PAUSE_SECONDS = 100, 1.0
_RETRIED = (TransportError, ServerTimeout, Timeout, ServiceUnavailable, TooManyRequests)


class Turn(NamedTuple):
    """The result of a turn: True if stages decide on the object, the seconds until the next turn, and True if no stage
    matches the object in its current state."""

    governs: bool
    wait: float | None = None
    is_unmatched: bool = False


@dataclass
class _Plan:
    """The chosen stage of an object in one state."""

    version: str
    stage: ReadyStage
    due: datetime
    # The steps that are done, the failed attempts, and True after the last step.
    done: int = 0
    attempts: int = 0
    is_over: bool = False


class StagePlayer:
    """Plays the stages of the objects of one kind."""

    def __init__(
        self,
        kind: str,
        stages: StageSet,
        sources: StageSources,
        addresses: Addresses,
        recorder: EventRecorder,
        restricted: Callable[[Client], Client],
    ) -> None:
        """`restricted` returns a client for the steps of Stage objects of the API."""
        self._restricted = restricted
        self._kind, self._stages, self._sources = kind, stages, sources
        self._addresses, self._recorder = addresses, recorder
        self._start = sources.now()
        self._plans: dict[str, _Plan] = {}

    async def turn(self, client: Client, obj: Object) -> Turn:
        """Takes the steps of an object that are due."""
        tree: Object = thaw(obj)
        governs = is_governed(tree)
        for _ in range(_MOST_AT_ONCE):
            plan = self._plan(tree)
            if plan is None:
                return Turn(governs, is_unmatched=True)
            if plan.is_over:
                return Turn(governs=True)
            wait = (plan.due - self._sources.now()).total_seconds()
            if wait > 0:
                return Turn(governs=True, wait=wait)
            found = await self._play(client, tree, plan)
            governs = True
            if found is None or meta.resource_version(found) == plan.version:
                break
            tree = found
        else:
            return Turn(governs=True, wait=self._pause(tree))
        left = self._plans.get(meta.uid(tree))
        is_waiting = left is not None and not left.is_over
        return Turn(governs, (left.due - self._sources.now()).total_seconds() if is_waiting and left else None)

    def forget(self, uid: str) -> None:
        """Forgets a deleted object."""
        self._plans.pop(uid, None)

    def _pause(self, tree: Object) -> float | None:
        """Delays the next stage of an object whose stages never end, and reports that."""
        plan = self._plan(tree)
        if plan is None:
            return None
        note = f"{_MOST_AT_ONCE} stages followed without a delay, and {plan.stage.name} is next: add a delay to one"
        self._recorder.warning(tree, "StageLoop", note)
        plan.due = max(plan.due, self._sources.now() + timedelta(seconds=_PAUSE_SECONDS))
        return (plan.due - self._sources.now()).total_seconds()

    def _plan(self, tree: Object) -> _Plan | None:
        """Returns the plan for an object in its current state; None if no stage matches."""
        uid, version = meta.uid(tree), meta.resource_version(tree)
        known = self._plans.get(uid)
        if known is not None and known.version == version:
            return known
        stage = choose(self._stages.of(self._kind), tree, self._sources.ids)
        if stage is None:
            self._plans.pop(uid, None)
            return None
        now = self._sources.now()
        delay = stage.delay(tree, now, self._sources.ids)
        self._plans[uid] = found = _Plan(version, stage, now + timedelta(seconds=delay))
        return found

    async def _play(self, client: Client, tree: Object, plan: _Plan) -> Object | None:
        """Takes the steps of a plan, and returns the object after them; None if deleted, or after a failure."""
        scene = TemplateScene(self._sources.now(), self._start, self._addresses)
        client = self._restricted(client) if plan.stage.is_object else client
        runner = StepRunner(client, self._kind, tree, scene, self._recorder)
        runner.done = plan.done
        try:
            await runner.run(plan.stage.steps)
        except _RETRIED:
            pause = min(_FIRST_SECONDS * 2.0**plan.attempts, _LONGEST_SECONDS)
            pause *= 1 + _JITTER * self._sources.ids.random()
            plan.due, plan.done = self._sources.now() + timedelta(seconds=pause), runner.done
            plan.attempts += 1
            return None
        except NotFound:
            plan.is_over = True
            return None
        except (APIError, ValueError) as error:
            plan.is_over = True
            note = f"step {runner.done + 1} of stage {plan.stage.name} failed: {error}"
            self._recorder.warning(tree, "StageFailed", note)
            return None
        plan.is_over = True
        return runner.latest


def is_governed(tree: Object) -> bool:
    """Returns True if a stage has written the object before."""
    return any(each.get("manager") == FIELD_MANAGER for each in meta.managed_fields(tree))
