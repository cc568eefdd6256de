"""Webhooks: functions that validate, default and convert objects on requests of the API server.

    @validate(Website)
    def checked(website: Website) -> None:
        if website.spec.replicas > 10:
            raise Denied("at most 10 replicas")

    @default(Website)
    def filled(website: Website) -> None:
        website.spec.color = website.spec.color or "red"

    Manager(client, webhooks=WebhookServer(client, [checked, filled], name="websites", service="system/websites"))

A control plane in the same process calls the functions directly: `ControlPlane(admission=in_process([checked,
filled]))`.
"""

from setpoint.controller.webhook.admission import AdmissionWebhook, Denied, Question, default, in_process, validate
from setpoint.controller.webhook.conversion import ConversionWebhook, convert, hub_and_spokes
from setpoint.controller.webhook.server import WebhookServer

__all__ = [
    "AdmissionWebhook",
    "ConversionWebhook",
    "Denied",
    "Question",
    "WebhookServer",
    "convert",
    "default",
    "hub_and_spokes",
    "in_process",
    "validate",
]
