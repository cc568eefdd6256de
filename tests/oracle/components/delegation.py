"""The components authenticate and authorize the readers of their metrics by reviews of the server."""

import http.client
import re
import ssl
from pathlib import Path

from tests.oracle.components.cluster import MANAGER, SCHEDULER, Cluster
from tests.oracle.components.manifests import named

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_SERVING = re.compile(r"Serving securely on (127\.0\.0\.1:\d+)")


def metrics_are_guarded(cluster: Cluster) -> None:
    """An account with the right reads the metrics of both components; other accounts and anonymous readers do not."""
    api = cluster.api
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    api.create(f"{RBAC}/clusterroles", named("metrics") | {"rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics"}
    subjects = [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}]
    api.create(f"{RBAC}/clusterrolebindings", named("metrics") | {"roleRef": role, "subjects": subjects})
    tokens = {"": ""}
    for account in ("reader", "stranger"):
        api.create(ACCOUNTS, named(account))
        tokens[account] = api.create(f"{ACCOUNTS}/{account}/token", {"spec": {}})["status"]["token"]
    for component in (MANAGER, SCHEDULER):
        address = _address(cluster.logs[component])
        codes = {account: _code(address, token) for account, token in tokens.items()}
        assert codes == {"": 403, "reader": 200, "stranger": 403}, f"{component}: {codes}"


def _address(log: Path) -> str:
    found = _SERVING.search(log.read_text(errors="replace"))
    assert found is not None, f"{log} has no address"
    return found[1]


def _code(address: str, token: str) -> int:
    # A component creates its certificate itself.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, context=context, timeout=30)
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status
    finally:
        connection.close()
