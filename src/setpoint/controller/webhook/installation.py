"""Tells an API server of webhooks: writes their configurations and the conversion of definitions, by apply.

What is written is ours alone: fields that others add to the same objects stay.
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

# The `clientConfig` for a path.
ClientConfig = Callable[[str], Object]


def at_url(base: str, bundle: bytes) -> ClientConfig:
    """For webhooks at a URL."""
    return lambda path: {"url": f"{base.rstrip('/')}{path}", "caBundle": b64encode(bundle).decode()}


def at_service(service: str, port: int, bundle: bytes) -> ClientConfig:
    """For webhooks behind a Service, given as `namespace/name`."""
    namespace, _, name = service.rpartition("/")
    return lambda path: {
        "service": {"namespace": namespace, "name": name, "path": path, "port": port},
        "caBundle": b64encode(bundle).decode(),
    }


async def install_admission(
    client: Client, name: str, webhooks: Sequence[AdmissionWebhook], config: ClientConfig
) -> None:
    """Writes the configurations of webhooks that decide; those that there are no webhooks for are left alone."""
    for mutates, kind in ((True, "MutatingWebhookConfiguration"), (False, "ValidatingWebhookConfiguration")):
        found = [await _entry(client, webhook, config) for webhook in webhooks if webhook.mutates == mutates]
        if found:
            tree: Object = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "webhooks": found}
            await client.apply(tree, field_manager=name, force=True)


async def install_conversions(client: Client, webhooks: Iterable[ConversionWebhook], config: ClientConfig) -> None:
    """Has definitions converted by webhooks. Raises ValueError where a version is not covered, and NotFound where a
    definition is not there."""
    for webhook in webhooks:
        spec = (await client.get(CRD, webhook.crd))["spec"]
        webhook.check_covers([version["name"] for version in spec["versions"]])
        conversion = {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": list(REVIEW_VERSIONS), "clientConfig": config(PATH)},
        }
        if spec.get("conversion") != conversion:
            await client.patch(CRD, merge({"spec": {"conversion": conversion}}), webhook.crd)


async def by_kind(client: Client, webhooks: Iterable[ConversionWebhook]) -> dict[tuple[str, str], ConversionWebhook]:
    """Webhooks by the group and kind of what they convert. Raises NotFound where a definition is not there."""
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
