"""The write path: the steps of every write after decoding of its body.

`create_object` and `update_object` are the second half of the pipeline: mutate, validate, persist. The server uses them
for its own writes too. An update reads, changes and writes the object, and repeats after a conflict with another write;
an update without changes writes no entry.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from setpoint.merge.equality import equal
from setpoint.merge.fieldmanager import restore_times, with_entries_of, without_entries
from setpoint.merge.updater import same_version
from setpoint.objects import meta, metavalidation, owners
from setpoint.objects.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from setpoint.objects.field import FieldError, declared_last, invalid, without_repeats
from setpoint.objects.gotext import parse_uint
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.names import NameRule
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object, copy
from setpoint.schema.validation import Verdict
from setpoint.schema.work_limits import Lengthy
from setpoint.server.access.authorization.attributes import authorize_creation
from setpoint.server.ports import Operation, User
from setpoint.server.registry.conversion.pending import ConvertedObjects, RequiredConversion
from setpoint.server.registry.conversion.review import ConversionFailed
from setpoint.server.registry.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.strategy import Strategy
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import WriteOptions, options_object
from setpoint.server.verbs.sent_object import as_sent, is_change, put_empty_lists, self_link, with_empty_items
from setpoint.server.verbs.stored_object import (
    check_preconditions,
    is_finished,
    prepare_for_update,
    restore_field,
)
from setpoint.store.contract import ABSENT, ExpectationFailed, Item, Write

# The number of attempts with generated names, and of attempts of a patch after conflicts.
NAME_ATTEMPTS = 8
PATCH_ATTEMPTS = 5
_MANY_ATTEMPTS = 100
_NAMESPACES = GroupResource("", "namespaces")

T = TypeVar("T")
Transform = Callable[[Object], Object]


class Written(NamedTuple):
    """The result of a write: the JSON of the object, the object itself, and True if the object is new."""

    body: bytes
    tree: Object
    created: bool = False


class Lens(NamedTuple):
    """The view that admission plugins have of a write through an endpoint with another kind than that of the object."""

    show: Transform
    # Returns the object with the changes that admission made to the view.
    put: Callable[[Object, Object], Object]


async def create_object(
    context: Context, resource: Resource, tree: Object, options: WriteOptions, *, managed: bool = False
) -> Written:
    """Stores a new object. `managed` is True if its managedFields are already set, as after an apply."""
    metadata = tree["metadata"]
    if metadata.get("resourceVersion", "") in ("", "0"):
        metadata.pop("resourceVersion", None)
    # As on kube-apiserver, who creates an object by an update owns the system fields that are not stored.
    is_update = context.info.verb == "update"
    if not is_update and not meta.SYSTEM_FIELDS.isdisjoint(metadata):
        meta.wipe_system_fields(metadata)
    if context.info.verb != "patch":
        _remove_duplicate_owners(context, metadata)
    is_long = context.is_expensive(0, resource)
    if not managed:
        through = context.info.subresource if resource.strategy.allows_create_on_status_update else ""
        tree = await _managed(context, resource, None, tree, through, options, is_long)
        metadata = tree["metadata"]
    if is_update:
        meta.wipe_system_fields(metadata)
    name = metadata.get("name", "")
    operation = Operation(
        "CREATE",
        resource,
        # The namespace of a Namespace is the Namespace itself.
        metadata.get("namespace", "") or (name if resource.group_resource == _NAMESPACES else ""),
        name,
        "",
        tree,
        None,
        options.dry_run,
        options_object(options, "CreateOptions"),
    )
    terminating = context.services.definitions.terminating
    if terminating and resource.crd is not None and resource.crd.name in terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise Forbidden.of(resource.group_resource, operation.name, why)
    await context.services.admission.mutate(context, operation)
    tree = operation.object or tree
    _remove_duplicate_owners(context, tree["metadata"], after_admission=True)
    try:
        return await _store_new(context, resource, tree, options, operation, is_long)
    finally:
        if context.pool is not None:
            context.release()


async def _store_new(
    context: Context, resource: Resource, tree: Object, options: WriteOptions, operation: Operation, is_long: bool
) -> Written:
    services, metadata, strategy = context.services, tree["metadata"], resource.strategy
    metadata["uid"] = services.ids.uid()
    metadata["creationTimestamp"] = format_time(services.clock.now())
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    for attempt in range(NAME_ATTEMPTS):
        if generated:
            before, metadata["name"] = (
                metadata.get("name", ""),
                strategy.generate_name(metadata["generateName"], services.ids),
            )
            if before:
                strategy.renamed(tree, before)
        if attempt == 0:
            await _run(context, is_long, partial(_prepare_for_create, resource, tree))
            if strategy.requester_field:
                tree[strategy.requester_field] |= requester(context.user)
            if strategy.allocates and not context.info.subresource:
                await _allocate(context, resource, tree, None, options)
            if strategy.reads_namespace:
                await services.namespaces.current()
            await _checked(context, is_long, partial(_check_new, context, resource, tree))
            if context.info.verb != "create":
                await authorize_creation(context, resource.group_resource)
        if strategy.has_named_fields:
            strategy.complete_named(tree)
        operation.object, operation.name = tree, metadata["name"]
        await services.admission.validate(context, operation)
        value, _held = await _encoded(context, resource, tree, is_long)
        key = resource.storage.key(metadata.get("namespace", ""), metadata["name"])
        try:
            if options.dry_run:
                item = await services.store.get(key)
                if item is not None:
                    raise ExpectationFailed(key, ABSENT, item)
                return Written(resource.encoding.render_unstored(tree), tree, True)
            if "resourceVersion" in metadata and _is_revision(metadata["resourceVersion"]):
                # Checked as late as on kube-apiserver: other errors of the object come first, and a dry run does not
                # check this.
                raise BadRequest("resourceVersion should not be set on objects to be created")
            revision = await services.persist(
                resource,
                Write(key, value, ABSENT, services.ttl(resource)),
                context.actor(options.field_manager),
                context.cause,
                item=None,
                new=tree,
            )
            break
        except ExpectationFailed as failed:
            if not generated:
                raise _already_exists(resource, metadata, failed.actual) from None
    else:
        raise AlreadyExists.generated(resource.group_resource, metadata["name"])
    metadata["resourceVersion"] = str(revision)
    if resource.reacting.get((services, False)) != ():
        await services.after_write(context, resource, tree)
    body = resource.render(value, revision) if resource.fetch is None else await _rendered(resource, value, revision)
    return Written(body, tree, True)


async def _run(context: Context, is_long: bool, work: Callable[[], T]) -> T:
    """Returns the result of a step of a write. A long step runs in a thread."""
    return await context.in_thread(work) if is_long else work()


async def _encoded(context: Context, resource: Resource, tree: Object, is_long: bool) -> tuple[bytes, ConvertedObjects]:
    """Returns the bytes to store for an object, and a value that keeps its conversion to the version of the request
    cached. If a webhook converts, the conversion back is tested first, so that no object is stored which cannot be
    read."""
    if resource.convert is same_version or not resource.is_custom:
        is_stored = resource.storage.api_version == resource.api_version
        encode = resource.storage.encode if is_stored else resource.encode
        return await _run(context, is_long, partial(encode, tree, large=is_long)), ()
    value = await resource.encoded(tree)
    held = await resource.prepare([Item("", value, resource.since, 0)])
    resource.decode(value, resource.since)
    return value, held


def _with_stored(resource: Resource, value: bytes, item: Item, endpoints: Sequence[str]) -> bytes:
    """Returns the bytes to store with the fields that all of these endpoints may not change, as they are stored. An
    apply that changes no field changes no endpoint's fields."""
    storage = resource.storage
    if storage.api_version == resource.api_version:
        return value
    tree, old = (storage.decode(stored, item.revision) for stored in (value, item.value))
    for subresource in endpoints:
        resource.strategy.restore_stored(tree, old, subresource)
    return storage.encode(tree)


async def _rendered(resource: Resource, value: bytes, revision: int) -> bytes:
    """Returns the JSON of a stored value in the version of the request."""
    if resource.fetch is None:
        return resource.render(value, revision)
    return await resource.converting(lambda: resource.render(value, revision))


async def _managed(
    context: Context,
    resource: Resource,
    old: Object | None,
    new: Object,
    subresource: str,
    options: WriteOptions,
    is_long: bool,
) -> Object:
    """Returns a new or changed object with its managedFields."""
    if context.keeps_managers:
        return resource.field_manager(subresource, context.services.clock).unchanged(old, new)
    if resource.fetch is None:

        def managed() -> Object:
            # Created here: the types of a large schema take long.
            manager = resource.field_managers.get(subresource)
            if manager is None:
                manager = resource.field_manager(subresource, context.services.clock)
            is_compared = resource.strategy.restores_stored
            if old is None and not is_compared:
                return manager.update(old, new, options.field_manager)
            sent = resource.strategy.as_owned(copy(new)) if is_compared else new
            sent = sent if old is None else with_empty_items(context, resource, sent, subresource)
            found = manager.update(old, sent, options.field_manager)
            return found if sent is new else with_entries_of(found, new)

        return await _run(context, is_long, managed)
    manager = resource.field_manager(subresource, context.services.clock)
    try:
        return await resource.converting(
            lambda: manager.update(old, new, options.field_manager), also=_conversions_of_managers(resource, old, new)
        )
    except ConversionFailed:
        # As for objects that do not match their types: unknown field ownership is no reason to reject a write.
        return manager.unchanged(old, new)


def _conversions_of_managers(resource: Resource, old: Object | None, new: Object) -> list[RequiredConversion]:
    """Returns the conversions required to compare the objects in the versions of other managers' fields."""
    if old is None:
        return []
    own, entries = resource.api_version, old["metadata"].get("managedFields") or ()
    versions = dict.fromkeys(entry.get("apiVersion") for entry in entries)
    others = [version for version in versions if version != own and version in resource.family]
    return [RequiredConversion(tree, own, version) for version in others for tree in (old, new)]


async def _allocate(
    context: Context, resource: Resource, tree: Object, old: Object | None, options: WriteOptions
) -> None:
    """Allocates addresses and ports to an object. Raises Invalid if they are not available."""
    give = context.services.allocations.allocate
    if errors := await give(context, resource, tree, old, dry_run=options.dry_run):
        raise Invalid.of(resource.stored_kind, meta.name(tree), errors)


def requester(user: User) -> Object:
    """Returns the user in the form of the kinds that store their requester."""
    extra = {name: list(values) for name, values in user.extra.items()}
    found = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {name: value for name, value in found.items() if value}


def _already_exists(resource: Resource, metadata: Object, item: Item | None) -> AlreadyExists:
    deleting = item is not None and meta.is_being_deleted(resource.storage.decode(item.value, item.revision))
    make = AlreadyExists.generated if metadata.get("generateName") else AlreadyExists.of
    return make(resource.group_resource, metadata["name"], being_deleted=deleting)


def _remove_duplicate_owners(context: Context, metadata: Object, *, after_admission: bool = False) -> None:
    if "ownerReferences" in metadata:
        warning = owners.remove_duplicates(metadata, after_admission=after_admission)
        if warning:
            context.warn(warning)


def _prepare_for_create(resource: Resource, tree: Object) -> None:
    strategy = resource.strategy
    if "status" in resource.subresources and not strategy.creates_with_status:
        for name in strategy.status_fields:
            restore_field(tree, resource.empty, name)
    if strategy.keeps_generation:
        tree["metadata"]["generation"] = 1
    if strategy.pod_spec:
        drop_disabled_pod_fields(tree, None, strategy.pod_spec)
    strategy.prepare_for_create(tree)
    resource.shape.normalize_stored(tree)


async def _checked(context: Context, is_long: bool, check: "_Check") -> None:
    """Runs a check, in a thread if the check may take long."""
    if not is_long:
        try:
            check(quick=True)
            return
        except Lengthy:
            pass
    await context.services.offload.run(context.user.name, check)


class _Check(Protocol):
    """Raises Invalid. With `quick`, raises Lengthy instead of doing long work."""

    def __call__(self, *, quick: bool = False) -> None: ...


def _check_new(context: Context, resource: Resource, tree: Object, *, quick: bool = False) -> None:
    metadata = tree["metadata"]
    if _is_other_kind(tree, resource):
        _refuse_kind(resource, tree, None, metadata.get("name", ""), quick=quick)

    found = _errors_of_new(context, resource, tree, quick=quick)
    if found.errors or resource.strategy.compares_empty(None):
        found = as_sent(
            context, resource, tree, None, "", found, lambda sent: _errors_of_new(context, resource, sent, quick=quick)
        )
    errors, warnings = found
    if errors:
        raise Invalid.of(_kind_of(resource, tree), metadata.get("name", ""), errors)
    if warnings or not resource.is_custom or "finalizers" in metadata:  # most custom resources have no warnings
        _warn(context, resource, tree, None, warnings)


def _errors_of_new(context: Context, resource: Resource, tree: Object, *, quick: bool) -> Verdict:
    strategy = resource.strategy
    errors = strategy.validate_before_metadata(tree) if strategy.validates_before_metadata else []
    if strategy.reads_namespace:
        errors += _namespace_errors(context, resource, tree, None, "")
    if not strategy.validates_metadata and not strategy.validates_metadata_last:
        errors += _new_metadata_errors(resource, tree)
    errors += strategy.validate(tree)
    if strategy.validates_metadata_last and not errors:
        errors = _new_metadata_errors(resource, tree)
    if errors and not resource.is_custom and strategy.declares_rules:
        rules = (*strategy.declared_rules, *strategy.declared_of_new)
        errors = declared_last(without_repeats(errors), rules)
    return resource.shape.validate(tree, None, errors, quick=quick)


def _new_metadata_errors(resource: Resource, tree: Object) -> list[FieldError]:
    errors = metavalidation.validate_create(
        tree["metadata"],
        namespaced=resource.namespaced,
        name_rule=_name_rule(resource.strategy, tree),
        needs_domains=not resource.is_custom and "" not in resource.strategy.without_domains,
    )
    return without_repeats(errors) if errors and resource.is_custom else errors


def _namespace_errors(
    context: Context, resource: Resource, tree: Object, old: Object | None, subresource: str
) -> list[FieldError]:
    """Returns the errors that depend on the namespace, which is in memory."""
    namespaces = context.services.namespaces
    namespace = namespaces.peek(namespaces.prefix + meta.namespace(tree)) or {}
    return resource.strategy.namespace_errors(tree, old, namespace, subresource)


def _is_other_kind(tree: Object, resource: Resource) -> bool:
    return bool(tree.get("kind") != resource.kind or tree.get("apiVersion") != resource.api_version)


def _kind_of(resource: Resource, tree: Object) -> GroupKind:
    if not _is_other_kind(tree, resource):
        return resource.stored_kind
    group = tree["apiVersion"].rpartition("/")[0]
    return GroupKind(group, tree["kind"])


def _refuse_kind(resource: Resource, tree: Object, old: Object | None, name: str, *, quick: bool) -> None:
    """Raises Invalid for a custom resource whose body has another kind. Its schema and most of its metadata are not
    validated."""
    errors: list[FieldError] = []
    if old is not None:
        metadata = tree["metadata"]
        errors = metavalidation.validate_update(metadata, old["metadata"])
        errors += metavalidation.validate_entries_again(metadata)
    for field, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        if tree[field] != wanted:
            errors.append(invalid(field, tree[field], f"must be {wanted}"))
    found = resource.shape.validate(tree, old, errors, quick=quick, is_other_kind=True)
    raise Invalid.of(_kind_of(resource, tree), name, found.errors)


def _warn(
    context: Context,
    resource: Resource,
    tree: Object,
    old: Object | None,
    warnings: list[str],
    subresource: str = "",
) -> None:
    of_kind = [] if subresource == "status" or resource.is_custom else resource.strategy.warnings(tree, old)
    for text in (*warnings, *of_kind):
        context.warn(text)
    if resource.is_custom and "finalizers" in tree["metadata"]:
        for text in metavalidation.finalizer_warnings(tree["metadata"], old and old["metadata"]):
            context.warn(text)


async def update_object(
    context: Context,
    resource: Resource,
    name: str,
    transform: Transform,
    options: WriteOptions,
    *,
    subresource: str = "",
    managed: bool = False,
    attempts: int = _MANY_ATTEMPTS,
    uid_is_precondition: bool = True,
    create: Callable[[], Awaitable[Written]] | None = None,
    lens: Lens | None = None,
) -> Written:
    """Updates a stored object.

    `transform` returns the new object, given a copy of the stored one, which it may change; after a conflict with
    another write, `transform` is called again. A resourceVersion or uid in the result is a precondition. `managed` is
    True if `transform` maintains the managedFields. `create` is called if the object does not exist. If the uid is not
    a precondition, another uid is an invalid change. `lens` gives admission another view of the object.
    """
    store = context.services.store
    key = resource.storage.key(context.info.namespace, name)
    item = await store.get(key)
    if resource.strategy.reads_namespace:
        await context.services.namespaces.current()
    try:
        for _ in range(attempts):
            if item is None:
                if create is None:
                    raise NotFound.of(resource.group_resource, name)
                try:
                    return await create()
                except AlreadyExists:
                    # Another client created the object first, so this is an update.
                    item = await store.get(key)
                    if item is None:
                        raise
            is_long = context.is_expensive(len(item.value), resource)
            old, new = await _transformed(context, resource, item, transform, is_long)
            check_preconditions(
                resource, name, key, new, item, old, check_uid=uid_is_precondition, dry_run=options.dry_run
            )
            new = await _changed(context, resource, name, new, old, options, subresource, managed, lens, is_long)
            value: bytes | None = None
            if not is_finished(resource, new, old):
                value, _held = await _encoded(context, resource, new, is_long)
                if resource.strategy.restores_stored:
                    is_same = managed and equal(without_entries(old), without_entries(new))
                    value = _with_stored(resource, value, item, ("", "status") if is_same else (subresource,))
            if options.dry_run and (link := self_link(context)):
                # kube-apiserver stores no selfLink, but a dry run shows the object before storing.
                new["metadata"]["selfLink"] = link
                return Written(resource.encoding.render(resource.encoding.encode(new), item.revision), new)
            if value == item.value:
                return Written(await _rendered(resource, item.value, item.revision), new)
            if options.dry_run and (value is None or not resource.strategy.restores_stored):
                if value is None:
                    put_empty_lists(context, resource, new)
                return Written(resource.encoding.render(resource.encoding.encode(new), item.revision), new)
            if options.dry_run and value is not None:
                return Written(resource.render(value, item.revision), new)
            try:
                revision = await context.services.persist(
                    resource,
                    Write(key, value, item.revision, None if value is None else context.services.ttl(resource)),
                    context.actor(options.field_manager),
                    context.cause,
                    item=item,
                    new=None if value is None else new,
                    subresource=subresource,
                )
            except ExpectationFailed as failed:
                item = failed.actual
                continue
            if value is None:
                # The response shows a deleted object in the form that would have been stored, with its last revision.
                await context.services.after_delete(context, resource, new)
                put_empty_lists(context, resource, new)
                return Written(resource.encoding.render(resource.encoding.encode(new), item.revision), new)
            new["metadata"]["resourceVersion"] = str(revision)
            await context.services.after_write(context, resource, new)
            return Written(await _rendered(resource, value, revision), new)
        raise Conflict.modified(resource.group_resource, name)
    finally:
        if context.pool is not None:
            context.release()


async def _transformed(
    context: Context, resource: Resource, item: Item, transform: Transform, is_long: bool
) -> tuple[Object, Object]:
    """Returns the stored object and the transformed object."""
    if resource.fetch is None:
        return await _run(context, is_long, lambda: (resource.item(item), transform(resource.item(item))))
    return await resource.converting(lambda: (resource.item(item), transform(resource.item(item))))


async def _changed(
    context: Context,
    resource: Resource,
    name: str,
    new: Object,
    old: Object,
    options: WriteOptions,
    subresource: str,
    managed: bool,
    lens: Lens | None,
    is_long: bool,
) -> Object:
    """Returns the object to store: with managedFields, after admission, prepared and validated."""
    services = context.services
    if context.info.verb != "patch":
        # As on kube-apiserver, the managers of a patch are those of its duplicates too, which are removed below.
        _remove_duplicate_owners(context, new["metadata"])
    if not managed:
        new = await _managed(context, resource, old, new, subresource, options, is_long)
    operation = Operation(
        "UPDATE",
        resource,
        context.info.namespace,
        name,
        subresource,
        lens.show(new) if lens else new,
        lens.show(old) if lens else old,
        options.dry_run,
        options_object(options, "UpdateOptions"),
    )
    await services.admission.mutate(context, operation)
    if operation.object is not None:
        new = lens.put(new, operation.object) if lens else operation.object
    _remove_duplicate_owners(context, new["metadata"], after_admission=True)
    await _run(context, is_long, partial(prepare_for_update, resource, new, old, subresource))
    if not subresource and (
        context.has_empty_list or (resource.strategy.compares_sent and is_change(context, resource))
    ):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if resource.strategy.stamps:
        sent = None if context.sent_object is None else context.sent_object()
        sent = sent if type(sent) is dict else {}
        resource.strategy.stamp(new, old, format_time(services.clock.now()), sent)
    if resource.strategy.allocates and not subresource:
        await _allocate(context, resource, new, old, options)
    check = partial(_check_changed, context, resource, name, new, old, subresource)
    await _checked(context, is_long, check)
    operation.object = lens.show(new) if lens else new
    await services.admission.validate(context, operation)
    restored = await _run(context, is_long, partial(restore_times, old, new))
    # kube-apiserver stores no selfLink, but compares the objects with it.
    return restored if restored is new or not self_link(context) else new


def _check_changed(
    context: Context,
    resource: Resource,
    name: str,
    new: Object,
    old: Object,
    subresource: str,
    *,
    quick: bool = False,
) -> None:
    if _is_other_kind(new, resource):
        _refuse_kind(resource, new, old, name, quick=quick)

    def errors_of(tree: Object) -> Verdict:
        return _errors_of_change(context, resource, tree, old, subresource, quick=quick)

    found = errors_of(new)
    if found.errors or resource.strategy.compares_empty(old, subresource):
        found = as_sent(context, resource, new, old, subresource, found, errors_of)
    errors, warnings = found
    if errors:
        raise Invalid.of(context.claimed_kind or _kind_of(resource, new), name, errors)
    _warn(context, resource, new, old, warnings, subresource)


def _errors_of_change(
    context: Context, resource: Resource, new: Object, old: Object, subresource: str, *, quick: bool
) -> Verdict:
    strategy = resource.strategy
    errors: list[FieldError] = []
    if not strategy.validates_metadata:
        errors += metavalidation.validate_update(new["metadata"], old["metadata"])
    if strategy.validates_before_metadata:
        errors += strategy.validate_before_metadata(new)
    if strategy.reads_namespace:
        errors += _namespace_errors(context, resource, new, old, subresource)
    if context.unread_metadata is not None and subresource not in strategy.status_endpoints:
        errors += [*metavalidation.validate_entries_again(new["metadata"]), context.unread_metadata(new["metadata"])]
    elif not strategy.validates_metadata:
        errors += _metadata_errors(resource, new, old, subresource)
    errors += strategy.validate_update(new, old, subresource)
    if errors and not resource.is_custom and strategy.declares_rules:
        errors = declared_last(without_repeats(errors), strategy.declared_rules)
    return resource.shape.validate(new, old, errors, subresource, quick=quick)


def _metadata_errors(resource: Resource, new: Object, old: Object, subresource: str) -> list[FieldError]:
    """Returns the errors of updated metadata that a kind reports beyond those of all kinds."""
    strategy, metadata = resource.strategy, new["metadata"]
    if resource.is_custom or not strategy.declares_rules:
        return metavalidation.validate_change_again(metadata, old["metadata"])
    found: list[FieldError] = []
    if (finalizers := metadata.get("finalizers")) and subresource not in strategy.without_domains:
        found = metavalidation.validate_domains(finalizers, "metadata.finalizers")
    if strategy.name_on_update and subresource in strategy.name_endpoints:
        names = metavalidation.validate_name(metadata, _name_rule(strategy, new))
        if strategy.name_on_update == "before":
            return names + found
        return found + strategy.changes_before_name(new, old) + names
    return found


def _is_revision(text: str) -> bool:
    """Returns True if a resourceVersion is a number other than 0. kube-apiserver ignores all others on create."""
    try:
        return text != "" and parse_uint(text) != 0
    except ValueError:
        return False


def refuse_name(found: str, wanted: str) -> None:
    """Raises BadRequest if the name of the object differs from the name in the URL."""
    if not found:
        raise BadRequest(f"the name of the object ({wanted} based on URL) was undeterminable: name must be provided")
    if found != wanted:
        raise BadRequest(f"the name of the object ({found}) does not match the name on the URL ({wanted})")


def _name_rule(strategy: Strategy, tree: Object) -> NameRule:
    return strategy.name_rule(tree) if strategy.has_name_rule else strategy.name_errors
