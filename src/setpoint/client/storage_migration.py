"""Storage migration: rewrites the objects of a definition in its storage version.

After a definition gets a new storage version, objects stay stored in the version of their last write, and the
definition lists that version in `status.storedVersions`. A version can be removed from a definition only when no object
is stored in the version.
"""

from contextlib import suppress

from setpoint.client.client import Client
from setpoint.client.install import DEFINITION
from setpoint.client.kinds import KindRef
from setpoint.client.patches import merge
from setpoint.objects import meta
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind


async def migrate_storage(client: Client, name: str) -> int:
    """Rewrites all objects of a definition, such as `widgets.example.com`, and records that only the storage version is
    in use. Returns the number of objects; a definition with one stored version needs no rewriting. Reads the objects in
    pages. Raises NotFound for an unknown definition, and Conflict if the storage version changes meanwhile.

        await migrate_storage(client, "websites.example.com")
    """
    client = client.with_options(namespace="")  # the objects of all namespaces
    definition = await client.get(DEFINITION, name)
    spec = definition["spec"]
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    if (definition.get("status") or {}).get("storedVersions") == [stored]:
        return 0
    kind = KindRef(GroupVersionKind(spec["group"], stored, spec["names"]["kind"]))
    count = 0
    async for each in client.each(kind):
        tree = thaw(each)
        # An unchanged write stores the object in the current version. A write or a deletion of another client has done
        # the same.
        with suppress(Conflict, NotFound):
            await client.update(tree)
        count += 1
    # Raises Conflict if the definition changed meanwhile: its storage version may be another one now.
    version = {"resourceVersion": meta.resource_version(definition)}
    change = {"metadata": version, "status": {"storedVersions": [stored]}}
    await client.patch(DEFINITION, merge(change), name, subresource="status")
    return count
