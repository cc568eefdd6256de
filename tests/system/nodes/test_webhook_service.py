"""A webhook whose Service selects simulated pods fails at once, with an explanation."""

import pytest
from tests.ports import free_ports
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.objects.errors import InternalError
from setpoint.objects.tree import Object

SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 443}]},
}
HOOK: Object = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hook"},
    "webhooks": [
        {
            "name": "hook.example.com",
            "clientConfig": {"service": {"namespace": "default", "name": "web", "path": "/check"}},
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}
SETTINGS: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}}


async def test_a_webhook_of_simulated_pods_is_explained_and_may_be_redirected() -> None:
    async with testing.world(nodes="simulated", objects=[pod("web"), SERVICE]) as world:
        await world.settle()
        await world.client.create(HOOK)
        with pytest.raises(InternalError) as caught:
            await world.client.create(SETTINGS)
        assert str(caught.value) == (
            'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: '
            'Post "https://web.default.svc:443/check?timeout=10s": service "web" has no address: pods are simulated, '
            "and no process listens at their ports. Run the webhook as a process, and redirect the service with "
            "--webhook-service default/web=HOST:PORT"
        )
        [port] = free_ports(1)
        world.plane.services.resolver.put("default", "web", "127.0.0.1", port)
        with pytest.raises(InternalError, match=f"dial tcp 127.0.0.1:{port}: connect: connection refused"):
            await world.client.create(SETTINGS)


async def test_a_missing_service_is_not_found() -> None:
    async with testing.world(nodes="simulated", objects=[HOOK]) as world:
        with pytest.raises(InternalError, match='service "web" not found'):
            await world.client.create(SETTINGS)
