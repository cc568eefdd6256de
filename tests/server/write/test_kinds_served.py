"""The kinds beyond the core group, through a whole server: each is made, read, written again, shown and deleted."""

import base64
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.server.kinds import judged
from tests.server.write.api import Api

from setpoint.objects.tree import Object, copy
from setpoint.server.registry import builtin_resources

OBJECTS = [(table, name) for table, found in judged.TABLES.items() for name in found.objects]
JOBS = "/apis/batch/v1/namespaces/default/jobs"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {"type": "Approved", "status": "True", "reason": "Fine"}


@cache
def places() -> dict[tuple[str, str], str]:
    """Where the objects of a kind live, by apiVersion and kind."""
    return {
        (found.api_version, found.kind): f"/apis/{found.api_version}/"
        + (f"namespaces/default/{found.resource}" if found.namespaced else found.resource)
        for found in builtin_resources.resources()
    }


@pytest.mark.parametrize(("table", "name"), OBJECTS)
async def test_a_kind_is_served_from_its_creation_to_its_end(api: Api, table: str, name: str) -> None:
    body = judged.TABLES[table].objects[name]
    place = places()[body["apiVersion"], body["kind"]]
    own = f"{place}/{body['metadata']['name']}"
    made = await api("POST", place, body)
    assert made.status == 201, made.body
    read = await api("GET", own)
    if body["kind"] in ("FlowSchema", "ValidatingAdmissionPolicy"):
        # Its level is looked up, or its types are checked, once it is there, and its status tells.
        assert (read.status, read.body["spec"]) == (200, made.body["spec"])
    else:
        assert (read.status, read.body) == (200, made.body)
    again = await api("PUT", own, read.body)
    assert (again.status, again.body) == (200, read.body)
    labelled = await api.merge(own, {"metadata": {"labels": {"a": "b"}}})
    assert (labelled.status, labelled.body["metadata"]["labels"]["a"]) == (200, "b")
    assert (await api("DELETE", own, {"propagationPolicy": "Background"})).status == 200
    await api.merge(own, {"metadata": {"finalizers": None}})
    assert (await api("GET", own)).status == 404


async def test_a_job_that_is_deleted_without_a_word_about_its_pods_keeps_them_and_says_so(api: Api) -> None:
    await api("POST", JOBS, judged.TABLES["workloads"].objects["Job"])
    deleted = await api("DELETE", f"{JOBS}/once")
    assert deleted.body["metadata"]["finalizers"] == ["orphan"]
    (warning,) = deleted.warnings
    assert "child pods are preserved by default when jobs are deleted" in warning
    assert (await api("DELETE", f"{JOBS}/once", {"propagationPolicy": "Background"})).warnings == []
    assert (await api("GET", f"{JOBS}/once")).status == 404


def signing_request() -> Object:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(name).sign(private, hashes.SHA256())
    encoded = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "me"},
        "spec": {"request": encoded, "signerName": "example.com/s", "usages": ["client auth"], "username": "root"},
    }


async def test_the_server_writes_who_asks_for_a_certificate_and_lets_nobody_change_what_is_asked(api: Api) -> None:
    made = await api("POST", REQUESTS, signing_request())
    assert made.status == 201, made.body
    assert made.body["spec"]["username"] not in ("", "root")
    assert "system:masters" in made.body["spec"]["groups"]
    other = copy(made.body)
    other["spec"]["signerName"] = "example.com/other"
    kept = await api("PUT", f"{REQUESTS}/me", other)
    assert (kept.status, kept.body["spec"]) == (200, made.body["spec"])


async def test_a_certificate_request_is_approved_and_answered_only_where_that_is_done(api: Api) -> None:
    await api("POST", REQUESTS, signing_request())
    decision = {"status": {"conditions": [APPROVED]}}
    refused = await api.merge(f"{REQUESTS}/me/status", decision)
    assert refused.status == 422
    assert 'updates may not add a condition of type "Approved"' in refused.body["message"]
    approved = await api.merge(f"{REQUESTS}/me/approval", decision)
    assert approved.status == 200, approved.body
    assert approved.body["status"]["conditions"][0]["type"] == "Approved"
    unapproved = await api.merge(f"{REQUESTS}/me/approval", {"status": {"conditions": []}})
    assert 'updates may not remove a condition of type "Approved"' in unapproved.body["message"]
    answered = await api.merge(f"{REQUESTS}/me/status", {"status": {"certificate": "eA=="}})
    assert "must contain at least one CERTIFICATE PEM block" in answered.body["message"]


async def test_the_conditions_of_a_signing_request_get_their_times(api: Api) -> None:
    await api("POST", REQUESTS, signing_request())
    decision: Object = {"type": "Approved", "status": "True", "reason": "a"}
    approved = await api.merge(f"{REQUESTS}/me/approval", {"status": {"conditions": [decision]}})
    (first,) = approved.body["status"]["conditions"]
    assert first["lastUpdateTime"] == first["lastTransitionTime"] == approved.body["metadata"]["creationTimestamp"]
    api.clock.advance(60)
    again = await api.merge(f"{REQUESTS}/me/approval", {"status": {"conditions": [{**decision, "reason": "b"}]}})
    (second,) = again.body["status"]["conditions"]
    assert second["lastTransitionTime"] == first["lastTransitionTime"]
    assert second["lastUpdateTime"] > first["lastUpdateTime"]
