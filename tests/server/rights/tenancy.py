"""Namespaces that change hands: tenants with a Role in a namespace, which is deleted and given to the next one."""

from typing import Any

from tests.server.authorization.cluster import Cluster, binding, role, rule

from setpoint.objects.tree import Object

NAMESPACES = "/api/v1/namespaces"
HISTORY_RULE = rule("get", "*/history", groups="setpoint.dev")


def secrets(namespace: str) -> str:
    return f"{NAMESPACES}/{namespace}/secrets"


def secret(name: str, text: str) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"text": text}}


class Estate:
    """A cluster whose namespaces have owners."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def ask(self, method: str, path: str, body: Any = None, status: int | None = None, **options: Any) -> Any:
        """Sends a request; insists on a status unless told that any will do."""
        answer = await self.cluster(method, path, body, **options)
        assert status is None or answer.status == status, answer
        return answer.body

    async def open(self, namespace: str, owner: str, *rules: Object) -> None:
        """Creates a namespace and gives its owner all rights to Secrets in it, and further ones."""
        await self.ask("POST", NAMESPACES, {"metadata": {"name": namespace}}, 201)
        granted = role(owner, rule("*", "secrets"), *rules, namespace=namespace)
        await self.cluster.made(granted, namespace)
        await self.cluster.made(binding(owner, owner, namespace=namespace), namespace)

    async def close(self, namespace: str) -> None:
        """Deletes a namespace with all that is in it, as the namespace controller does."""
        roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
        await self.ask("DELETE", f"{NAMESPACES}/{namespace}", status=200)
        for collection in (secrets(namespace), f"{roles}/rolebindings", f"{roles}/roles"):
            await self.ask("DELETE", collection, status=200)
        found = await self.ask("GET", f"{NAMESPACES}/{namespace}", status=200)
        found["spec"]["finalizers"] = []
        await self.ask("PUT", f"{NAMESPACES}/{namespace}/finalize", found, 200)
        await self.ask("GET", f"{NAMESPACES}/{namespace}", status=404)

    async def revision(self) -> str:
        return str(await self.cluster.store.revision())
