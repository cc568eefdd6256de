"""Apply sets: objects that are written together, and of which those are deleted again that are no longer wanted.

    members = ApplySet(client, "members", owner=team, field_manager="teams")
    members.add(config_map, service)
    result = await members.apply()

An intent is written down before an object is made, and forgotten only once the object is gone: whenever the process
ends, the next run goes on from there. Nothing is pruned unless everything wanted is in place. A set that has nothing to
do sends nothing, where its client reads from a cache.
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
from setpoint.flow.apply_run import DEFINITION, Run
from setpoint.flow.desired_object import Desired, Given, Marks, encode
from setpoint.flow.inventory import Entry, Identity, Inventory
from setpoint.flow.marks import Owner, is_kept, set_id
from setpoint.flow.order import ordered, rank
from setpoint.flow.plan import WRITES, Action, Plan, World
from setpoint.flow.policy import AS_THE_SET, DEFAULT, PRUNE, How, Policy, Prune, Replace
from setpoint.flow.record import ConfigMapRecord, Record
from setpoint.flow.result import PlanOutdated, Result
from setpoint.flow.write import delete
from setpoint.objects import meta
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Object

Transform = Callable[[Object], Object | None]


class ApplySet:
    """The objects of one set. `client` may read from a cache; `api`, which is asked before something is made or
    deleted, must not. `memory` is what sets of the same controller share from run to run."""

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        owner: AnyObject | None = None,
        namespace: str = "",
        field_manager: str = "",
        how: How = AS_THE_SET,
        prune: Prune = PRUNE,
        transforms: Sequence[Transform] = (),
        record: Record | None = None,
        api: Client | None = None,
        memory: Applied | None = None,
        timeout: float = 30.0,
        on_plan: Callable[[Plan], None] | None = None,
    ) -> None:
        self.client, self.api = client, api or client
        self._owner = None if owner is None else tree_of(owner)
        self.namespace = namespace or (meta.namespace(self._owner) if self._owner is not None else "")
        self.manager = field_manager or client.options.field_manager
        if not self.manager:
            raise ValueError("an apply set needs a field manager, always the same: give field_manager")
        whose = None if self._owner is None else Owner.of(self._owner)
        self.id = set_id(name, whose)
        self._marks = Marks(self.id, self.manager, "" if whose is None else str(whose))
        if record is None and not self.namespace:
            raise ValueError("the inventory of a set is kept in a ConfigMap: give the set a namespace, or a record")
        self._memory = memory or Applied()
        self._record = record or ConfigMapRecord(self.id, self.namespace, self._owner, self.manager, memory)
        self._how = how.over(DEFAULT)
        self.prune = prune
        self._transforms = transforms
        self.timeout = timeout
        # Is told each plan before it is carried out.
        self._on_plan = on_plan
        self._members: dict[Identity, Desired] = {}
        self._waiting: list[tuple[Given, How, tuple[Given, ...]]] = []
        self.after: dict[Identity, list[Identity]] = {}
        self._ignore: dict[GroupKind, list[str]] = {}
        self._replace: dict[GroupKind, Replace] = {}

    @classmethod
    def of(cls, ctx: Context, name: str, owner: AnyObject, **how: Any) -> Self:
        """The set of an object in a reconcile, which reads from the cache what the controller has declared."""
        how.setdefault("memory", ctx.client.applied)
        how.setdefault("on_plan", ctx.note)
        return cls(ctx.client, name, owner=owner, api=ctx.api, **how)

    # What is wanted

    def add(self, *objects: AnyObject | Given, how: How = AS_THE_SET, after: Iterable[AnyObject] = ()) -> Self:
        """Wants these objects, each written after those of `after`. The last that is said of an object counts."""
        needed = tuple(map(Given.of, after))
        self._waiting += [(obj if isinstance(obj, Given) else Given.of(obj), how, needed) for obj in objects]
        return self

    def ignore(self, kind: Kind[Any], *pointers: str) -> Self:
        """Leaves fields of a kind to others, once the object is there: JSON Pointers, with `*` for any item."""
        gvk = kind_of(kind).gvk
        self._ignore.setdefault(GroupKind(gvk.group, gvk.kind), []).extend(pointers)
        return self

    def on_immutable(self, kind: Kind[Any], replace: Replace) -> Self:
        """What to do where a field of an object of this kind has to change and cannot."""
        gvk = kind_of(kind).gvk
        self._replace[GroupKind(gvk.group, gvk.kind)] = replace
        return self

    @asynccontextmanager
    async def collect(self) -> AsyncIterator[Self]:
        """Applies what the block adds, once it has ended well; if it raises, all stays as it was."""
        yield self
        await self.apply()

    # Planning

    async def plan(self) -> Plan:
        """What is to be done. Nothing is written."""
        return planning.make(*await self._desired_and_world(await self._record.read(self.client)))

    async def _desired_and_world(self, inventory: Inventory) -> tuple[list[Desired], World]:
        await self.prepare()
        desired = [self._members[identity] for identity in ordered(self._members, self.after)]
        return desired, await self.world(inventory, desired)

    async def prepare(self) -> list[Desired]:
        """What was added since, in order: as members of the set. The last word about an object counts."""
        scopes = _scopes_in(given for given, _, _ in self._waiting)
        new: dict[Identity, Desired] = {}
        for given, how, after in self._waiting:
            desired = await self._prepared(given, how, scopes)
            new[desired.identity] = desired
            self.after[desired.identity] = [(await self._place(other, scopes))[0] for other in after]
        self._waiting.clear()
        self._members.update(new)
        return [new[identity] for identity in ordered(new, self.after)]

    async def _prepared(self, given: Given, how: How, scopes: dict[GroupKind, bool]) -> Desired:
        if self._transforms:
            tree = given.tree
            for transform in self._transforms:
                changed = transform(tree)
                tree = tree if changed is None else changed
            given = Given.of(tree)
        identity, resource = await self._place(given, scopes)
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

    async def _place(self, given: Given, scopes: dict[GroupKind, bool]) -> tuple[Identity, APIResource | None]:
        """Which object is meant: in the namespace that it says, or else the set's; in none where its kind has none."""
        said, resource = given.identity, None
        try:
            resource = await self.client.mapper.resource(given.gvk)
            namespaced = resource.namespaced
        except NoMatch:
            if said.group_kind not in scopes:
                raise
            namespaced = scopes[said.group_kind]
        if not namespaced:
            return said._replace(namespace=""), resource
        if said.namespace:
            return said, resource
        if not self.namespace:
            raise ValueError(f"{said} needs a namespace: give it one, or the set")
        return said._replace(namespace=self.namespace), resource

    async def world(
        self,
        inventory: Inventory,
        desired: Iterable[Desired],
        *,
        wanted: Mapping[Identity, Object] | None = None,
        known: Collection[Identity] | None = None,
    ) -> World:
        """What is there: what is wanted as the client sees it, the rest as the server does. Of what is `wanted` that is
        known already; the rest is looked at where it is known which objects are wanted."""
        live: dict[Identity, Object] = dict(wanted or {})
        for each in desired:
            try:
                found = await self._see(each)
            except NoMatch:
                continue
            if found is not None:
                live[each.identity] = found
        unserved = await self._see_rest(inventory, self._members if known is None else known, live)
        policy = Policy(self._how, self.prune, self._ignore, self._replace)
        now = self.client.clock.now()
        return World(
            self.id, self.manager, self._owner, policy, inventory, live, now, frozenset(unserved), self._is_known
        )

    async def _see(self, desired: Desired) -> Object | None:
        """A wanted object. A cache may be behind, and what is not there is made: that must not take over what is."""
        client, identity, gvk = self.client, desired.identity, desired.gvk
        if isinstance(client, ReconcileClient):
            found = client.current(gvk, desired.plural, identity.name, identity.namespace)
            if found is None and client.is_declared(gvk, identity.namespace):
                found = await self.look(client, KindRef(gvk), identity)
            return await self.look(self.api, KindRef(gvk), identity) if found is None else found
        found = await self.look(client, KindRef(gvk), identity)
        return await self.look(self.api, KindRef(gvk), identity) if found is None and self.api is not client else found

    async def _see_rest(
        self, inventory: Inventory, wanted: Collection[Identity], live: dict[Identity, Object]
    ) -> set[GroupVersionKind]:
        """Adds what the inventory has beside what is wanted; the kinds that the server does not have at present."""
        unserved = set()
        for entry in inventory.values():
            if entry.identity in wanted:
                continue
            try:
                found = await self.look(self.api, KindRef(entry.gvk), entry.identity)
            except NoMatch:
                unserved.add(entry.gvk)
                continue
            if found is not None:
                live[entry.identity] = found
        return unserved

    async def look(self, client: Client, ref: KindRef, identity: Identity) -> Object | None:
        try:
            found: Object = await client.get(ref, identity.name, identity.namespace)
            return found
        except NotFound:
            return None

    def _is_known(self, desired: Desired, version: str) -> bool:
        return self._memory.is_known(self._key(desired), self._what(desired), version)

    def learn(self, desired: Desired, version: str) -> None:
        """Remembers that in this version an object is as it should be."""
        self._memory.learn(self._key(desired), self._what(desired), version)

    def _key(self, desired: Desired) -> tuple[object, ...]:
        return self.id, self.manager, desired.identity

    def _what(self, desired: Desired) -> tuple[object, ...]:
        owner = "" if self._owner is None else meta.uid(self._owner)
        return *desired.what, owner, tuple(self._ignore.get(desired.identity.group_kind, ())) if self._ignore else ()

    # Applying

    async def apply(self, plan: Plan | None = None) -> Result:
        """Does what is to be done: writes what is wanted, in order, and when all of it is in place, prunes the rest.

        With a plan, exactly that is done: PlanOutdated is raised where it is not any more what should be done. Raises
        what the server says of an object (where several fail, ApplyFailed), Refused, and PruneWithheld.
        """
        inventory = await self._record.read(self.client)
        desired, world = await self._desired_and_world(inventory)
        current = planning.make(desired, world)
        if plan is not None and _fingerprint(plan) != _fingerprint(current):
            raise PlanOutdated(f"things have changed since the plan was made; it would now be:\n{current.render()}")
        if self._on_plan is not None:
            self._on_plan(current)
        run = Run(self, inventory, exactly=plan is not None)
        await run.write(desired, current.steps[: len(desired)], world)
        return await run.prune(current._replace(steps=current.steps[len(desired) :]), world)

    async def begin(self) -> Run:
        """A run of which not all is known yet: `put` writes what was added so far, and `finish`, when that is all,
        prunes. Who never comes to that has nothing pruned."""
        return Run(self, await self._record.read(self.client))

    # Deleting

    async def delete(self, *, wait: bool = True) -> bool:
        """Deletes all objects of the set, the last written first, and its inventory. Whether all are gone.

        What says that it must not be pruned stays, and so does what is not the set's own any more. Raises TimeoutError
        where it waits and they do not go; what is left is still known then.
        """
        return not await self.delete_some(wait=wait)

    async def disband(self) -> None:
        """Forgets the objects of the set, and leaves them where they are."""
        await self._record.read(self.api)
        await self._record.remove(self.api)

    async def delete_some(self, *, wait: bool = False, in_order: bool = False) -> list[Entry]:
        """The same, and which objects are not gone yet. With `in_order`, what others may need is deleted only once
        those are gone: as many calls as there are ranks of kinds bring it to an end."""
        self._members.clear()
        self._waiting.clear()
        inventory = await self._record.read(self.api)
        world = await self.world(inventory, ())
        world = world._replace(policy=world.policy._replace(prune=Prune(propagation=self.prune.propagation)))
        left, waiting = list[Entry](), list[Entry]()
        for step in planning.make([], world).steps:
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
                await self.wait_gone(entry)
            left = []
        if left:
            await self.write_inventory(Inventory([*left, *waiting]), inventory)
            return [*left, *waiting]
        await self._record.remove(self.api)
        return []

    async def wait_gone(self, entry: Entry) -> None:
        """Waits until an object is gone, or another one has its name. Raises TimeoutError."""
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


def _scopes_in(objects: Iterable[Given]) -> dict[GroupKind, bool]:
    """Of the kinds that definitions among the objects define: whether they live in namespaces."""
    found = {}
    for given in objects:
        if given.identity.group_kind == DEFINITION:
            spec = given.tree.get("spec") or {}
            kind = (spec.get("names") or {}).get("kind", "")
            found[GroupKind(spec.get("group", ""), kind)] = spec.get("scope") == "Namespaced"
    return found


def _fingerprint(plan: Plan) -> list[tuple[Action, Identity, str, str]]:
    """What a plan does, and to which versions."""
    return [
        (
            step.action,
            step.identity,
            meta.resource_version(step.live) if step.live is not None else "",
            encode(step.wanted).decode(),
        )
        for step in plan.steps
        if step.action in WRITES or step.action in (Action.PRUNE, Action.REFUSE)
    ]
