"""The ConfigMap `extension-apiserver-authentication`: the means to authenticate the users of this cluster.

Extension servers and other programs read from it the authority of client certificates, and the authority of the
certificate with which this server forwards requests, together with the names of the headers about the user. Authorities
of other servers with the same store are kept.
"""

import json
from collections.abc import Mapping

from setpoint.objects.pem import certificates_in
from setpoint.objects.tree import Object, copy
from setpoint.server.bootstrap.system_objects import APISERVER, complete
from setpoint.server.registry.server_fields import managed, map_fields
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

NAME, _NAMESPACE = "extension-apiserver-authentication", "kube-system"
_CLIENT, _FRONT_PROXY = "client-ca-file", "requestheader-client-ca-file"
_HEADERS = {
    "requestheader-username-headers": ["X-Remote-User"],
    "requestheader-uid-headers": ["X-Remote-Uid"],
    "requestheader-group-headers": ["X-Remote-Group"],
    "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
}
_ATTEMPTS = 10


async def publish_client_authority(services: Services, authority: str) -> None:
    """Adds the certificates of the authority of client certificates (PEM)."""
    await _publish(services, _CLIENT, authority, {})


async def publish_front_proxy(services: Services, authority: str, name: str) -> None:
    """Adds the certificates of the authority of forwarded requests (PEM); `name` is the common name of the client."""
    lists = {**_HEADERS, "requestheader-allowed-names": [name]}
    await _publish(services, _FRONT_PROXY, authority, {key: json.dumps(value) for key, value in lists.items()})


async def _publish(services: Services, authorities_key: str, authority: str, others: Mapping[str, str]) -> None:
    resource = services.registry.resource("", "v1", "configmaps")
    assert resource is not None, "configmaps are not served"
    key = resource.storage.key(_NAMESPACE, NAME)
    for _ in range(_ATTEMPTS):
        item = await services.store.get(key)
        old = None if item is None else resource.item(item)
        known = (old or {}).get("data") or {}
        kept = certificates_in(known.get(authorities_key, ""))
        wanted = {authorities_key: "".join(dict.fromkeys([*kept, *certificates_in(authority)])), **others}
        if known == {**known, **wanted}:
            return
        if old is None:
            entry = managed("v1", {"f:data": map_fields(*wanted)}, services.clock.now())
            metadata: Object = {"name": NAME, "namespace": _NAMESPACE, "managedFields": [entry]}
            new: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": wanted}
            complete(services, resource, new)
        else:
            new = copy(old)
            new["data"] = {**known, **wanted}
            new = resource.field_manager("", services.clock).update(old, new, APISERVER.field_manager)
        try:
            await services.commit(key, resource.encode(new), ABSENT if item is None else item.revision, APISERVER)
        except ExpectationFailed:
            continue  # concurrent write by another server with the same store
        return
