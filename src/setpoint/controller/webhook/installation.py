"""Registers webhooks at the API server: applies their configurations and the conversion of definitions.

Server-side apply preserves fields that other managers add to the same objects.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.controller.webhook.admission import AdmissionWebhook
from setpoint.controller.webhook.conversion import PATH, ConversionWebhook
from setpoint.objects.tree import Object

GROUP = "admissionregistration.k8s.io/v1"
CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"
REVIEW_VERSIONS = ("v1", "v1beta1")

# Returns the `clientConfig` of a path.
ClientConfig = Callable[[str], Object]


def at_url(base: str, bundle: bytes) -> ClientConfig:
    """Returns the client configuration of webhooks at a URL."""
    return lambda path: {"url": f"{base.rstrip('/')}{path}", "caBundle": b64encode(bundle).decode()}


def at_service(service: str, port: int, bundle: bytes) -> ClientConfig:
    """Returns the client configuration of webhooks behind a Service, given as `namespace/name`. An empty bundle is left
    out."""
    namespace, _, name = service.rpartition("/")
    trust = {"caBundle": b64encode(bundle).decode()} if bundle else {}
    return lambda path: {"service": {"namespace": namespace, "name": name, "path": path, "port": port}, **trust}


async def install_admission(
    client: Client, name: str, webhooks: Sequence[AdmissionWebhook], config: ClientConfig
) -> None:
    """Applies the webhook configurations. Existing configurations without webhooks here stay unchanged."""
    for tree in await admission_configurations(client, name, webhooks, config):
        await client.apply(tree, field_manager=name, force=True)


async def admission_configurations(
    client: Client, name: str, webhooks: Sequence[AdmissionWebhook], config: ClientConfig
) -> list[Object]:
    """Returns the webhook configurations: one of mutating and one of validating webhooks."""
    made: list[Object] = []
    for mutates, kind in ((True, "MutatingWebhookConfiguration"), (False, "ValidatingWebhookConfiguration")):
        found = [await _entry(client, webhook, config) for webhook in webhooks if webhook.mutates == mutates]
        if found:
            made.append({"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "webhooks": found})
    return made


def conversion_by_webhook(config: ClientConfig) -> Object:
    """Returns the `conversion` of a definition."""
    webhook = {"conversionReviewVersions": list(REVIEW_VERSIONS), "clientConfig": config(PATH)}
    return {"strategy": "Webhook", "webhook": webhook}


async def install_conversions(client: Client, webhooks: Iterable[ConversionWebhook], config: ClientConfig) -> None:
    """Configures definitions to be converted by webhooks.

    Raises ValueError for a version that is not covered, and NotFound for a missing definition.
    """
    for webhook in webhooks:
        spec = (await client.get(CRD, webhook.crd))["spec"]
        webhook.check_covers([version["name"] for version in spec["versions"]])
        conversion = conversion_by_webhook(config)
        if spec.get("conversion") != conversion:
            await client.patch(CRD, merge({"spec": {"conversion": conversion}}), webhook.crd)


async def by_kind(client: Client, webhooks: Iterable[ConversionWebhook]) -> dict[tuple[str, str], ConversionWebhook]:
    """Returns the conversions by group and kind. Raises NotFound for a missing definition."""
    found = {}
    for webhook in webhooks:
        spec = (await client.get(CRD, webhook.crd))["spec"]
        found[spec["group"], spec["names"]["kind"]] = webhook
    return found


async def _entry(client: Client, webhook: AdmissionWebhook, config: ClientConfig) -> Object:
    gvk = webhook.ref.gvk
    resource = await client.resource(webhook.ref)
    rule = {
        "apiGroups": [gvk.group],
        "apiVersions": [gvk.version],
        "operations": list(webhook.operations),
        "resources": webhook.resources(resource.plural),
        "scope": "*",
    }
    return {
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        **(webhook.match or {}),
        "name": webhook.name,
        "admissionReviewVersions": list(REVIEW_VERSIONS),
        "clientConfig": config(webhook.path),
        "failurePolicy": webhook.failure_policy,
        "rules": [rule],
    }
