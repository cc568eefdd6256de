"""Apply sets: objects that are written together, and of which those are deleted again that are no longer wanted.

    members = ApplySet(client, "members", owner=team, field_manager="teams")
    members.add(config_map, service)
    result = await members.apply()

An intent is written down before an object is made, and forgotten only once the object is gone: whenever the process
ends, the next run goes on from there. Nothing is pruned unless everything wanted is in place. A set that has nothing to
do sends nothing, where its client reads from a cache.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.client.mapper import NoMatch
from setpoint.controller.context import Context
from setpoint.controller.reading import Applied
from setpoint.flow import plan as planning
from setpoint.flow.inventory import Entry, Identity, Inventory
from setpoint.flow.marks import MANAGED_BY, OWNER_ANNOTATION, SET_LABEL, Owner, is_kept, set_id
from setpoint.flow.order import ordered
from setpoint.flow.plan import WRITES, Action, Desired, Plan, World
from setpoint.flow.policy import AS_THE_SET, DEFAULT, PRUNE, How, Policy, Prune, Replace
from setpoint.flow.record import ConfigMapRecord, Record
from setpoint.flow.result import PlanOutdated, Result
from setpoint.flow.run import DEFINITION, Run, encode
from setpoint.flow.write import delete
from setpoint.objects import meta
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object

_SERVERS_OWN = ("managedFields", "resourceVersion", "creationTimestamp", "generation", "uid", "selfLink")

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
    ) -> None:
        self.client, self.api = client, api or client
        self._owner = None if owner is None else tree_of(owner)
        self.namespace = namespace or (meta.namespace(self._owner) if self._owner is not None else "")
        self.manager = field_manager or client.options.field_manager
        if not self.manager:
            raise ValueError("an apply set needs a field manager, always the same: give field_manager")
        self.id = set_id(name, None if self._owner is None else Owner.of(self._owner))
        if record is None and not self.namespace:
            raise ValueError("the inventory of a set is kept in a ConfigMap: give the set a namespace, or a record")
        self._record = record or ConfigMapRecord(self.id, self.namespace, self._owner, self.manager)
        self._how = how.over(DEFAULT)
        self.prune = prune
        self._transforms = transforms
        self.memory = memory or Applied()
        self.timeout = timeout
        self._members: dict[Identity, Desired] = {}
        self._waiting: list[tuple[AnyObject, How, tuple[AnyObject, ...]]] = []
        self.after: dict[Identity, list[Identity]] = {}
        self._ignore: dict[GroupKind, list[str]] = {}
        self._replace: dict[GroupKind, Replace] = {}

    @classmethod
    def of(cls, ctx: Context, name: str, owner: AnyObject, **how: Any) -> Self:
        """The set of an object in a reconcile, which reads from the cache what the controller has declared."""
        how.setdefault("memory", ctx.client.applied)
        return cls(ctx.client, name, owner=owner, api=ctx.api, **how)

    # What is wanted

    def add(self, *objects: AnyObject, how: How = AS_THE_SET, after: Iterable[AnyObject] = ()) -> Self:
        """Wants these objects, each written after those of `after`. The last that is said of an object counts."""
        needed = tuple(after)
        for obj in objects:
            _check(obj)
            self._waiting.append((obj, how, needed))
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
        return planning.make(await self._desired(), await self._world(await self._record.read(self.client)))

    async def _desired(self) -> list[Desired]:
        """The wanted objects with their marks, in order."""
        scopes = _scopes_in(obj for obj, _, _ in self._waiting)
        for obj, how, after in self._waiting:
            desired = await self._prepared(obj, how, scopes)
            self._members[desired.identity] = desired
            self.after[desired.identity] = [await self._identity(other, scopes) for other in after]
        self._waiting.clear()
        return [self._members[identity] for identity in ordered(self._members, self.after)]

    async def _prepared(self, obj: AnyObject, how: How, scopes: dict[GroupKind, bool]) -> Desired:
        tree = thaw(tree_of(obj)) if not isinstance(obj, dict) else _copy(obj)
        for transform in self._transforms:
            changed = transform(tree)
            tree = tree if changed is None else changed
        _check(tree)
        ref = KindRef(ref_of(tree).gvk)
        identity = await self._identity(tree, scopes)
        metadata = tree["metadata"]
        made_of = metadata.get("resourceVersion", "")
        for name in _SERVERS_OWN:
            metadata.pop(name, None)
        meta.put(metadata, "namespace", identity.namespace)
        labels = metadata["labels"] = dict(metadata.get("labels") or {})
        labels[SET_LABEL] = self.id
        labels.setdefault(MANAGED_BY, self.manager[:63])
        if self._owner is not None:
            annotations = metadata["annotations"] = dict(metadata.get("annotations") or {})
            annotations[OWNER_ANNOTATION] = str(Owner.of(self._owner))
        if "status" in tree and await self._has_status(ref):
            del tree["status"]
        replace = self._replace.get(identity.group_kind)
        return Desired(
            identity, ref.gvk, tree, how.over(self._how._replace(replace=replace or self._how.replace)), made_of
        )

    async def _identity(self, obj: AnyObject, scopes: dict[GroupKind, bool]) -> Identity:
        """Which object is meant: in the namespace that it says, or else the set's; in none where its kind has none."""
        said = Identity.of(tree_of(obj))
        try:
            namespaced = (await self.client.mapper.resource(ref_of(obj).gvk)).namespaced
        except NoMatch:
            if said.group_kind not in scopes:
                raise
            namespaced = scopes[said.group_kind]
        if not namespaced:
            return said._replace(namespace="")
        if not (said.namespace or self.namespace):
            raise ValueError(f"{said} needs a namespace: give it one, or the set")
        return said._replace(namespace=said.namespace or self.namespace)

    async def _has_status(self, ref: KindRef) -> bool:
        try:
            return "status" in (await self.client.mapper.resource(ref.gvk)).subresources
        except NoMatch:
            return True

    async def _world(self, inventory: Inventory) -> World:
        """What is there: what is wanted as the client sees it, the rest as the server does."""
        live: dict[Identity, Object] = {}
        unserved = set()
        for desired in self._members.values():
            try:
                found = await self.look(self.client, KindRef(desired.gvk), desired.identity)
                if found is None and self.api is not self.client:
                    # A cache may be behind, and what is not there is made: that must not take over what is.
                    found = await self.look(self.api, KindRef(desired.gvk), desired.identity)
            except NoMatch:
                continue
            if found is not None:
                live[desired.identity] = found
        for entry in inventory.values():
            if entry.identity in self._members:
                continue
            try:
                found = await self.look(self.api, KindRef(entry.gvk), entry.identity)
            except NoMatch:
                unserved.add(entry.gvk)
                continue
            if found is not None:
                live[entry.identity] = found
        policy = Policy(self._how, self.prune, self._ignore, self._replace)
        return World(
            self.id,
            self.manager,
            self._owner,
            policy,
            inventory,
            live,
            self.client.clock.now(),
            frozenset(unserved),
            self._was_written,
        )

    async def look(self, client: Client, ref: KindRef, identity: Identity) -> Object | None:
        try:
            found: Object = await client.get(ref, identity.name, identity.namespace)
            return found
        except NotFound:
            return None

    def _was_written(self, desired: Desired, wanted: Object, version: str) -> bool:
        return self.memory.is_known(self.place(desired.identity, desired.how), encode(wanted), version)

    def place(self, identity: Identity, how: How) -> tuple[object, ...]:
        return self.id, self.manager, identity, how.mode

    # Applying

    async def apply(self, plan: Plan | None = None) -> Result:
        """Does what is to be done: writes what is wanted, in order, and when all of it is in place, prunes the rest.

        With a plan, exactly that is done: PlanOutdated is raised where it is not any more what should be done. Raises
        what the server says of an object (where several fail, ApplyFailed), Refused, and PruneWithheld.
        """
        desired = await self._desired()
        inventory = await self._record.read(self.client)
        world = await self._world(inventory)
        current = planning.make(desired, world)
        if plan is not None and _fingerprint(plan) != _fingerprint(current):
            raise PlanOutdated(f"things have changed since the plan was made; it would now be:\n{current.render()}")
        return await Run(
            self, current, world, {each.identity: each for each in desired}, exactly=plan is not None
        ).run()

    # Deleting

    async def delete(self, *, wait: bool = True) -> bool:
        """Deletes all objects of the set, the last written first, and its inventory. Whether all are gone.

        What says that it must not be pruned stays, and so does what is not the set's own any more. Raises TimeoutError
        where it waits and they do not go; what is left is still known then.
        """
        self._members.clear()
        self._waiting.clear()
        inventory = await self._record.read(self.api)
        world = await self._world(inventory)
        world = world._replace(policy=world.policy._replace(prune=Prune(propagation=self.prune.propagation)))
        left: list[Entry] = []
        for step in planning.make([], world).steps:
            if step.entry is None or step.live is None or step.action is Action.FORGET or is_kept(step.live):
                continue
            if step.action is Action.LEAVE and not meta.is_being_deleted(step.live):
                continue
            uid = meta.uid(step.live)
            if not await delete(self.api, step.entry, uid, self.prune.propagation):
                left.append(step.entry._replace(uid=uid))
        if left and wait:
            for entry in left:
                await self.wait_gone(entry)
            left = []
        if left:
            await self.write_inventory(Inventory(left), inventory)
            return False
        await self._record.remove(self.api)
        return True

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
        if inventory != before:
            where = meta.namespace(self._owner) if self._owner is not None else ""
            owned = self._owner is not None and bool(self._how.owner_references)
            all_owned = owned and all(
                (not where or identity.namespace == where)
                and (identity not in self._members or bool(self._members[identity].how.owner_references))
                for identity in inventory
            )
            await self._record.write(self.client, inventory, all_owned=all_owned)
        return inventory


def _check(obj: AnyObject) -> None:
    """Whether an object can be of a set. Raises ValueError."""
    ref_of(obj)
    tree = tree_of(obj)
    if meta.name(tree):
        return
    if meta.of(tree).get("generateName"):
        raise ValueError(
            f"a {tree['kind']} of a set needs a name: one that the server makes would be another in every run; "
            "make one of the owner's name and what the object is for"
        )
    raise ValueError(f"a {tree['kind']} of a set needs a name")


def _copy(tree: Object) -> Object:
    found: Object = msgspec.json.decode(msgspec.json.encode(tree))
    return found


def _scopes_in(objects: Iterable[AnyObject]) -> dict[GroupKind, bool]:
    """Of the kinds that definitions among the objects define: whether they live in namespaces."""
    found = {}
    for obj in objects:
        tree = tree_of(obj)
        if Identity.of(tree).group_kind == DEFINITION:
            spec = tree.get("spec") or {}
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
