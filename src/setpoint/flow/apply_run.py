"""One run of a set: what is wanted is written, in order, at once or bit by bit, and once all of it is in place, what is
not wanted is pruned.

What goes wrong with one object is told when the others are written; where there is no server any more, the run ends at
once. Who never comes to `prune` has nothing pruned.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.mapper import NoMatch
from setpoint.flow import plan as planning
from setpoint.flow.desired_object import Desired
from setpoint.flow.immutable_fields import is_refusal
from setpoint.flow.inventory import Entry, Identity, Inventory
from setpoint.flow.plan import WRITES, Action, Plan, Step, World
from setpoint.flow.policy import Prune, Replace
from setpoint.flow.result import PruneWithheld, Refused, Result, failure_of
from setpoint.flow.write import delete, write
from setpoint.objects import meta
from setpoint.objects.errors import AlreadyExists, APIError, ApplyConflict, Conflict, Invalid, NotFound
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

# How often an object is looked at anew because somebody else wrote it meanwhile.
_TRIES = 4
DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


class ObjectSet(Protocol):
    """The apply set that a run is of."""

    client: Client
    api: Client
    manager: str
    prune: Prune
    timeout: float
    after: dict[Identity, list[Identity]]

    async def world(
        self,
        inventory: Inventory,
        desired: Iterable[Desired],
        *,
        wanted: Mapping[Identity, Object] | None = None,
        known: Collection[Identity] | None = None,
    ) -> World: ...

    async def write_inventory(self, inventory: Inventory, before: Inventory) -> Inventory: ...

    def learn(self, desired: Desired, version: str) -> None: ...

    async def look(self, client: Client, ref: KindRef, identity: Identity) -> Object | None: ...

    async def wait_gone(self, entry: Entry) -> None: ...


class Run:
    """One run."""

    def __init__(self, owner: ObjectSet, inventory: Inventory, *, exactly: bool = False) -> None:
        self._set, self._exactly = owner, exactly
        self.inventory = inventory
        self._desired: dict[Identity, Desired] = {}
        self._steps: list[Step] = []
        self._objects: dict[Identity, Object] = {}
        self._written: list[Identity] = []
        self._pruned: list[Identity] = []
        self._waiting: list[Step] = []
        self._failures: dict[Identity, Exception] = {}

    async def put(self, desired: Sequence[Desired]) -> Mapping[Identity, Object]:
        """Writes what the set has prepared since: those objects, as the server has them then. Raises ValueError where
        one of them was put before and differs."""
        for each in desired:
            before = self._desired.get(each.identity)
            if before is not None and before.what != each.what:
                raise ValueError(f"{each.identity} is wanted twice, and differently: it can only be one of the two")
        new = [each for each in desired if each.identity not in self._desired]
        world = await self._set.world(self.inventory, new, known=self.inventory)
        await self.write(new, [planning.step_for(each, world) for each in new], world)
        self._raise_failures()
        found = self._objects
        return {each.identity: found[each.identity] for each in desired if each.identity in found}

    async def finish(self) -> Result:
        """Prunes what was not put: that was all."""
        world = await self._set.world(self.inventory, (), wanted=self._objects, known=self._desired)
        return await self.prune(planning.without(self._desired, world), world)

    async def write(self, desired: Sequence[Desired], steps: Sequence[Step], world: World) -> None:
        """Writes the wanted objects of a plan."""
        self._desired.update((each.identity, each) for each in desired)
        intents = [
            Entry(step.identity, step.gvk.version)
            for step in steps
            if step.action is not Action.KEEP and step.action in WRITES and step.identity not in self.inventory
        ]
        await self._keep(self.inventory.with_entries(intents))
        for step in steps:
            await self._do(step, world)
        self._steps += steps

    async def prune(self, rest: Plan, world: World) -> Result:
        """Records what was written, and if all of it is in place, deletes what is not wanted any more."""
        recorded = self.inventory.with_entries(self._entries())
        if self._failures or self._waiting:
            await self._keep(recorded)
            self._raise_failures()
        else:
            await self._prune(recorded, rest, world)
        result = Result(
            rest._replace(steps=[*self._steps, *rest.steps]),
            self._objects,
            self._written,
            self._pruned,
            self._waiting,
            None if self._waiting else rest.again_after,
        )
        if rest.withheld and not self._waiting:
            raise PruneWithheld(result)
        return result

    def _entries(self) -> list[Entry]:
        """What the inventory does not say yet of what is there."""
        found = []
        for identity, obj in self._objects.items():
            known, version, uid = self.inventory.get(identity), self._desired[identity].gvk.version, meta.uid(obj)
            if known is None or known.uid != uid or known.version != version or known.unwanted_since:
                found.append(Entry(identity, version, uid))
        return found

    def _raise_failures(self) -> None:
        if self._failures:
            raise failure_of(self._failures)

    async def _keep(self, inventory: Inventory) -> None:
        self.inventory = await self._set.write_inventory(inventory, self.inventory)

    async def _do(self, step: Step, world: World) -> None:
        """One wanted object; what goes wrong with it is kept for the end, unless there is no server any more."""
        missing = [other for other in self._set.after.get(step.identity, ()) if other in self._failures]
        if missing:
            self._failures[step.identity] = Refused(f"it comes after {missing[0]}, which could not be written")
            return
        try:
            found = await self._result_of(step, world)
        except (APIError, Refused, NoMatch, TimeoutError) as error:
            self._failures[step.identity] = error
            return
        if found is not None:
            self._objects[step.identity] = found

    async def _result_of(self, step: Step, world: World) -> Object | None:
        for tries_left in reversed(range(_TRIES)):
            if step.action is Action.REFUSE:
                raise Refused(f"{step.identity} is not written: {step.reason}")
            if step.action is Action.WAIT:
                self._waiting.append(step)
                return None
            if step.action is Action.KEEP and step.live is not None:
                if step.wanted is not None:  # it was looked into
                    self._set.learn(self._desired[step.identity], meta.resource_version(step.live))
                return step.live
            if step.action not in WRITES:
                return step.live
            try:
                return await self._write(step, world)
            except ApplyConflict:
                raise
            except (Conflict, AlreadyExists, NotFound):
                # Somebody was faster, or what was seen is gone. Whoever asked for a lock wants to know; else look anew.
                if step.how.lock or self._exactly or not tries_left:
                    raise
                step = await self._anew(step, world)
        return None

    async def _anew(self, step: Step, world: World) -> Step:
        found = await self._set.look(self._set.api, KindRef(step.gvk), step.identity)
        live = {} if found is None else {step.identity: found}
        return planning.step_for(self._desired[step.identity], world._replace(live=live))

    async def _write(self, step: Step, world: World) -> Object | None:
        own, only = self._set, step.only_version
        if self._exactly and step.live is not None:
            only = only or meta.resource_version(step.live)
        try:
            if step.action is Action.REPLACE:
                return await self._replaced(step, world)
            found = await write(own.client, step._replace(only_version=only), own.manager)
        except Invalid as error:
            if step.live is None or step.how.replace in (None, Replace.NEVER) or not is_refusal(error):
                raise
            return await self._replaced(step, world)
        return await self._wrote(step, found)

    async def _wrote(self, step: Step, found: Object) -> Object:
        own = self._set
        own.learn(self._desired[step.identity], meta.resource_version(found))
        self._written.append(step.identity)
        if step.identity.group_kind == DEFINITION:
            await own.api.wait_for(
                KindRef(step.gvk), step.identity.name, "", "condition=Established", timeout=own.timeout
            )
        return found

    async def _replaced(self, step: Step, world: World) -> Object | None:
        """Deletes an object, and makes it anew where its user waits for that."""
        own, live = self._set, step.live or {}
        entry = Entry(step.identity, step.gvk.version, meta.uid(live))
        gone = await delete(own.api, entry, entry.uid, own.prune.propagation)
        if step.how.replace is Replace.LATER:
            self._waiting.append(step)
            return None
        if not gone:
            await own.wait_gone(entry)
        anew = await self._anew(step, world)
        if anew.action is not Action.CREATE:
            raise Conflict(f"{step.identity} was to be made anew, and somebody else was faster")
        return await self._wrote(anew, await write(own.client, anew, own.manager))

    async def _prune(self, recorded: Inventory, rest: Plan, world: World) -> None:
        """Deletes what is not wanted any more, and then forgets it: what is on its way out only when it is gone."""
        own, forgotten, changed = self._set, list[Identity](), list[Entry]()
        now = format_time(world.now)
        # What is made must be known before something else is deleted.
        await self._keep(recorded)
        for step in rest.steps:
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
        await self._keep(self.inventory.with_entries(changed).without(forgotten))
