"""Updates of objects that do not exist: some kinds are created, all others are not found."""

import pytest
from tests.server.write.api import CONFIG_MAPS, Api

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.mark.parametrize("query", ["", "dryRun=All"])
async def test_an_update_creates_an_object_only_of_some_kinds(api: Api, query: str) -> None:
    for path in (CONFIG_MAPS, SECRETS):
        assert (await api("PUT", f"{path}/a", {"metadata": {"name": "a"}}, query=query)).status == 404
    lease = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}
    assert (await api("PUT", f"{LEASES}/a", lease, query=query)).status == 201
    assert (await api("GET", f"{LEASES}/a")).status == (404 if query else 200)
