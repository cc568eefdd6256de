"""Bundles of trusted certificates, and requests for certificates by and for pods."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.server.kinds import judged

from setpoint.objects.tree import Object

NOW = datetime(2024, 5, 1, tzinfo=UTC)


@cache
def certificate(authority: bool = True) -> str:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "us")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM).decode()


def bundle(trust: str, name: str = "ours", signer: str = "") -> Object:
    spec = {"trustBundle": trust, **({"signerName": signer} if signer else {})}
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "ClusterTrustBundle"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def test_a_bundle_of_authorities_is_taken() -> None:
    assert judged.errors_of(bundle(certificate())) == []
    assert judged.errors_of(bundle(certificate(), "example.com:s:ours", "example.com/s")) == []


@pytest.mark.parametrize(
    ("name", "signer", "problem"),
    [
        ("a:b", "", 'ClusterTrustBundle without signer name must not have ":" in its name'),
        (
            "ours",
            "example.com/s",
            "ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:",
        ),
    ],
)
def test_a_bundle_is_named_after_its_signer(name: str, signer: str, problem: str) -> None:
    (error,) = judged.errors_of(bundle(certificate(), name, signer))
    assert error == f"metadata.name: {problem}"


@pytest.mark.parametrize(
    ("trust", "problem"),
    [
        ("", "at least one trust anchor must be provided"),
        ("-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n", "entry 0 does not parse as X.509"),
        ("-----BEGIN PRIVATE KEY-----\neA==\n-----END PRIVATE KEY-----\n", "entry 0 has bad block type: PRIVATE KEY"),
    ],
)
def test_what_is_no_trusted_certificate_is_refused(trust: str, problem: str) -> None:
    assert judged.errors_of(bundle(trust)) == [f'spec.trustBundle: Invalid value: "<value omitted>": {problem}']


def test_each_of_a_bundle_must_be_an_authority_and_the_only_one_of_its_kind() -> None:
    (error,) = judged.errors_of(bundle(certificate() + certificate(authority=False)))
    assert error.endswith("entry 1 does not have the CA bit set")
    (error,) = judged.errors_of(bundle(certificate() * 2))
    assert error.endswith("duplicate trust anchor (indices [0 1])")


def test_a_bundle_keeps_its_signer_but_not_its_certificates() -> None:
    stored = judged.created(bundle(certificate(), "example.com:s:ours", "example.com/s"))
    renewed = judged.changed(stored, {"spec.trustBundle": certificate(authority=False)}, [])
    (error,) = judged.errors_of_update(renewed, stored)
    assert error.startswith("spec.trustBundle: ")
    unsigned = judged.changed(stored, {}, ["spec.signerName"])
    (changed,) = judged.errors_of_update(unsigned, stored)
    assert changed == 'spec.signerName: Invalid value: "": field is immutable'


@cache
def request_of_pod() -> str:
    private = ec.generate_private_key(ec.SECP256R1())
    built = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(private, hashes.SHA256())
    return b64encode(built.public_bytes(serialization.Encoding.DER)).decode()


def pod_request(**spec: Any) -> Object:
    given = {
        "signerName": "example.com/s",
        **{f"{name}Name": name.lower() for name in ("pod", "serviceAccount", "node")},
        **{f"{name}UID": judged.UID for name in ("pod", "serviceAccount", "node")},
        "stubPKCS10Request": request_of_pod(),
        **spec,
    }
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "PodCertificateRequest"}
    return {**kind, "metadata": {"name": "r"}, "spec": given}


def test_a_pod_asks_for_a_day_unless_it_says_otherwise() -> None:
    assert judged.errors_of(pod_request()) == []
    assert judged.created(pod_request())["spec"]["maxExpirationSeconds"] == 86_400


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"podUID": ""}, 'spec.podUID: Invalid value: "": must not be empty'),
        (
            {"signerName": "kubernetes.io/s", "maxExpirationSeconds": 86_401},
            "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]",
        ),
        (
            {"maxExpirationSeconds": 3_599},
            "spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]",
        ),
        (
            {"stubPKCS10Request": ""},
            "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set",
        ),
        ({"stubPKCS10Request": "eA=="}, "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"),
        (
            {"unverifiedUserAnnotations": {"a": "b"}},
            'spec.unverifiedUserAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")',
        ),
        (
            {"signerName": "nobody"},
            'spec.signerName: Invalid value: "nobody": must be a fully qualified domain and path of the form '
            "'example.com/signer-name'",
        ),
    ],
)
def test_what_a_pod_may_not_ask_for_is_refused(spec: Object, error: str) -> None:
    assert judged.errors_of(pod_request(**spec)) == [error]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (
            {"notBefore": "2024-05-01T00:00:00Z"},
            'status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"',
        ),
        (
            {
                "conditions": [
                    {"type": "Ready", "status": "True", "reason": "R", "lastTransitionTime": "2024-05-01T00:00:00Z"}
                ]
            },
            'status.conditions.[0].type: Unsupported value: "Ready": supported values: "Issued", "Denied", "Failed"',
        ),
    ],
)
def test_the_status_of_a_request_of_a_pod_changes_once(status: Object, error: str) -> None:
    stored = judged.created(pod_request())
    changed = {**stored, "status": status}
    assert judged.errors_of_update(changed, stored, "status") == [error]
