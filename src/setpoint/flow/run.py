"""One run of a plan: what is wanted is written, in order, and once all of it is in place, the rest is pruned.

What goes wrong with one object is told at the end, and the others are written; where there is no server any more, the
run ends at once.
"""

from typing import TYPE_CHECKING

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.client.mapper import NoMatch
from setpoint.flow import plan as planning
from setpoint.flow.inventory import Entry, Identity, Inventory
from setpoint.flow.plan import WRITES, Action, Desired, Plan, Step, World
from setpoint.flow.policy import Replace
from setpoint.flow.result import PruneWithheld, Refused, Result, failure_of
from setpoint.flow.unchangeable import is_refusal
from setpoint.flow.write import delete, write
from setpoint.objects import meta
from setpoint.objects.errors import AlreadyExists, APIError, ApplyConflict, Conflict, Invalid, NotFound
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.flow.apply_set import ApplySet

# How often an object is looked at anew because somebody else wrote it meanwhile.
_TRIES = 4
DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")

# One text for one tree, so that what was written before is known again.
encode = msgspec.json.Encoder(order="deterministic").encode


class Run:
    """One run of a plan."""

    def __init__(
        self, owner: "ApplySet", plan: Plan, world: World, desired: dict[Identity, Desired], *, exactly: bool
    ) -> None:
        self._set, self._plan, self._world, self._desired, self._exactly = owner, plan, world, desired, exactly
        self._inventory = world.inventory
        self._objects: dict[Identity, Object] = {}
        self._written: list[Identity] = []
        self._pruned: list[Identity] = []
        self._waiting: list[Step] = []
        self._failures: dict[Identity, Exception] = {}

    async def run(self) -> Result:
        intents = [
            Entry(step.identity, step.gvk.version)
            for step in self._plan.steps
            if step.action in WRITES and step.identity not in self._inventory
        ]
        await self._keep(self._inventory.with_entries(intents))
        for step in self._plan.steps:
            if step.identity in self._desired:
                await self._do(step)
        done = [
            Entry(identity, self._desired[identity].gvk.version, meta.uid(obj))
            for identity, obj in self._objects.items()
        ]
        recorded = self._inventory.with_entries(done)
        if self._failures:
            await self._keep(recorded)
            raise failure_of(self._failures)
        if self._waiting:
            await self._keep(recorded)
        else:
            await self._prune(recorded)
        result = Result(
            self._plan,
            self._objects,
            self._written,
            self._pruned,
            self._waiting,
            None if self._waiting else self._plan.again_after,
        )
        if self._plan.withheld and not self._waiting:
            raise PruneWithheld(result)
        return result

    async def _keep(self, inventory: Inventory) -> None:
        self._inventory = await self._set.write_inventory(inventory, self._inventory)

    async def _do(self, step: Step) -> None:
        """One wanted object; what goes wrong with it is kept for the end, unless there is no server any more."""
        missing = [other for other in self._set.after.get(step.identity, ()) if other in self._failures]
        if missing:
            self._failures[step.identity] = Refused(f"it comes after {missing[0]}, which could not be written")
            return
        try:
            found = await self._result_of(step)
        except (APIError, Refused, NoMatch, TimeoutError) as error:
            self._failures[step.identity] = error
            return
        if found is not None:
            self._objects[step.identity] = found

    async def _result_of(self, step: Step) -> Object | None:
        for tries_left in reversed(range(_TRIES)):
            if step.action is Action.REFUSE:
                raise Refused(f"{step.identity} is not written: {step.reason}")
            if step.action is Action.WAIT:
                self._waiting.append(step)
                return None
            if step.action not in WRITES:
                return step.live
            try:
                return await self._write(step)
            except ApplyConflict:
                raise
            except (Conflict, AlreadyExists, NotFound):
                # Somebody was faster, or what was seen is gone. Whoever asked for a lock wants to know; else look anew.
                if step.how.lock or self._exactly or not tries_left:
                    raise
                step = await self._anew(step)
        return None

    async def _anew(self, step: Step) -> Step:
        found = await self._set.look(self._set.api, KindRef(step.gvk), step.identity)
        live = {} if found is None else {step.identity: found}
        return planning.step_for(self._desired[step.identity], self._world._replace(live=live))

    async def _write(self, step: Step) -> Object | None:
        own, only = self._set, step.only_version
        if self._exactly and step.live is not None:
            only = only or meta.resource_version(step.live)
        try:
            if step.action is Action.REPLACE:
                return await self._replaced(step)
            found = await write(own.client, step._replace(only_version=only), own.manager)
        except Invalid as error:
            if step.live is None or step.how.replace in (None, Replace.NEVER) or not is_refusal(error):
                raise
            return await self._replaced(step)
        return await self._wrote(step, found)

    async def _wrote(self, step: Step, found: Object) -> Object:
        own = self._set
        own.memory.learn(own.place(step.identity, step.how), encode(step.wanted), meta.resource_version(found))
        self._written.append(step.identity)
        if step.identity.group_kind == DEFINITION:
            await own.api.wait_for(
                KindRef(step.gvk), step.identity.name, "", "condition=Established", timeout=own.timeout
            )
        return found

    async def _replaced(self, step: Step) -> Object | None:
        """Deletes an object, and makes it anew where its user waits for that."""
        own, live = self._set, step.live or {}
        entry = Entry(step.identity, step.gvk.version, meta.uid(live))
        gone = await delete(own.api, entry, entry.uid, own.prune.propagation)
        if step.how.replace is Replace.LATER:
            self._waiting.append(step)
            return None
        if not gone:
            await own.wait_gone(entry)
        anew = await self._anew(step)
        if anew.action is not Action.CREATE:
            raise Conflict(f"{step.identity} was to be made anew, and somebody else was faster")
        return await self._wrote(anew, await write(own.client, anew, own.manager))

    async def _prune(self, recorded: Inventory) -> None:
        """Deletes what is not wanted any more, and then forgets it: what is on its way out only when it is gone."""
        own, forgotten, changed = self._set, list[Identity](), list[Entry]()
        now = format_time(self._world.now)
        # What is made must be known before something else is deleted.
        await self._keep(recorded)
        for step in self._plan.steps:
            if step.entry is None:
                continue
            if step.action is Action.FORGET:
                forgotten.append(step.identity)
            elif step.action is Action.PRUNE and step.live is not None:
                uid = meta.uid(step.live)
                if await delete(own.api, step.entry, uid, own.prune.propagation):
                    forgotten.append(step.identity)
                self._pruned.append(step.identity)
            elif step.action is Action.LEAVE and own.prune.grace and not step.entry.unwanted_since:
                changed.append(step.entry._replace(unwanted_since=now))
        await self._keep(self._inventory.with_entries(changed).without(forgotten))
