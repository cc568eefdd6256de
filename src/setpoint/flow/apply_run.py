"""One run of an apply set: writes the wanted objects in order, then prunes the unwanted ones.

The objects can be written all at once or in several calls. Pruning happens only after all objects are in place. The
failure of one object is raised after the others are written; if the server is unreachable, the run ends at once. A run
that never calls `prune` deletes no objects.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.mapper import NoMatch
from setpoint.flow import plan as planning
from setpoint.flow.desired_object import Desired
from setpoint.flow.immutable_fields import is_refusal
from setpoint.flow.inventory import Identity, Inventory, InventoryEntry
from setpoint.flow.plan import WRITES, Action, Plan, PlanInput, PlanStep
from setpoint.flow.policy import Prune, Replace
from setpoint.flow.result import PruneWithheld, Refused, Result, failure_of
from setpoint.flow.write import delete, write
from setpoint.objects import meta
from setpoint.objects.errors import AlreadyExists, APIError, ApplyConflict, Conflict, Invalid, NotFound
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

# The number of attempts to write an object that other clients write meanwhile.
_TRIES = 4
DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


class ObjectSet(Protocol):
    """The apply set of a run."""

    client: Client
    api: Client
    manager: str
    prune: Prune
    timeout: float
    after: dict[Identity, list[Identity]]

    async def plan_input(
        self,
        inventory: Inventory,
        desired: Iterable[Desired],
        *,
        wanted: Mapping[Identity, Object] | None = None,
        identities: Collection[Identity] | None = None,
    ) -> PlanInput: ...

    async def write_inventory(self, inventory: Inventory, before: Inventory) -> Inventory: ...

    def record_applied(self, desired: Desired, version: str) -> None: ...

    async def read(self, client: Client, ref: KindRef, identity: Identity) -> Object | None: ...

    async def wait_deleted(self, entry: InventoryEntry) -> None: ...


class ApplyRun:
    """One run of an apply set."""

    def __init__(self, owner: ObjectSet, inventory: Inventory, *, is_exact: bool = False) -> None:
        self._set, self._is_exact = owner, is_exact
        self.inventory = inventory
        self._desired: dict[Identity, Desired] = {}
        self._steps: list[PlanStep] = []
        self._objects: dict[Identity, Object] = {}
        self._written: list[Identity] = []
        self._pruned: list[Identity] = []
        self._waiting: list[PlanStep] = []
        self._failures: dict[Identity, Exception] = {}

    async def put(self, desired: Sequence[Desired]) -> Mapping[Identity, Object]:
        """Writes the newly prepared objects, and returns them as stored by the server.

        Raises ValueError if an object was already put in a different form.
        """
        for each in desired:
            before = self._desired.get(each.identity)
            if before is not None and before.comparison_key != each.comparison_key:
                raise ValueError(f"{each.identity} was added twice in different forms: remove one of them")
        new = [each for each in desired if each.identity not in self._desired]
        plan_input = await self._set.plan_input(self.inventory, new, identities=self.inventory)
        await self.write(new, [planning.step_for(each, plan_input) for each in new], plan_input)
        self._raise_failures()
        found = self._objects
        return {each.identity: found[each.identity] for each in desired if each.identity in found}

    async def finish(self) -> Result:
        """Ends the run: prunes the objects that were not put."""
        plan_input = await self._set.plan_input(self.inventory, (), wanted=self._objects, identities=self._desired)
        return await self.prune(planning.without(self._desired, plan_input), plan_input)

    async def write(self, desired: Sequence[Desired], steps: Sequence[PlanStep], plan_input: PlanInput) -> None:
        """Writes the wanted objects of a plan."""
        self._desired.update((each.identity, each) for each in desired)
        intents = [
            InventoryEntry(step.identity, step.gvk.version)
            for step in steps
            if step.action is not Action.KEEP and step.action in WRITES and step.identity not in self.inventory
        ]
        await self._write_inventory(self.inventory.with_entries(intents))
        for step in steps:
            await self._execute(step, plan_input)
        self._steps += steps

    async def prune(self, unwanted: Plan, plan_input: PlanInput) -> Result:
        """Records the written objects, and deletes the unwanted ones if all wanted ones are in place."""
        recorded = self.inventory.with_entries(self._entries())
        if self._failures or self._waiting:
            await self._write_inventory(recorded)
            self._raise_failures()
        else:
            await self._prune(recorded, unwanted, plan_input)
        result = Result(
            unwanted._replace(steps=[*self._steps, *unwanted.steps]),
            self._objects,
            self._written,
            self._pruned,
            self._waiting,
            None if self._waiting else unwanted.again_after,
        )
        if unwanted.withheld and not self._waiting:
            raise PruneWithheld(result)
        return result

    def _entries(self) -> list[InventoryEntry]:
        """Returns the inventory entries that are new or changed."""
        found = []
        for identity, obj in self._objects.items():
            known, version, uid = self.inventory.get(identity), self._desired[identity].gvk.version, meta.uid(obj)
            if known is None or known.uid != uid or known.version != version or known.unwanted_since:
                found.append(InventoryEntry(identity, version, uid))
        return found

    def _raise_failures(self) -> None:
        if self._failures:
            raise failure_of(self._failures)

    async def _write_inventory(self, inventory: Inventory) -> None:
        self.inventory = await self._set.write_inventory(inventory, self.inventory)

    async def _execute(self, step: PlanStep, plan_input: PlanInput) -> None:
        """Writes one wanted object. Keeps an error for the end, unless the server is unreachable."""
        missing = [other for other in self._set.after.get(step.identity, ()) if other in self._failures]
        if missing:
            self._failures[step.identity] = Refused(f"depends on {missing[0]}, which could not be written")
            return
        try:
            found = await self._result_of(step, plan_input)
        except (APIError, Refused, NoMatch, TimeoutError) as error:
            self._failures[step.identity] = error
            return
        if found is not None:
            self._objects[step.identity] = found

    async def _result_of(self, step: PlanStep, plan_input: PlanInput) -> Object | None:
        for tries_left in reversed(range(_TRIES)):
            if step.action is Action.REFUSE:
                raise Refused(f"{step.identity} was not written: {step.reason}")
            if step.action is Action.WAIT:
                self._waiting.append(step)
                return None
            if step.action is Action.KEEP and step.live is not None:
                if step.wanted is not None:  # the object was compared
                    self._set.record_applied(self._desired[step.identity], meta.resource_version(step.live))
                return step.live
            if step.action not in WRITES:
                return step.live
            if planning.adopts(step, plan_input) and not await self._owner_exists(plan_input.owner or {}):
                return step.live
            try:
                return await self._write(step, plan_input)
            except ApplyConflict:
                raise
            except (Conflict, AlreadyExists, NotFound):
                # Another client wrote first, or the object was deleted. Raise if a lock was requested; else try again.
                if step.how.lock or self._is_exact or not tries_left:
                    raise
                step = await self._replan(step, plan_input)
        return None

    async def _owner_exists(self, owner: Object) -> bool:
        """Returns True if the owner exists and is not being deleted. The answer comes from the server: the garbage
        collector removes the references to an owner whose dependents remain, and a cache may have the owner of before.
        """
        kind, name = KindRef(GroupVersionKind.of(owner)), meta.name(owner)
        try:
            found = await self._set.api.get(kind, name, meta.namespace(owner))
        except NotFound:
            return False
        return meta.uid(found) == meta.uid(owner) and not meta.is_being_deleted(found)

    async def _replan(self, step: PlanStep, plan_input: PlanInput) -> PlanStep:
        found = await self._set.read(self._set.api, KindRef(step.gvk), step.identity)
        live = {} if found is None else {step.identity: found}
        return planning.step_for(self._desired[step.identity], plan_input._replace(live=live))

    async def _write(self, step: PlanStep, plan_input: PlanInput) -> Object | None:
        own, only = self._set, step.only_version
        if self._is_exact and step.live is not None:
            only = only or meta.resource_version(step.live)
        try:
            if step.action is Action.REPLACE:
                return await self._replaced(step, plan_input)
            found = await write(own.client, step._replace(only_version=only), own.manager)
        except Invalid as error:
            if step.live is None or step.how.replace in (None, Replace.NEVER) or not is_refusal(error):
                raise
            return await self._replaced(step, plan_input)
        return await self._record_written(step, found)

    async def _record_written(self, step: PlanStep, found: Object) -> Object:
        own = self._set
        own.record_applied(self._desired[step.identity], meta.resource_version(found))
        self._written.append(step.identity)
        if step.identity.group_kind == DEFINITION:
            await own.api.wait_for(
                KindRef(step.gvk), step.identity.name, "", "condition=Established", timeout=own.timeout
            )
        return found

    async def _replaced(self, step: PlanStep, plan_input: PlanInput) -> Object | None:
        """Deletes an object, and creates the object again unless the policy defers that."""
        own, live = self._set, step.live or {}
        entry = InventoryEntry(step.identity, step.gvk.version, meta.uid(live))
        gone = await delete(own.api, entry, entry.uid, own.prune.propagation)
        if step.how.replace is Replace.LATER:
            self._waiting.append(step)
            return None
        if not gone:
            await own.wait_deleted(entry)
        anew = await self._replan(step, plan_input)
        if anew.action is not Action.CREATE:
            raise Conflict(f"{step.identity} was recreated by another client during its replacement")
        return await self._record_written(anew, await write(own.client, anew, own.manager))

    async def _prune(self, recorded: Inventory, unwanted: Plan, plan_input: PlanInput) -> None:
        """Deletes unwanted objects, and removes them from the inventory; terminating ones only after their deletion."""
        own, forgotten, changed = self._set, list[Identity](), list[InventoryEntry]()
        now = format_time(plan_input.now)
        # Record created objects before deleting others.
        await self._write_inventory(recorded)
        for step in unwanted.steps:
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
        await self._write_inventory(self.inventory.with_entries(changed).without(forgotten))
