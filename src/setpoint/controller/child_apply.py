"""Applies children: objects that the reconciled object controls (`ctx.own`).

A child belongs to its controller, so the fields that others change are set again (`force`), unless the caller passes
`force=False`. An object of that name that the reconciled object does not control is left alone. A child that cannot be
written is a state of the reconciled object and not a failure of the program: `ChildError` becomes a condition and an
event, with the field, its owner and the remedy.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef, tree_of
from setpoint.client.options import WriteOptions
from setpoint.objects import meta, owners
from setpoint.objects.errors import ApplyConflict, Conflict, Forbidden, Invalid, NotFound
from setpoint.objects.tree import Object

# The prefix of the name with which a new child is tried in a dry run; names have at most 63 characters.
_MOST_PREFIX = 50


class ChildError(Exception):
    """A child that cannot be written. `reason` and the message are those of a condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Child(NamedTuple):
    """A child to apply: its kind, its tree, its place, and the reference to its controller."""

    ref: KindRef
    tree: Object
    name: str
    namespace: str
    owner: Object

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.ref.gvk.kind} {where}"


def owner_in(tree: Object, kind: Any, name: str) -> Object | None:
    """Returns the controller reference of a tree to the object of a kind and name; None if there is none."""
    for reference in tree["metadata"].get("ownerReferences") or ():
        if reference.get("controller") and kind is not None:
            is_this = (reference.get("kind"), reference.get("name")) == (kind.kind, name)
            return reference if is_this and reference["apiVersion"].rpartition("/")[0] == kind.group else None
    return None


def cluster_scoped_child(kind: str, name: str, owner_kind: str) -> ValueError:
    """Returns the error for a cluster-scoped child of a namespaced owner: the garbage collector would treat the owner
    as missing."""
    return ValueError(
        f"{kind} {name} is cluster-scoped, and a namespaced {owner_kind} cannot own it: apply the object without "
        "ctx.own, with a label that names the owner, and delete it in ctx.finalize"
    )


async def apply_child(
    client: Client,
    live: Client,
    child: Child,
    send: Callable[[bool], Awaitable[Any]],
    *,
    force: bool | None,
    recreate: bool,
    how: WriteOptions,
) -> Any:
    """Applies a child with `send(force)`. `client` may read from a cache, and `live` does not. Raises ChildError, and
    ValueError for a cluster-scoped child of a namespaced owner."""
    if child.namespace and not (await client.mapper.resource(child.ref.gvk)).namespaced:
        raise cluster_scoped_child(child.ref.gvk.kind, child.name, child.owner["kind"])
    existing = await _existing(client, child)
    _check_controlled(child, existing)
    try:
        return await send(existing is not None if force is None else force)
    except ApplyConflict as error:
        if force is False:
            raise _conflict(child, error) from None
        # The cache did not show the object yet.
        _check_controlled(child, await _existing(live, child))
        return await send(True)
    except Invalid as error:
        existing = await _existing(live, child)
        _check_controlled(child, existing)  # the cache may not have shown an object of another owner
        if existing is None or not recreate:
            raise _invalid(child, error, exists=existing is not None) from None
    await _replace(live, child, existing, how)
    try:
        return await send(False)
    except (Conflict, Invalid):
        raise ChildError("ChildTerminating", f"{child} is being replaced: waits for its deletion") from None


async def _existing(client: Client, child: Child) -> Object | None:
    try:
        return tree_of(await client.get(child.ref, child.name, child.namespace))
    except (NotFound, Forbidden):  # without the right to read, the server reports conflicts
        return None


def _check_controlled(child: Child, existing: Object | None) -> None:
    """Raises ChildError if another object controls the existing one, or none does."""
    if existing is None:
        return
    reference = owners.controller_of(existing)
    if reference is not None and reference.get("uid") == child.owner.get("uid"):
        return
    other = f"{reference.get('kind')} {reference.get('name')} controls it" if reference else "no object controls it"
    if reference is not None and owners.same_owner(reference, child.owner):
        other = f"an earlier {reference.get('kind')} {reference.get('name')} controls it, which is being deleted"
    raise ChildError(
        "ChildNotControlled",
        f"{child} exists and {other}: delete or rename the object, or choose another name for the child",
    )


def _conflict(child: Child, error: ApplyConflict) -> ChildError:
    fields = ", ".join(dict.fromkeys(f"{cause.field} ({_sentence(cause.message)})" for cause in error.causes))
    return ChildError("ChildConflict", f"{child} has fields of other managers: {fields}; apply without force=False")


def _sentence(message: str) -> str:
    return message.replace('conflict with "', 'owned by "')


def _invalid(child: Child, error: Invalid, *, exists: bool) -> ChildError:
    causes = "; ".join(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in error.causes)) or error.message
    if not exists:
        return ChildError("ChildInvalid", f"{child} was rejected: {causes}")
    remedy = "if the field is immutable, pass recreate=True to replace the child, or delete the child"
    return ChildError("ChildInvalid", f"{child} was rejected: {causes}; {remedy}")


async def _replace(live: Client, child: Child, existing: Object, how: WriteOptions) -> None:
    """Deletes a child, if a new one would be accepted. Raises ChildError otherwise."""
    metadata = {key: value for key, value in child.tree["metadata"].items() if key != "name"}
    trial = {**child.tree, "metadata": {**metadata, "generateName": f"{child.name[:_MOST_PREFIX]}-"}}
    try:
        await live.create(trial, dry_run=True, field_manager=how.get("field_manager", ""))
    except Invalid as error:
        raise _invalid(child, error, exists=False) from None
    try:
        await live.delete(
            child.ref,
            child.name,
            child.namespace,
            uid=meta.uid(existing),
            propagation="Background",
            dry_run=how.get("dry_run"),
        )
    except NotFound:
        return
