"""DELETE: removes an object, immediately or after its finalizers and its grace period."""

from datetime import timedelta
from typing import NamedTuple

from setpoint.objects import codec, meta
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.metavalidation import FOREGROUND, ORPHAN
from setpoint.objects.status import success
from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.server.codec.delete_options import DeleteOptions, delete_options
from setpoint.server.codec.response import json_answer, list_answer, object_answer
from setpoint.server.message import Response
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.selection import select
from setpoint.store.contract import ExpectationFailed, Item, Write


class Deleted(NamedTuple):
    """The result of a deletion: the current or last state of the object, and True for `is_removed` if the object was
    removed. `is_shown` is True if the response is the removed object in any case."""

    tree: Object
    body: bytes
    is_removed: bool
    is_shown: bool = False


async def delete(context: Context, resource: Resource) -> Response:
    options = delete_options(context)
    _warn_of_orphans(context, resource, options)
    deleted = await delete_object(context, resource, context.info.namespace, context.info.name, options)
    if deleted.is_removed and not deleted.is_shown and not resource.strategy.returns_deleted_object:
        metadata = deleted.tree["metadata"]
        return await json_answer(context, success(resource.group_resource, metadata["name"], metadata.get("uid", "")))
    accepted = not deleted.is_removed and options.orphan_dependents is False
    return await object_answer(context, resource, deleted.body, 202 if accepted else 200)


async def delete_collection(context: Context, resource: Resource) -> Response:
    """Deletes the objects that a list with the same parameters returns, and returns that list."""
    options = delete_options(context)
    _warn_of_orphans(context, resource, options)
    selected = await select(context, resource)
    held = await resource.prepare(selected.items)
    for item in selected.items:
        metadata = (await context.decoded(resource, item))["metadata"]
        await context.pause()
        try:
            place = metadata.get("namespace", ""), metadata["name"]
            await delete_object(context, resource, *place, options, requested_name="")
        except NotFound:
            continue
    del held
    return await list_answer(context, resource, selected)


def _warn_of_orphans(context: Context, resource: Resource, options: DeleteOptions) -> None:
    if resource.strategy.orphan_warning and options.propagation_policy is None and options.orphan_dependents is None:
        context.warn(resource.strategy.orphan_warning)


async def delete_object(
    context: Context,
    resource: Resource,
    namespace: str,
    name: str,
    options: DeleteOptions,
    *,
    requested_name: str | None = None,
    admitted: bool = False,
) -> Deleted:
    """Deletes one object, or marks the object for deletion. `requested_name` is the name in the request, if that is not
    the object's name; `admitted` is True if admission has already run, for another object."""
    store, admission = context.services.store, context.services.admission
    key = resource.storage.key(namespace, name)
    item = await store.get(key)
    shown = name if requested_name is None else requested_name
    operation = Operation("DELETE", resource, namespace, shown, "", None, None, options.dry_run, options.to_json())
    while True:
        if item is None:
            raise NotFound.of(resource.group_resource, name)
        tree = await context.decoded(resource, item)
        check_preconditions(resource, name, options, tree, of_collection=requested_name == "")
        if not admitted:
            operation.old = tree
            await admission.mutate(context, operation)
            await admission.validate(context, operation)
        try:
            return await _delete_once(context, resource, item, options)
        except ExpectationFailed as failed:
            item = failed.actual


def check_preconditions(
    resource: Resource, name: str, options: DeleteOptions, tree: Object, *, of_collection: bool = False
) -> None:
    """Raises Conflict if an object does not have the uid or the resourceVersion that the options demand. A kind's own
    text applies to the delete of one object, not of a collection."""
    uid, version = meta.uid(tree), meta.resource_version(tree)
    if (own := resource.strategy.precondition_text) and not of_collection:
        for name_of, wanted, found in (
            ("UID", options.uid, uid),
            ("ResourceVersion", options.resource_version, version),
        ):
            if wanted is not None and wanted != found:
                why = f"{own}: {name_of} in precondition: {wanted}, {name_of} in object meta: {found}"
                raise Conflict.of(resource.group_resource, name, why)
        return
    if options.uid is not None and options.uid != uid:
        raise Conflict.delete_uid(resource.stored_kind, name, wanted=options.uid, found=uid)
    if options.resource_version is not None and options.resource_version != version:
        raise Conflict.delete_resource_version(
            resource.stored_kind, name, wanted=options.resource_version, found=version
        )


async def _delete_once(context: Context, resource: Resource, item: Item, options: DeleteOptions) -> Deleted:
    """Makes one attempt. Raises ExpectationFailed if the object has changed since `item` was read."""
    strategy = resource.strategy
    tree = await context.decoded(resource, item)
    begun = None if meta.is_being_deleted(tree) else strategy.begin_deletion(tree, context.services.clock)
    if begun is not None:
        if strategy.propagates_first:
            meta.put(begun["metadata"], "finalizers", _finalizers_of_begun(begun, options))
        return await _store(context, resource, item, begun, options)
    if strategy.own_finalizers(tree):
        return Deleted(tree, resource.render(item.value, item.revision), False)
    finalizers = _finalizers(resource, tree, options)
    graceful = False
    if strategy.is_graceful and not _is_out_of_time(tree):
        step = _grant_time(context, resource, tree, options)
        if step is None:
            return Deleted(tree, resource.render(item.value, item.revision), False)
        graceful = True
    if not finalizers and not graceful:
        if not options.dry_run or not meta.finalizers(tree):
            return await _remove(context, resource, item, options)
        # kube-apiserver removes the finalizers first. A dry run ends there, and shows an object without any field.
        return Deleted(tree, codec.encode(_blank(resource)), True, is_shown=True)
    meta.put(tree["metadata"], "finalizers", finalizers)
    if not graceful:
        _mark(context, tree)
    stored = await _store(context, resource, item, tree, options)
    if finalizers or (graceful and tree["metadata"].get("deletionGracePeriodSeconds")):
        return stored
    if options.dry_run:
        return Deleted(tree, stored.body, True)
    # With a grace period of zero, the object is removed immediately, but watches see the mark for deletion first.
    left = await context.services.store.get(item.key)
    return Deleted(tree, stored.body, True) if left is None else await _remove(context, resource, left, options)


def _blank(resource: Resource) -> Object:
    """Returns an object of the kind without any set field."""
    named: Object = {"apiVersion": resource.api_version, "kind": resource.kind}
    if resource.is_custom:
        return named
    tree = {**resource.shape.empty(), **named, "metadata": {}}
    resource.strategy.complete_bookmark(tree)
    return tree


def _finalizers(resource: Resource, tree: Object, options: DeleteOptions) -> list[str]:
    """Returns the new finalizers of the object; those of the garbage collector depend on the propagation policy."""
    present = meta.finalizers(tree)
    if not resource.strategy.has_dependents:
        return present
    wanted = ""
    if options.orphan_dependents is not None:
        wanted = ORPHAN if options.orphan_dependents else ""
    elif options.propagation_policy is not None:
        wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagation_policy, "")
    else:
        usual = ORPHAN if resource.strategy.orphans_by_default else ""
        wanted = next((name for name in present if name in (ORPHAN, FOREGROUND)), usual)
    if wanted in present:
        return [name for name in present if name == wanted or name not in (ORPHAN, FOREGROUND)]
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    return [*kept, wanted] if wanted else kept


def _finalizers_of_begun(tree: Object, options: DeleteOptions) -> list[str]:
    """Returns the new finalizers of an object with a stepwise deletion. Unlike for other objects, `orphanDependents:
    false` adds the finalizer of a deletion in the foreground."""
    present = meta.finalizers(tree)
    if options.orphan_dependents is not None:
        wanted = [ORPHAN if options.orphan_dependents else FOREGROUND]
    elif options.propagation_policy is not None:
        wanted = [
            name
            for policy, name in (("Orphan", ORPHAN), ("Foreground", FOREGROUND))
            if policy == options.propagation_policy
        ]
    else:
        return present
    kept = [name for name in present if name in wanted or name not in (ORPHAN, FOREGROUND)]
    return kept + [name for name in wanted if name not in kept]


def _mark(context: Context, tree: Object) -> None:
    """Marks an object with finalizers as being deleted."""
    metadata = tree["metadata"]
    if "deletionTimestamp" not in metadata:
        _bump(metadata)
        metadata["deletionTimestamp"] = format_time(context.services.clock.now())
    metadata["deletionGracePeriodSeconds"] = 0


def _bump(metadata: Object) -> None:
    if metadata.get("generation"):
        metadata["generation"] += 1


def _is_out_of_time(tree: Object) -> bool:
    """Returns True if the grace period of an object has ended."""
    return meta.is_being_deleted(tree) and not tree["metadata"].get("deletionGracePeriodSeconds")


def _grant_time(context: Context, resource: Resource, tree: Object, options: DeleteOptions) -> int | None:
    """Sets the grace period of the object. Returns None if the object is already terminating and the period does not
    change."""
    metadata = tree["metadata"]
    requested = options.grace_period_seconds
    if requested is not None and requested < 0:
        requested = 1
    if "deletionTimestamp" in metadata:
        granted = metadata["deletionGracePeriodSeconds"]
        if requested is None or requested >= granted:
            return None
        end = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=granted - requested)
        metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = format_time(end), requested
        return requested
    seconds = resource.strategy.graceful_seconds(tree, requested)
    metadata["deletionTimestamp"] = format_time(context.services.clock.now() + timedelta(seconds=seconds))
    metadata["deletionGracePeriodSeconds"] = seconds
    _bump(metadata)
    return seconds


async def _store(context: Context, resource: Resource, item: Item, tree: Object, options: DeleteOptions) -> Deleted:
    """Stores an object that is marked for deletion."""
    value = await resource.encoded(tree)
    revision = item.revision
    if not options.dry_run and not await _is_stored(context, resource, item, value):
        write = Write(item.key, value, item.revision, context.services.ttl(resource))
        revision = await context.services.persist(resource, write, context.actor(), context.cause, item=item, new=tree)
        await context.services.after_write(context, resource, tree)
    return Deleted(tree, resource.encoding.render(resource.encoding.encode(tree), revision), False)


async def _is_stored(context: Context, resource: Resource, item: Item, value: bytes) -> bool:
    """Returns True if a value equals the stored one. The conversion to another version and back may add defaults, which
    are no change."""
    if value == item.value or resource.shows(item.value, item.revision):
        return value == item.value
    return value == await resource.encoded(await context.decoded(resource, item))


async def _remove(context: Context, resource: Resource, item: Item, options: DeleteOptions) -> Deleted:
    """Removes an object from the log. The result is its last state, with the revision of the deletion."""
    tree = await context.decoded(resource, item)
    revision = item.revision
    if not options.dry_run:
        write = Write(item.key, None, item.revision)
        revision = await context.services.persist(resource, write, context.actor(), context.cause, item=item, new=None)
        await context.services.after_delete(context, resource, tree)
    value = item.value if resource.shows(item.value, item.revision) else resource.encoding.encode(tree)
    return Deleted(tree, resource.encoding.render(value, revision), True)
