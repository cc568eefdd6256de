"""The objects of an operator's webhooks: their Service, the Secret of their authority, and the configurations.

The configurations have no `caBundle`: the operator adds the certificate of its authority when it starts, and
`kubectl apply` keeps that field.
"""

from setpoint.client.client import Client
from setpoint.controller.deployment.operator import SERVICE_PORT, Operator
from setpoint.controller.webhook.installation import (
    ClientConfig,
    admission_configurations,
    at_service,
    conversion_by_webhook,
)
from setpoint.objects import meta
from setpoint.objects.tree import Object


async def webhook_objects(operator: Operator, client: Client) -> list[Object]:
    """Returns the objects of the webhooks; none without webhooks."""
    if not operator.has_webhooks:
        return []
    metadata = operator.metadata("webhooks")
    port = {"name": "webhooks", "port": SERVICE_PORT, "targetPort": "webhooks"}
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": operator.labels(), "ports": [port]},
    }
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
    made = await admission_configurations(client, operator.name, operator.webhooks, _config(operator))
    return [service, secret, *({**each, "metadata": operator.metadata(namespaced=False)} for each in made)]


def definition_objects(operator: Operator) -> list[Object]:
    """Returns the definitions, with the conversion by the operator's webhooks."""
    by_crd = {webhook.crd: webhook for webhook in operator.conversions}
    found: list[Object] = []
    for definition in operator.definitions:
        webhook = by_crd.get(meta.name(definition))
        if webhook is not None:
            webhook.check_covers([version["name"] for version in definition["spec"]["versions"]])
            conversion = conversion_by_webhook(_config(operator))
            definition = {**definition, "spec": {**definition["spec"], "conversion": conversion}}
        found.append(definition)
    return found


def _config(operator: Operator) -> ClientConfig:
    return at_service(operator.webhook_service, SERVICE_PORT, b"")
