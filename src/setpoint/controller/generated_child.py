"""Children with generated names that are created once, also if the process dies right after the create.

A name that the server generates is lost if the process dies before the name is recorded. The child is therefore
found again by a label with a hash of the owner's UID and of a key, as a ReplicaSet finds its pods by owner and
selector. A child in the cache is returned. A cache without the child may be behind, so the server is asked before
a child is created: that costs one more request for each child, and none later.
"""

import hashlib
import logging
from typing import Any, Protocol, cast

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef, Obj, ref_of, tree_of
from setpoint.client.patches import merge
from setpoint.objects import meta, owners
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object

# The label of a child, and the annotation with its readable key.
CHILD_LABEL, KEY_ANNOTATION = "setpoint.dev/child", "setpoint.dev/child-key"
_DIGITS = 32

_log = logging.getLogger(__name__)


class ChildContext(Protocol):
    """The context of a reconcile."""

    @property
    def client(self) -> Client:
        """Reads from the cache."""

    @property
    def api(self) -> Client:
        """Reads from the server."""

    def own(self, child: Obj) -> Obj: ...


async def create_once(ctx: ChildContext, child: Obj, key: str) -> Obj:
    """Returns the child with a key, and creates the child if there is none; see `Context.create_once`."""
    if not key:
        raise ValueError("create_once needs a key that tells this child from others: create_once(child, key='build')")
    ref = ref_of(child)
    tree = thaw(tree_of(ctx.own(child)))
    metadata = tree["metadata"]
    if metadata.get("name") or not metadata.get("generateName"):
        raise ValueError(
            f"create_once needs a {ref.gvk.kind} with generateName and without a name: apply a child with a name, "
            "ctx.client.apply(ctx.own(child))"
        )
    owner = owners.controller_of(tree)
    assert owner is not None
    mark = _mark(owner["uid"], key)
    metadata["labels"] = {**(metadata.get("labels") or {}), CHILD_LABEL: mark}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), KEY_ANNOTATION: key}
    namespace = meta.namespace(tree)
    for client in (ctx.client, ctx.api):
        found = await _find(client, ref, namespace, mark, owner)
        if found is not None:
            return cast(Obj, found)
    return cast(Obj, ref.read(tree_of(await ctx.client.create(tree))))


def _mark(uid: str, key: str) -> str:
    """Returns the value of the label: the key may have characters that a label does not permit."""
    return hashlib.sha256(msgspec.json.encode([uid, key])).hexdigest()[:_DIGITS]


async def _find(client: Client, ref: KindRef, namespace: str, mark: str, owner: Object) -> Any:
    """Returns the oldest child with a mark that is not being deleted, and adopts an orphan; None if there is none."""
    listed = (await client.list(ref, namespace, labels={CHILD_LABEL: mark})).items
    trees = {id(item): tree_of(item) for item in listed}
    candidates = [
        item
        for item in listed
        if not meta.is_being_deleted(trees[id(item)]) and _may_be_child(trees[id(item)], owner["uid"])
    ]
    candidates.sort(key=lambda item: _age(trees[id(item)]))
    if len(candidates) > 1:
        names = ", ".join(meta.name(trees[id(item)]) for item in candidates)
        _log.warning("%s %s has several children with one key: %s", owner["kind"], owner["name"], names)
    for item in candidates:
        found = item if owners.controller_of(trees[id(item)]) else await _adopted(client, ref, trees[id(item)], owner)
        if found is not None:
            return found
    return None


def _may_be_child(tree: Object, uid: str) -> bool:
    reference = owners.controller_of(tree)
    return reference is None or reference.get("uid") == uid


def _age(tree: Object) -> tuple[str, str]:
    return str(tree["metadata"].get("creationTimestamp") or ""), meta.name(tree)


async def _adopted(client: Client, ref: KindRef, tree: Object, owner: Object) -> Any:
    """Makes the owner the controller of a child that has lost its owner. Returns None if another client was faster."""
    references = [*meta.owner_references(tree), owner]
    change = {
        "metadata": {
            "uid": meta.uid(tree),
            "resourceVersion": meta.resource_version(tree),
            "ownerReferences": references,
        }
    }
    try:
        return await client.patch(ref, merge(change), meta.name(tree), meta.namespace(tree))
    except (Conflict, NotFound):
        return None
