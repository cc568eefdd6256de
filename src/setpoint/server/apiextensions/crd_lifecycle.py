"""The lifecycle of CustomResourceDefinitions: name acceptance, establishment, serving, and clean-up at deletion.

A definition is served before the response of its write is sent: `after_write` accepts its names, establishes the
definition, and replaces the registry. Deleting a definition first deletes its instances; the deletion of the last
instance completes the deletion of the definition.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions
from setpoint.schema.crd.definition import FINALIZER, CustomResourceDefinition
from setpoint.schema.crd.names import NameRegistry
from setpoint.server.apiextensions import custom_resources
from setpoint.server.bootstrap.system_objects import APISERVER
from setpoint.server.codec.delete_options import DeleteOptions
from setpoint.server.registry.conversion.converters import Converters
from setpoint.server.registry.kinds.apiextensions import GROUP, PREFIX, RESOURCE
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services
from setpoint.server.request.extension import Extension
from setpoint.server.verbs.delete import delete_object
from setpoint.store.contract import ExpectationFailed, Item


def _outline(item: Item) -> CustomResourceDefinition:
    found = CustomResourceDefinition.outline(item.value)
    found.metadata["resourceVersion"] = str(item.revision)
    return found


class _Served(NamedTuple):
    """The resources of a definition, and the state of the definition that they were built from."""

    state: tuple[str, int, str]
    resources: list[Resource]


class Definitions:
    """The CustomResourceDefinitions of one server."""

    def __init__(
        self,
        converters: Converters,
        extensions: Sequence[Extension] = (),
        strategies: "Mapping[str, type[custom_resources.CustomStrategy]] | None" = None,
    ) -> None:
        self._services: Services
        self._converters = converters
        self._extensions = extensions
        self._strategies = strategies or {}
        self._served: dict[str, _Served] = {}
        # All stored definitions by name, and the accepted names by group.
        self._definitions: dict[str, CustomResourceDefinition] = {}
        self._accepted_names: dict[str, NameRegistry] = {}
        self._loading = False
        # The names of the definitions that are being deleted.
        self.terminating: set[str] = set()

    def attach(self, services: Services) -> None:
        """Sets the server whose definitions are managed."""
        self._services = services
        self._converters.attach(services)
        parse = CustomResourceDefinition.parse
        self._view = services.views.of(GROUP, "v1", RESOURCE, parse, self._changed, _outline)

    def clear_conversions(self) -> None:
        """Clears the cache of converted objects."""
        self._converters.clear()

    async def load(self) -> None:
        """Serves the stored definitions."""
        self._loading = True
        try:
            for key, crd in dict(await self._view.current()).items():
                # A served definition with accepted names needs no work: other definitions cannot take its names.
                if not (conditions.is_served(crd) and crd.is_true(conditions.NAMES_ACCEPTED)):
                    await self._establish(key)
        finally:
            self._loading = False
        resources = [resource for found in self._served.values() for resource in found.resources]
        before = self._services.registry
        self._services.registry = Registry(before.builtin, resources, dict(self._definitions), before.endpoints)

    async def follow(self) -> None:
        """Serves definitions that other servers write to the same store, until the store is closed. Run concurrently
        with the server if other servers share the store."""
        await self._view.followed(await self._view.read())

    def _changed(self, key: str, crd: CustomResourceDefinition | None) -> None:
        """Replaces the registry after a change or deletion of a definition. The cost does not depend on the number of
        other definitions."""
        name = key.removeprefix(PREFIX)
        before = self._definitions.pop(name, None)
        self.terminating.discard(name)
        if before is not None:
            self._accepted_names[before.spec.group].drop(before)
        old = self._served.pop(name, None)
        if crd is not None:
            self._definitions[name] = crd
            if crd.is_true(conditions.TERMINATING):
                self.terminating.add(name)
            self._accepted_names.setdefault(crd.spec.group, NameRegistry()).put(crd)
            if conditions.is_served(crd):
                self._served[name] = self._serve(crd, old)
        if self._loading:
            return
        new = self._served.get(name)
        self._services.registry = self._services.registry.changed(
            name, crd, old.resources if old else (), new.resources if new else ()
        )

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        """Returns True for definitions and, for deletions, also for their instances: the last instance completes the
        deletion of its definition."""
        return (deletes and resource.crd is not None) or (resource.resource == RESOURCE and resource.group == GROUP)

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        """Accepts and establishes a written definition, or continues its deletion."""
        name = meta.name(tree)
        if meta.is_being_deleted(tree):
            await self._clean_up(context, name)
        else:
            await self._establish(PREFIX + name)

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        """Releases the names of a deleted definition, or completes the deletion of a definition after its last
        instance."""
        if resource.crd is not None:
            current = self._services.registry.definitions.get(resource.crd.name)
            if current is not None and "deletionTimestamp" in current.metadata:
                await self._clean_up(context, resource.crd.name)
        elif resource.resource == RESOURCE and resource.group == GROUP:
            await self._free_names(tree["spec"]["group"])

    async def _establish(self, key: str) -> None:
        """Accepts the names of a definition and, if all are accepted, establishes the definition."""
        services = self._services
        while (item := await services.store.get(key)) is not None:
            if services.views.shared:
                # Another server may have accepted a name that the local view does not contain yet.
                await self._view.read()
            work = partial(self._with_conditions, item)
            value = await services.offloaded(work, len(item.value))
            if value is None or await self._commit(item, value):
                return

    def _with_conditions(self, item: Item) -> bytes | None:
        """Returns the encoded definition with accepted names and conditions, or None if unchanged."""
        clock, tree = self._services.clock, self._resource.item(item)
        if meta.is_being_deleted(tree):
            return None
        settled = conditions.update_name_conditions(
            tree, self._accepted_names.get(tree["spec"]["group"], NameRegistry()), clock
        )
        settled = conditions.judge_approval(settled, clock)
        settled = conditions.establish(settled, clock)
        return None if settled is tree else self._managed(item, settled)

    async def _free_names(self, group: str) -> None:
        """Lets the other definitions of a group accept the names that became free."""
        if self._services.views.shared:
            await self._view.read()
        for name, crd in list(self._definitions.items()):
            if crd.spec.group == group and crd.spec.names != crd.status.accepted_names:
                await self._establish(PREFIX + name)

    async def _clean_up(self, context: Context, name: str) -> None:
        """Deletes the instances of a terminating definition, then the definition."""
        store, clock = self._services.store, self._services.clock
        item = await store.get(PREFIX + name)
        if item is None:
            return
        tree = self._resource.item(item)
        if FINALIZER not in meta.finalizers(tree):
            return
        served = self._served.get(name)
        verdict = conditions.NEVER_ESTABLISHED
        if served is not None and served.resources:
            # In the storage version, so that instances need no conversion before their deletion.
            resource = served.resources[0].in_storage_version
            verdict = conditions.DELETION_COMPLETED
            if await store.count(resource.storage.prefix):
                started = conditions.set_condition(tree, conditions.DELETION_IN_PROGRESS, clock)
                if started is not tree:
                    await self._put(item, started)
                    await self._delete_all(context, resource)
                return
        finished = conditions.finish_deletion(tree, verdict, clock)
        if meta.finalizers(finished):
            await self._put(item, finished)
        else:
            try:
                await self._services.commit(item.key, None, item.revision, APISERVER, context.cause)
            except ExpectationFailed:
                await self._clean_up(context, name)
                return
            await self._free_names(tree["spec"]["group"])

    async def _delete_all(self, context: Context, resource: Resource) -> None:
        """Deletes every instance; the deletion of the last one invokes `after_delete`."""
        options = DeleteOptions(propagation_policy="Background")
        for item in (await self._services.store.range(resource.storage.prefix)).items:
            metadata = resource.storage.decode(item.value, item.revision)["metadata"]
            await delete_object(context, resource, metadata.get("namespace", ""), metadata["name"], options)

    async def _put(self, item: Item, tree: Object) -> bool:
        """Stores a changed definition. Returns False if another writer changed the definition concurrently."""
        return await self._commit(item, self._managed(item, tree))

    def _managed(self, item: Item, tree: Object) -> bytes:
        """Returns the encoded definition after a status change by the server."""
        manager = self._resource.field_manager("status", self._services.clock)
        return self._resource.encode(manager.update(self._resource.item(item), tree, APISERVER.field_manager))

    async def _commit(self, item: Item, value: bytes) -> bool:
        """Stores an encoded definition. Returns False if another writer changed the definition concurrently."""
        try:
            await self._services.commit(item.key, value, item.revision, APISERVER)
        except ExpectationFailed:
            return False
        return True

    @property
    def _resource(self) -> Resource:
        found = self._services.registry.resource(GROUP, "v1", RESOURCE)
        if found is None:
            raise LookupError("the server does not serve CustomResourceDefinitions")
        return found

    def _serve(self, crd: CustomResourceDefinition, previous: _Served | None) -> _Served:
        """Returns the resources of a definition; reuses the known ones if the definition is unchanged."""
        names = crd.status.accepted_names
        state = (str(crd.metadata.get("uid")), int(crd.metadata.get("generation", 0)), repr(names))
        if previous is not None and previous.state == state:
            return previous
        since = int(crd.metadata["resourceVersion"])
        made = custom_resources.resources_of(crd, since, self._converters.of(crd), self._extensions, self._strategies)
        return _Served(state, made)
