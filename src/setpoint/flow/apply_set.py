"""Apply sets: objects that are written together, and deleted when they are no longer wanted.

    members = ApplySet(client, "members", owner=team, field_manager="teams")
    members.add(config_map, service)
    result = await members.apply()

The set records each object in its inventory before creating the object, and removes the entry only after the object's
deletion: if the process ends at any time, the next run continues from there. Objects are pruned only if all wanted
objects are in place. A set without changes sends no requests if its client reads from a cache.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, tree_of
from setpoint.client.mapper import NoMatch
from setpoint.controller.context import Context
from setpoint.controller.reconcile_client import Applied, ReconcileClient
from setpoint.flow import plan as planning
from setpoint.flow.apply_run import DEFINITION, ApplyRun
from setpoint.flow.desired_object import Desired, Marks, UserObject, encode
from setpoint.flow.inventory import Identity, Inventory, InventoryEntry
from setpoint.flow.marks import Owner, is_kept, set_id
from setpoint.flow.order import ordered, rank
from setpoint.flow.plan import WRITES, Action, Plan, PlanInput
from setpoint.flow.policy import AS_THE_SET, DEFAULT, PRUNE, ApplySetPolicy, How, Prune, Replace
from setpoint.flow.record import ConfigMapRecord, Record
from setpoint.flow.result import PlanOutdated, Result
from setpoint.flow.write import delete
from setpoint.objects import meta
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Object

Transform = Callable[[Object], Object | None]


class ApplySet:
    """The objects of one set.

    `client` may read from a cache; `api`, which is used before an object is created or deleted, must not. `memory` is
    shared by the sets of one controller across runs.

        members = ApplySet(client, "members", owner=team, field_manager="teams")
        members.add(config_map, service)
        result = await members.apply()
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        # The owner of the objects; None: a set without an owner.
        owner: AnyObject | None = None,
        # The namespace of the inventory; by default that of the owner.
        namespace: str = "",
        # The field manager of the writes; by default that of the client.
        field_manager: str = "",
        # The write policy of the objects.
        how: How = AS_THE_SET,
        # The policy for objects that are no longer in the set.
        prune: Prune = PRUNE,
        # Functions that change every object before the write.
        transforms: Sequence[Transform] = (),
        # The inventory; by default a ConfigMap.
        record: Record | None = None,
        # A client that does not read from a cache; by default `client`.
        api: Client | None = None,
        # The memory of the last writes, shared by the sets of one controller.
        memory: Applied | None = None,
        # The seconds for the whole set.
        timeout: float = 30.0,
        # Called with each plan before its execution.
        on_plan: Callable[[Plan], None] | None = None,
    ) -> None:
        self.client, self.api = client, api or client
        self._owner = None if owner is None else tree_of(owner)
        self.namespace = namespace or (meta.namespace(self._owner) if self._owner is not None else "")
        self.manager = field_manager or client.options.field_manager
        if not self.manager:
            raise ValueError("an apply set needs a stable field manager: set field_manager")
        whose = None if self._owner is None else Owner.of(self._owner)
        self.id = set_id(name, whose)
        self._marks = Marks(self.id, self.manager, "" if whose is None else str(whose))
        if record is None and not self.namespace:
            raise ValueError("the inventory ConfigMap needs a namespace: set namespace or record")
        self._memory = memory or Applied()
        self._record = record or ConfigMapRecord(self.id, self.namespace, self._owner, self.manager, memory)
        self._how = how.over(DEFAULT)
        self.prune = prune
        self._transforms = transforms
        self.timeout = timeout
        # Called with each plan before its execution.
        self._on_plan = on_plan
        self._members: dict[Identity, Desired] = {}
        self._waiting: list[tuple[UserObject, How, tuple[UserObject, ...]]] = []
        self.after: dict[Identity, list[Identity]] = {}
        self._ignore: dict[GroupKind, list[str]] = {}
        self._replace: dict[GroupKind, Replace] = {}

    @classmethod
    def of(cls, ctx: Context, name: str, owner: AnyObject, **how: Any) -> Self:
        """Returns the set of an object in a reconcile, which reads declared kinds from the cache.

        members = ApplySet.of(ctx, "members", team)
        """
        how.setdefault("memory", ctx.client.applied)
        how.setdefault("on_plan", ctx.note)
        return cls(ctx.client, name, owner=owner, api=ctx.api, **how)

    # Wanted objects

    def add(self, *objects: AnyObject | UserObject, how: How = AS_THE_SET, after: Iterable[AnyObject] = ()) -> Self:
        """Adds wanted objects, each to be written after those of `after`. A later call replaces an earlier object."""
        needed = tuple(map(UserObject.of, after))
        self._waiting += [(obj if isinstance(obj, UserObject) else UserObject.of(obj), how, needed) for obj in objects]
        return self

    def ignore(self, kind: Kind[Any], *pointers: str) -> Self:
        """Leaves fields of existing objects of a kind to other managers: JSON Pointers, with `*` for any item."""
        gvk = kind_of(kind).gvk
        self._ignore.setdefault(GroupKind(gvk.group, gvk.kind), []).extend(pointers)
        return self

    def on_immutable(self, kind: Kind[Any], replace: Replace) -> Self:
        """Sets the policy for objects of a kind with a change of an immutable field."""
        gvk = kind_of(kind).gvk
        self._replace[GroupKind(gvk.group, gvk.kind)] = replace
        return self

    @asynccontextmanager
    async def collect(self) -> AsyncIterator[Self]:
        """Applies the objects that the block adds, after a successful end; an exception leaves all objects unchanged.

        async with members.collect():
            members.add(config_map)
        """
        yield self
        await self.apply()

    # Planning

    async def plan(self) -> Plan:
        """Returns the steps that `apply` would perform, without writing."""
        return planning.make(*await self._desired_and_plan_input(await self._record.read(self.client)))

    async def _desired_and_plan_input(self, inventory: Inventory) -> tuple[list[Desired], PlanInput]:
        await self.prepare()
        desired = [self._members[identity] for identity in ordered(self._members, self.after)]
        return desired, await self.plan_input(inventory, desired)

    async def prepare(self) -> list[Desired]:
        """Converts newly added objects to members of the set, and returns them in order.

        Of several versions of an object the last one counts.
        """
        scopes = _scopes_in(given for given, _, _ in self._waiting)
        new: dict[Identity, Desired] = {}
        for given, how, after in self._waiting:
            desired = await self._prepared(given, how, scopes)
            new[desired.identity] = desired
            self.after[desired.identity] = [(await self._locate(other, scopes))[0] for other in after]
        self._waiting.clear()
        self._members.update(new)
        return [new[identity] for identity in ordered(new, self.after)]

    async def _prepared(self, given: UserObject, how: How, scopes: dict[GroupKind, bool]) -> Desired:
        if self._transforms:
            tree = given.tree
            for transform in self._transforms:
                changed = transform(tree)
                tree = tree if changed is None else changed
            given = UserObject.of(tree)
        identity, resource = await self._locate(given, scopes)
        policy = self._how
        if (replace := self._replace.get(identity.group_kind)) is not None:
            policy = policy._replace(replace=replace)
        return Desired(
            given,
            identity,
            policy if how is AS_THE_SET else how.over(policy),
            self._marks,
            has_status=resource is None or "status" in resource.subresources,
            plural="" if resource is None else resource.plural,
        )

    async def _locate(self, given: UserObject, scopes: dict[GroupKind, bool]) -> tuple[Identity, APIResource | None]:
        """Returns the identity of an object: in its own namespace or else the set's; none if cluster-scoped."""
        identity, resource = given.identity, None
        try:
            resource = await self.client.mapper.resource(given.gvk)
            namespaced = resource.namespaced
        except NoMatch:
            if identity.group_kind not in scopes:
                raise
            namespaced = scopes[identity.group_kind]
        if not namespaced:
            return identity._replace(namespace=""), resource
        if identity.namespace:
            return identity, resource
        if not self.namespace:
            raise ValueError(f"{identity} needs a namespace: set the namespace of the object or of the set")
        return identity._replace(namespace=self.namespace), resource

    async def plan_input(
        self,
        inventory: Inventory,
        desired: Iterable[Desired],
        *,
        wanted: Mapping[Identity, Object] | None = None,
        identities: Collection[Identity] | None = None,
    ) -> PlanInput:
        """Reads the current state: wanted objects through the client, others from the server.

        `wanted` are wanted objects that are already read. `identities` are the identities of wanted objects, which are
        not looked up as inventory entries.
        """
        live: dict[Identity, Object] = dict(wanted or {})
        for each in desired:
            try:
                found = await self._read_wanted(each)
            except NoMatch:
                continue
            if found is not None:
                live[each.identity] = found
        unserved = await self._read_unwanted(inventory, self._members if identities is None else identities, live)
        policy = ApplySetPolicy(self._how, self.prune, self._ignore, self._replace)
        now = self.client.clock.now()
        return PlanInput(
            self.id, self.manager, self._owner, policy, inventory, live, now, frozenset(unserved), self._is_applied
        )

    async def _read_wanted(self, desired: Desired) -> Object | None:
        """Reads a wanted object. Asks the server if the cache has none, to not overwrite an existing object."""
        client, identity, gvk = self.client, desired.identity, desired.gvk
        if isinstance(client, ReconcileClient):
            found = client.current(gvk, desired.plural, identity.name, identity.namespace)
            if found is None and client.is_declared(gvk, identity.namespace):
                found = await self.read(client, KindRef(gvk), identity)
            return await self.read(self.api, KindRef(gvk), identity) if found is None else found
        found = await self.read(client, KindRef(gvk), identity)
        return await self.read(self.api, KindRef(gvk), identity) if found is None and self.api is not client else found

    async def _read_unwanted(
        self, inventory: Inventory, wanted: Collection[Identity], live: dict[Identity, Object]
    ) -> set[GroupVersionKind]:
        """Adds inventory objects that are not wanted to `live`. Returns the kinds that the server does not serve."""
        unserved = set()
        for entry in inventory.values():
            if entry.identity in wanted:
                continue
            try:
                found = await self.read(self.api, KindRef(entry.gvk), entry.identity)
            except NoMatch:
                unserved.add(entry.gvk)
                continue
            if found is not None:
                live[entry.identity] = found
        return unserved

    async def read(self, client: Client, ref: KindRef, identity: Identity) -> Object | None:
        try:
            found: Object = await client.get(ref, identity.name, identity.namespace)
            return found
        except NotFound:
            return None

    def _is_applied(self, desired: Desired, version: str) -> bool:
        return self._memory.is_applied(self._key(desired), self._fingerprint_of(desired), version)

    def record_applied(self, desired: Desired, version: str) -> None:
        """Records that an object is as wanted in this version."""
        self._memory.record(self._key(desired), self._fingerprint_of(desired), version)

    def _key(self, desired: Desired) -> tuple[object, ...]:
        return self.id, self.manager, desired.identity

    def _fingerprint_of(self, desired: Desired) -> tuple[object, ...]:
        owner = "" if self._owner is None else meta.uid(self._owner)
        return (
            *desired.comparison_key,
            owner,
            tuple(self._ignore.get(desired.identity.group_kind, ())) if self._ignore else (),
        )

    # Applying

    async def apply(self, plan: Plan | None = None) -> Result:
        """Writes the wanted objects in order and, if all of them are in place, prunes the others.

        With a plan, performs exactly that plan, and raises PlanOutdated if the plan no longer matches the current
        state. Raises the server's error for an object (ApplyFailed for several), Refused, and PruneWithheld.
        """
        inventory = await self._record.read(self.client)
        desired, plan_input = await self._desired_and_plan_input(inventory)
        current = planning.make(desired, plan_input)
        if plan is not None and _fingerprint(plan) != _fingerprint(current):
            raise PlanOutdated(f"objects have changed since the plan was made; the current plan:\n{current.render()}")
        if self._on_plan is not None:
            self._on_plan(current)
        run = ApplyRun(self, inventory, is_exact=plan is not None)
        await run.write(desired, current.steps[: len(desired)], plan_input)
        return await run.prune(current._replace(steps=current.steps[len(desired) :]), plan_input)

    async def begin(self) -> ApplyRun:
        """Starts an incremental run: `put` writes the objects added so far, and `finish` prunes.

        Without `finish`, no object is pruned.
        """
        return ApplyRun(self, await self._record.read(self.client))

    # Deleting

    async def delete(self, *, wait: bool = True) -> bool:
        """Deletes all objects of the set, in reverse order, and the inventory. Returns True if all are deleted.

        Keeps objects that are marked as not prunable, and those that do not belong to the set any more. With `wait`,
        raises TimeoutError if an object is not deleted in time; the remaining objects stay in the inventory.
        """
        return not await self.delete_some(wait=wait)

    async def disband(self) -> None:
        """Deletes the inventory, and leaves the objects in place."""
        await self._record.read(self.api)
        await self._record.remove(self.api)

    async def delete_some(self, *, wait: bool = False, in_order: bool = False) -> list[InventoryEntry]:
        """Deletes the objects of the set, and returns those that are not deleted yet.

        With `in_order`, objects that others may need are deleted only after those: call this repeatedly, at most once
        per rank of kinds.
        """
        self._members.clear()
        self._waiting.clear()
        inventory = await self._record.read(self.api)
        plan_input = await self.plan_input(inventory, ())
        plan_input = plan_input._replace(
            policy=plan_input.policy._replace(prune=Prune(propagation=self.prune.propagation))
        )
        left, waiting = list[InventoryEntry](), list[InventoryEntry]()
        for step in planning.make([], plan_input).steps:
            if step.entry is None or step.live is None or step.action is Action.FORGET or is_kept(step.live):
                continue
            if step.action is Action.LEAVE and not meta.is_being_deleted(step.live):
                continue
            uid = meta.uid(step.live)
            if in_order and left and rank(left[-1].identity.group_kind) > rank(step.identity.group_kind):
                waiting.append(step.entry)
            elif not await delete(self.api, step.entry, uid, self.prune.propagation):
                left.append(step.entry._replace(uid=uid))
        if left and wait:
            for entry in left:
                await self.wait_deleted(entry)
            left = []
        if left:
            await self.write_inventory(Inventory([*left, *waiting]), inventory)
            return [*left, *waiting]
        await self._record.remove(self.api)
        return []

    async def wait_deleted(self, entry: InventoryEntry) -> None:
        """Waits until an object is deleted or replaced by another of the same name. Raises TimeoutError."""
        identity = entry.identity
        await self.api.wait_for(
            KindRef(entry.gvk),
            identity.name,
            identity.namespace,
            lambda obj: obj is None or meta.uid(tree_of(obj)) != entry.uid,
            timeout=self.timeout,
        )

    async def write_inventory(self, inventory: Inventory, before: Inventory) -> Inventory:
        if inventory is not before and inventory != before:
            where = meta.namespace(self._owner) if self._owner is not None else ""
            owned = self._owner is not None and bool(self._how.owner_references)
            all_owned = owned and all(
                (not where or identity.namespace == where)
                and (identity not in self._members or bool(self._members[identity].how.owner_references))
                for identity in inventory
            )
            await self._record.write(self.api, inventory, all_owned=all_owned)
        return inventory


def _scopes_in(objects: Iterable[UserObject]) -> dict[GroupKind, bool]:
    """Returns the scopes (True if namespaced) of kinds defined by CustomResourceDefinitions among the objects."""
    found = {}
    for given in objects:
        if given.identity.group_kind == DEFINITION:
            spec = given.tree.get("spec") or {}
            kind = (spec.get("names") or {}).get("kind", "")
            found[GroupKind(spec.get("group", ""), kind)] = spec.get("scope") == "Namespaced"
    return found


def _fingerprint(plan: Plan) -> list[tuple[Action, Identity, str, str]]:
    """Returns the actions of a plan with the versions that they apply to."""
    return [
        (
            step.action,
            step.identity,
            meta.resource_version(step.live) if step.live is not None else "",
            encode([step.wanted, step.status]).decode(),
        )
        for step in plan.steps
        if step.action in WRITES or step.action in (Action.PRUNE, Action.REFUSE)
    ]
