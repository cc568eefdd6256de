"""CustomResourceDefinitions bundled with the program, such as those of the workload kinds.

They were validated at build time and are stored without validation, which would take a third of a second at every start
with an empty store. Existing definitions are not changed; `client.install` updates them.
"""

from collections.abc import Iterable

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions
from setpoint.server.bootstrap.system_objects import APISERVER
from setpoint.server.registry.kinds.apiextensions import GROUP, PREFIX, RESOURCE
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed


async def provide(services: Services, definitions: Iterable[Object]) -> None:
    """Stores the missing definitions as established. Call before the server loads its definitions."""
    wanted = {PREFIX + tree["metadata"]["name"]: tree for tree in definitions}
    if not wanted:
        return
    resource = services.registry.resource(GROUP, "v1", RESOURCE)
    assert resource is not None, "every server serves CustomResourceDefinitions"
    stored = {item.key: resource.item(item) for item in (await services.store.range(PREFIX)).items}
    others = [_outline(tree) for tree in stored.values()]
    for key, given in wanted.items():
        if key in stored:
            continue
        tree = {**given, "metadata": {**given["metadata"], "generation": 1}}
        meta.fill_system_fields(tree["metadata"], services.clock, services.ids)
        outline = _outline(tree)
        rivals = [other for other in others if other["spec"]["group"] == tree["spec"]["group"]]
        outline = conditions.update_name_conditions(outline, rivals, services.clock)
        outline = conditions.establish(conditions.judge_approval(outline, services.clock), services.clock)
        others.append(outline)
        stored_versions = [version["name"] for version in tree["spec"]["versions"] if version["storage"]]
        tree["status"] = {**outline["status"], "storedVersions": stored_versions}
        try:
            await services.commit(key, resource.encode(tree), ABSENT, APISERVER)
        except ExpectationFailed:
            continue  # another server with the same store was faster


def _outline(tree: Object) -> Object:
    """Returns a definition without its schemas, which are large and irrelevant for names."""
    versions = [{**version, "schema": {"openAPIV3Schema": {"type": "object"}}} for version in tree["spec"]["versions"]]
    return {**tree, "spec": {**tree["spec"], "versions": versions}}
