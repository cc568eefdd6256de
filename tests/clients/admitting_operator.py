"""An operator with admission handlers, as kopf's users write them: `kopf run` loads this file.

kopf serves them over HTTPS, and keeps the webhook configurations that lead to them.
"""

import os
from typing import Any

import kopf
from tests.clients.manifests import GROUP


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    certificate, key = os.environ["WEBHOOK_CERTIFICATE"], os.environ["WEBHOOK_KEY"]
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", host="127.0.0.1", certfile=certificate, pkeyfile=key, cafile=os.environ["WEBHOOK_AUTHORITY"]
    )
    settings.admission.managed = "admitting.setpoint.example"


@kopf.on.mutate(GROUP, "v1", "gadgets", operations=["CREATE"])
def give_colour(spec: kopf.Spec, patch: kopf.Patch, warnings: list[str], **_: Any) -> None:
    if "colour" not in spec:
        patch.spec["colour"] = "grey"
        warnings.append("a gadget without a colour is grey")


@kopf.on.validate(GROUP, "v1", "gadgets")
def refuse_large(spec: kopf.Spec, dryrun: bool, userinfo: Any, **_: Any) -> None:
    if spec.get("size", 0) > 10:
        how = "even to try" if dryrun else "to have"
        raise kopf.AdmissionError(f"{spec['size']} is too large {how}, {userinfo['username']}", code=422)
