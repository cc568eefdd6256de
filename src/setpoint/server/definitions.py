"""The life of CustomResourceDefinitions: names, establishment, serving, and the clean-up when one is deleted.

Whoever writes a definition has it served before the answer goes out: `after_write` settles its names, establishes it,
and puts a new registry in place. A deleted definition first takes its instances with it; the last of them takes the
definition.
"""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.errors import Forbidden
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions
from setpoint.schema.crd.definition import FINALIZER, CustomResourceDefinition
from setpoint.server import custom
from setpoint.server.bootstrap import APISERVER
from setpoint.server.context import Context, Services
from setpoint.server.conversion.converters import Converters
from setpoint.server.delete_options import DeleteOptions
from setpoint.server.extension import Extension
from setpoint.server.registry import Registry
from setpoint.server.resource import Resource
from setpoint.server.verbs.delete import delete_object
from setpoint.store.contract import Closed, ExpectationFailed, Item, TooLate

GROUP, RESOURCE = "apiextensions.k8s.io", "customresourcedefinitions"
PREFIX = f"/{GROUP}/{RESOURCE}/"


class _Served(NamedTuple):
    """The resources of a definition, and of which state of it they were made."""

    state: tuple[str, int, str]
    resources: list[Resource]


class Definitions:
    """The definitions of one server."""

    def __init__(self, converters: Converters, extensions: Sequence[Extension] = ()) -> None:
        self._services: Services
        self._converters = converters
        self._extensions = extensions
        self._served: dict[str, _Served] = {}
        # Every definition in the store, by key, with the revision it was read at.
        self._parsed: dict[str, tuple[int, CustomResourceDefinition]] = {}
        # The revision of the store that the registry in place was made at: an older one never replaces it.
        self._revision = 0

    def attach(self, services: Services) -> None:
        """Tells whose definitions these are."""
        self._services = services
        self._converters.attach(services)

    def forget_conversions(self) -> None:
        """Forgets the converted objects."""
        self._converters.forget()

    async def load(self) -> None:
        """Serves what the store has."""
        for item, crd in await self._all():
            # What is served under its own names is settled: nobody can take them from it.
            if not (conditions.is_served(crd) and crd.is_true(conditions.NAMES_ACCEPTED)):
                await self._settle(item.key)
        await self._rebuild()

    async def follow(self) -> None:
        """Serves what other servers over the same store write, until the store is closed. Run it beside the server
        where there are others."""
        while True:
            watch = self._services.store.watch(PREFIX)
            await self._rebuild()
            try:
                while True:
                    await watch.next()
                    await self._rebuild()
            except TooLate:
                continue
            except Closed:
                return
            finally:
                watch.close()

    def concerns(self, resource: Resource) -> bool:
        """Whether a write of the resource may change what is served: definitions, and instances of them."""
        return resource.crd is not None or (resource.resource == RESOURCE and resource.group == GROUP)

    def before_create(self, resource: Resource, name: str) -> None:
        """Refuses new instances of a definition that is on its way out."""
        if resource.crd is None:
            return
        current = self._services.registry.definitions.get(resource.crd.name)
        if current is not None and current.is_true(conditions.TERMINATING):
            why = "create not allowed while custom resource definition is terminating"
            raise Forbidden.of(resource.group_resource, name, why)

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        """Follows up the write of a definition."""
        if resource.resource != RESOURCE or resource.group != GROUP:
            return
        name = meta.name(tree)
        if meta.is_being_deleted(tree):
            await self._rebuild()
            await self._clean_up(context, name)
        else:
            await self._settle(PREFIX + name)
            await self._rebuild()

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        """Follows up the end of a definition, or of the last instance of one that is on its way out."""
        if resource.crd is not None:
            current = self._services.registry.definitions.get(resource.crd.name)
            if current is not None and "deletionTimestamp" in current.metadata:
                await self._clean_up(context, resource.crd.name)
        elif resource.resource == RESOURCE and resource.group == GROUP:
            await self._free_names(tree["spec"]["group"])
            await self._rebuild()

    async def _all(self) -> list[tuple[Item, CustomResourceDefinition]]:
        """All definitions in the store."""
        return self._read((await self._services.store.range(PREFIX)).items)

    def _read(self, items: Sequence[Item]) -> list[tuple[Item, CustomResourceDefinition]]:
        """Each with what it says; only those that changed are read again."""
        known, self._parsed = self._parsed, {}
        found = []
        for item in items:
            revision, crd = known.get(item.key, (0, None))
            if crd is None or revision != item.revision:
                crd = CustomResourceDefinition.parse(self._resource.item(item))
            self._parsed[item.key] = item.revision, crd
            found.append((item, crd))
        return found

    async def _settle(self, key: str) -> None:
        """Gives a definition its names and, if it has them all, establishes it."""
        store, clock = self._services.store, self._services.clock
        while (item := await store.get(key)) is not None:
            tree = self._resource.item(item)
            if meta.is_being_deleted(tree):
                return
            group = tree["spec"]["group"]
            others = [
                self._resource.item(other)
                for other, crd in await self._all()
                if other.key != key and crd.spec.group == group
            ]
            settled = conditions.settle_names(tree, others, clock)
            settled = conditions.judge_approval(settled, clock)
            settled = conditions.establish(settled, clock)
            if settled is tree or await self._put(item, settled):
                return

    async def _free_names(self, group: str) -> None:
        """Lets the other definitions of a group have the names that became free."""
        for item, crd in await self._all():
            if crd.spec.group == group:
                await self._settle(item.key)

    async def _clean_up(self, context: Context, name: str) -> None:
        """Deletes the instances of a definition that is on its way out, and then the definition."""
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
            # In the version that they are stored in: nobody needs to be asked how to convert what is to go.
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
        await self._rebuild()

    async def _delete_all(self, context: Context, resource: Resource) -> None:
        """Asks every instance to go; the last one that does comes back to `after_delete`."""
        options = DeleteOptions(propagation_policy="Background")
        for item in (await self._services.store.range(resource.storage.prefix)).items:
            metadata = resource.storage.decode(item.value, item.revision)["metadata"]
            await delete_object(context, resource, metadata.get("namespace", ""), metadata["name"], options)

    async def _put(self, item: Item, tree: Object) -> bool:
        """Stores what became of a definition; False where somebody else has written it meanwhile."""
        manager = self._resource.field_manager("status", self._services.clock)
        tree = manager.update(self._resource.item(item), tree, APISERVER.field_manager)
        try:
            await self._services.commit(item.key, self._resource.encode(tree), item.revision, APISERVER)
        except ExpectationFailed:
            return False
        return True

    @property
    def _resource(self) -> Resource:
        found = self._services.registry.resource(GROUP, "v1", RESOURCE)
        if found is None:
            raise LookupError("the server does not serve CustomResourceDefinitions")
        return found

    async def _rebuild(self) -> None:
        """Puts a registry in place that serves what the store has now. What did not change is kept."""
        page = await self._services.store.range(PREFIX)
        if page.revision < self._revision:
            return
        self._revision = page.revision
        definitions: dict[str, CustomResourceDefinition] = {}
        served: dict[str, _Served] = {}
        for item, crd in self._read(page.items):
            definitions[crd.name] = crd
            if conditions.is_served(crd):
                served[crd.name] = self._serve(crd, item.revision)
        self._served = served
        custom_resources = [resource for found in served.values() for resource in found.resources]
        self._services.registry = Registry(self._services.registry.builtin, custom_resources, definitions)

    def _serve(self, crd: CustomResourceDefinition, revision: int) -> _Served:
        names = crd.status.accepted_names
        state = (str(crd.metadata.get("uid")), int(crd.metadata.get("generation", 0)), repr(names))
        known = self._served.get(crd.name)
        if known is not None and known.state == state:
            return known
        return _Served(state, custom.resources_of(crd, revision, self._converters.of(crd), self._extensions))
