"""The ConfigMap `extension-apiserver-authentication`: the authority that verifies client certificates.

Extension servers and other programs read from it how to authenticate the users of this cluster. Authorities of other
servers with the same store are kept.
"""

from setpoint.objects.pem import certificates_in
from setpoint.objects.tree import Object, copy
from setpoint.server.bootstrap.system_objects import APISERVER, complete
from setpoint.server.registry.server_fields import managed, map_fields
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

NAME, _NAMESPACE, _KEY = "extension-apiserver-authentication", "kube-system", "client-ca-file"
_ATTEMPTS = 10


async def publish_client_authority(services: Services, authority: str) -> None:
    """Adds the certificates of an authority (in PEM) to the ConfigMap."""
    resource = services.registry.resource("", "v1", "configmaps")
    assert resource is not None, "configmaps are not served"
    key = resource.storage.key(_NAMESPACE, NAME)
    for _ in range(_ATTEMPTS):
        item = await services.store.get(key)
        old = None if item is None else resource.item(item)
        known = ((old or {}).get("data") or {}).get(_KEY, "")
        wanted = "".join(dict.fromkeys([*certificates_in(known), *certificates_in(authority)]))
        if wanted == known:
            return
        if old is None:
            entry = managed("v1", {"f:data": map_fields(_KEY)}, services.clock.now())
            metadata: Object = {"name": NAME, "namespace": _NAMESPACE, "managedFields": [entry]}
            new: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_KEY: wanted}}
            complete(services, resource, new)
        else:
            new = copy(old)
            new["data"] = {**(new.get("data") or {}), _KEY: wanted}
            new = resource.field_manager("", services.clock).update(old, new, APISERVER.field_manager)
        try:
            await services.commit(key, resource.encode(new), ABSENT if item is None else item.revision, APISERVER)
        except ExpectationFailed:
            continue  # concurrent write by another server with the same store
        return
