"""Rules that ask whether the user may also do something else: for certificates, and for owners."""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.server.write.api import CONFIG_MAPS, Api, config_map, new_api

from setpoint.server.ports import ALLOWED, Decision, User, UserRules
from setpoint.server.request.context import Services
from setpoint.server.requestinfo import RequestInfo
from setpoint.server.server_options import AccessControl, ServerSettings

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {"type": "Approved", "status": "True", "reason": "Fine"}

ENFORCING = ServerSettings(enabled_plugins=("OwnerReferencesPermissionEnforcement",))


class AllBut:
    """Allows everything but some of it: pairs of a verb and a resource, with its subresource."""

    def __init__(self, *refused: tuple[str, str], names: tuple[str, ...] = ()) -> None:
        self.refused = refused
        # What is allowed nevertheless, by name.
        self.names = names

    def attach(self, services: Services) -> None:
        """It asks nobody."""

    async def prepare(self, user: User | None = None) -> None:
        """There is nothing to have."""

    def decide(self, user: User, info: RequestInfo) -> Decision:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if (info.verb, resource) in self.refused and info.name not in self.names:
            return Decision(False, "not you")
        return ALLOWED

    def rules(self, user: User, namespace: str) -> UserRules:
        return UserRules(())


def signing_request(*, signer: str = "example.com/mine", group: str = "dev") -> Any:
    names = [
        x509.NameAttribute(x509.NameOID.COMMON_NAME, "u"),
        x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group),
    ]
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    pem = base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"signerName": signer, "request": pem, "usages": ["client auth"]}
    return {"metadata": {"name": "r"}, "spec": spec}


@pytest.mark.parametrize("names", [(), ("example.com/mine",), ("example.com/*",)], ids=["nobody", "signer", "domain"])
async def test_who_approves_must_be_allowed_to_for_the_signer(names: tuple[str, ...]) -> None:
    async with new_api(access=AccessControl(authorizer=AllBut(("approve", "signers"), names=names))) as api:
        made = await api("POST", REQUESTS, signing_request())
        made.body["status"] = {"conditions": [APPROVED]}
        answer = await api("PUT", f"{REQUESTS}/r/approval", made.body)
        if names:
            assert answer.status == 200
            return
        assert answer.body["message"] == (
            'certificatesigningrequests.certificates.k8s.io "r" is forbidden: '
            'user not permitted to approve requests with signerName "example.com/mine"'
        )


async def test_the_server_sets_the_times_of_an_approval(api: Api) -> None:
    made = await api("POST", REQUESTS, signing_request())
    made.body["status"] = {"conditions": [APPROVED]}
    [first] = (await api("PUT", f"{REQUESTS}/r/approval", made.body)).body["status"]["conditions"]
    assert first["lastUpdateTime"] == first["lastTransitionTime"]
    assert first["lastUpdateTime"] is not None
    labelled = await api.merge(f"{REQUESTS}/r", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["status"]["conditions"] == [first], "a later write does not change them"


async def test_who_signs_must_be_allowed_to_for_the_signer() -> None:
    async with new_api(access=AccessControl(authorizer=AllBut(("sign", "signers")))) as api:
        made = await api("POST", REQUESTS, signing_request())
        labelled = {**made.body, "metadata": {**made.body["metadata"], "labels": {"a": "b"}}}
        assert (await api("PUT", f"{REQUESTS}/r/status", labelled)).status == 200
        failed = {"type": "Failed", "status": "True", "reason": "No"}
        refused = await api.merge(f"{REQUESTS}/r/status", {"status": {"conditions": [failed]}})
        assert refused.status == 403
        assert 'user not permitted to sign requests with signerName "example.com/mine"' in refused.body["message"]


async def test_nobody_asks_for_a_certificate_of_the_masters(api: Api) -> None:
    signer = "kubernetes.io/kube-apiserver-client"
    refused = await api("POST", REQUESTS, signing_request(signer=signer, group="system:masters"))
    assert refused.body["message"].endswith(f"use of {signer} signer with system:masters group is not allowed")
    assert (await api("POST", REQUESTS, signing_request(signer=signer))).status == 201


def owned(**reference: Any) -> Any:
    body = config_map("child")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": "u-1", **reference}
    body["metadata"]["ownerReferences"] = [owner]
    return body


async def test_an_owner_is_held_back_by_who_may_set_its_finalizers() -> None:
    denied = (("update", "configmaps/finalizers"), ("update", "*/finalizers"))
    async with new_api(access=AccessControl(authorizer=AllBut(*denied)), settings=ENFORCING) as api:
        assert (await api("POST", CONFIG_MAPS, owned())).status == 201
        blocking = {"metadata": {"ownerReferences": owned(blockOwnerDeletion=True)["metadata"]["ownerReferences"]}}
        refused = await api.merge(f"{CONFIG_MAPS}/child", blocking)
        assert refused.body["message"] == (
            'configmaps "child" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource '
            "you can't set finalizers on: not you, <nil>"
        )
        unknown = await api(
            "POST",
            CONFIG_MAPS,
            owned(kind="None", blockOwnerDeletion=True)
            | {"metadata": owned(kind="None", blockOwnerDeletion=True)["metadata"] | {"name": "other"}},
        )
        assert "cannot find RESTMapping for APIVersion v1 Kind None" in unknown.body["message"]


async def test_owners_are_changed_by_who_may_delete() -> None:
    authorizer = AllBut(("delete", "configmaps"))
    async with new_api(access=AccessControl(authorizer=authorizer), settings=ENFORCING) as api:
        assert (await api("POST", CONFIG_MAPS, owned())).status == 201
        assert (await api.merge(f"{CONFIG_MAPS}/child", {"data": {"a": "b"}})).status == 200
        refused = await api.merge(f"{CONFIG_MAPS}/child", {"metadata": {"ownerReferences": None}})
        assert refused.body["message"] == (
            'configmaps "child" is forbidden: cannot set an ownerRef on a resource you can\'t delete: not you, <nil>'
        )
