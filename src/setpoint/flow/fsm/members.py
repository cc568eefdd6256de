"""The outputs of one walk, as the apply set of the object: written as states are passed, pruned after a complete walk.

The outputs are deleted with the object. A change of any output triggers the object, with or without an owner reference.
For outputs without an owner reference, which the garbage collector would not delete, the owner gets a finalizer.
"""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

from setpoint.client.kinds import KindRef
from setpoint.controller.context import Context
from setpoint.controller.read_tracker import Lookup
from setpoint.flow.apply_run import ApplyRun
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.desired_object import Desired
from setpoint.flow.fsm.noop_check import OutputLocation, PreviousOutputs
from setpoint.flow.fsm.outputs import Outputs, StateOutput, Unwanted
from setpoint.flow.inventory import Identity, InventoryEntry
from setpoint.flow.marks import is_kept
from setpoint.flow.policy import How, Prune, Replace
from setpoint.flow.result import Result
from setpoint.objects import meta
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object

_LONGEST_NAME, _HASH_CHARACTERS = 40, 8
# The finalizer of deletions with orphaned dependents.
_ORPHAN = "orphan"


class OutputPolicies(NamedTuple):
    """The write policies of a machine's outputs."""

    how: How
    prune: Prune
    # Kinds that are never deleted.
    kept: Collection[GroupKind]
    ignore: Mapping[KindRef, Sequence[str]]
    replace: Mapping[KindRef, Replace]
    # The namespace of the inventories of cluster-scoped objects.
    namespace: str


class MachineController(Protocol):
    """The controller, as seen by its sets."""

    finalizer: str

    async def follow(self, ctx: Context, kind: GroupVersionKind, namespace: str) -> None:
        """Watches the objects of a kind from now on."""


class Members:
    """The apply set of one walk."""

    def __init__(
        self, ctx: Context, owner: Object, name: str, manager: str, rules: OutputPolicies, host: MachineController
    ) -> None:
        self._ctx, self._owner, self._host, self.rules = ctx, owner, host, rules
        self._name, self._manager = name, manager
        self._memory = ctx.client.applied
        self._about = "walk", name, meta.uid(owner)
        # The result of the last complete walk, and the outputs of this walk that match it: without a difference there
        # is no work.
        self._previous: PreviousOutputs | None = None
        if not meta.is_being_deleted(owner):
            self._previous = self._memory.get(self._about)
        self._same: dict[Identity, StateOutput] = {}
        self._begun: tuple[ApplySet, ApplyRun] | None = None
        self._outputs: dict[Identity, StateOutput] = {}

    async def put(self, out: Outputs) -> list[Object]:
        """Writes and deletes the outputs of one state. Returns the wanted objects as stored by the server.

        Objects that are being replaced, or are not created because the owner is terminating, are not returned.
        """
        for unwanted in out.unwanted:
            await self._delete(unwanted)
        wanted = out.wanted
        if not wanted:
            return []
        if self._previous is not None:
            found = self._previous.unchanged(self._ctx, wanted)
            if found is not None:
                self._same.update((each.source.identity, each) for each in wanted)
                return found
        return await self._put(wanted)

    async def _put(self, wanted: Sequence[StateOutput]) -> list[Object]:
        members, run = await self._begin()
        for output in wanted:
            self._outputs[output.source.identity] = output
            members.add(output.source, how=output.how, after=output.after)
        desired = await members.prepare()
        await self._add_finalizer(desired)
        for each in desired:
            if each.plural:
                await self._host.follow(self._ctx, each.gvk, each.identity.namespace)
        return list((await run.put(desired)).values())

    async def complete(self) -> float | None:
        """Ends a complete walk: deletes outputs of earlier walks that this walk did not put out.

        Returns the seconds after which more is to be deleted; None if all is done.
        """
        if self._previous is not None and self._same.keys() == self._previous.places.keys():
            self._previous.record_lookups(self._ctx)
            return None
        _, run = await self._begin()
        result = await run.finish()
        if result.is_complete and result.again_after is None and run.inventory.keys() == result.objects.keys():
            self._memory.put(self._about, self._result_of(result))
        return result.again_after

    def _result_of(self, result: Result) -> PreviousOutputs:
        """Returns the result of this walk for later comparison."""
        cluster, places = self._ctx.request.cluster, {}
        for identity, obj in result.objects.items():
            given_identity = identity if identity in self._outputs else identity._replace(namespace="")
            output = self._outputs[given_identity]
            look = Lookup(cluster, output.source.gvk, identity.key)
            version = meta.resource_version(obj)
            places[given_identity] = OutputLocation(
                hash(output.source.body), output.how, version, look, identity.namespace
            )
        return PreviousOutputs(places)

    async def stopped(self) -> None:
        """Ends an incomplete walk: outputs that the walk did not reach still trigger the object."""
        if self._begun is not None:
            for entry in self._begun[1].inventory.values():
                await self._record_lookup(entry)
        elif self._previous is not None:
            self._previous.record_lookups(self._ctx)

    async def delete(self) -> list[InventoryEntry]:
        """Deletes all outputs of the set in order. Returns those that are not deleted yet."""
        members = self._make()
        if _ORPHAN in meta.finalizers(self._owner):
            await members.disband()
            return []
        left = await members.delete_some(in_order=True)
        for entry in left:
            await self._record_lookup(entry)
        return left

    async def _begin(self) -> tuple[ApplySet, ApplyRun]:
        """Starts the run of the apply set at the first output that may differ, with the outputs before."""
        if self._begun is None:
            self._memory.put(self._about, None)
            members = self._make()
            self._begun = members, await members.begin()
            same, self._same, self._previous = self._same, {}, None
            await self._put(list(same.values()))
        return self._begun

    def _make(self) -> ApplySet:
        rules, owner = self.rules, self._owner
        found = ApplySet.of(
            self._ctx,
            set_name(self._name),
            owner,
            namespace=meta.namespace(owner) or rules.namespace,
            field_manager=self._manager,
            how=rules.how,
            prune=rules.prune,
        )
        for kind, pointers in rules.ignore.items():
            found.ignore(kind, *pointers)
        for kind, replace in rules.replace.items():
            found.on_immutable(kind, replace)
        return found

    async def _record_lookup(self, entry: InventoryEntry) -> None:
        await self._host.follow(self._ctx, entry.gvk, entry.identity.namespace)
        self._ctx.record_lookup(Lookup(self._ctx.request.cluster, entry.gvk, entry.identity.key))

    async def _add_finalizer(self, desired: Sequence[Desired]) -> None:
        """Adds the finalizer to the owner if an output would outlive the owner."""
        finalizer, owner = self._host.finalizer, self._owner
        if finalizer in meta.finalizers(owner) or meta.is_being_deleted(owner):
            return
        where = meta.namespace(owner)
        if any(
            (not each.how.owner_references or (where and each.identity.namespace != where)) and not is_kept(each.tree)
            for each in desired
        ):
            await self._ctx.finalize(finalizer, _no_cleanup)
            meta.add_finalizer(owner, finalizer)

    async def _delete(self, unwanted: Unwanted) -> None:
        client = self._ctx.client
        if await client.find(unwanted.kind, unwanted.name, unwanted.namespace) is None:
            return
        try:
            await client.delete(unwanted.kind, unwanted.name, unwanted.namespace)
        except NotFound:
            return


async def _no_cleanup() -> None:
    """Does not clean up: the owner is not terminating."""


def set_name(name: str) -> str:
    """Returns the name of a controller's apply set: that of the controller, if valid."""
    if not dns1123_label(name) and len(name) <= _LONGEST_NAME:
        return name
    shown = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name.lower()).strip("-")
    end = sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{shown[: _LONGEST_NAME - 1 - _HASH_CHARACTERS]}-{end}".lstrip("-")
