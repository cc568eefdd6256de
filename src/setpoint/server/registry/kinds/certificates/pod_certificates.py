"""PodCertificateRequests: certificates that kubelets request for pods."""

import base64
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from setpoint.objects.field import OMITTED, FieldError, invalid, not_supported, required, too_long
from setpoint.objects.gotext import byte_length
from setpoint.objects.metavalidation import MAX_ANNOTATIONS
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.pem import CERTIFICATE, pem_blocks
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.certificates.signing_request import validate_signer_name
from setpoint.server.registry.kinds.printers.cells import field, label_text, lookup, selectable
from setpoint.server.registry.kinds.printers.columns import NAME
from setpoint.server.registry.kinds.validation.conditions import validate_conditions
from setpoint.server.registry.kinds.validation.references import domain_prefixed_key
from setpoint.server.registry.kinds.validation.values import IMMUTABLE, wrong
from setpoint.server.registry.strategy import Column

if TYPE_CHECKING:
    from cryptography import x509

_HOUR, _DAY, _MAX_UID = 3_600, 86_400, 128
_MAX_REQUEST, _MAX_CHAIN = 10 * 1024, 100 * 1024
_OUTCOMES = ("Issued", "Denied", "Failed")
_REQUEST, _CHAIN = "spec.stubPKCS10Request", "status.certificateChain"


def _state(tree: Object, _now: datetime) -> str:
    shown = "Pending"
    for condition in lookup(tree, "status", "conditions") or ():
        if condition.get("type") in ("Issued", "Denied", "Failed"):
            shown = condition["type"]
    return shown


def _annotations(tree: Object, _now: datetime) -> str:
    return label_text(lookup(tree, "spec", "unverifiedUserAnnotations"))


class PodCertificateRequestStrategy(ValidatingStrategy):
    allows_unconditional_update = False
    status_writes_metadata = False
    reset_fields = STATUS_ALONE
    selects_namespace = False
    selectable_fields = {  # noqa: RUF012 - a ClassVar of the base class
        f"spec.{name}": selectable("spec", name) for name in ("signerName", "podName", "nodeName")
    }
    columns = (
        NAME,
        Column("PodName", field("spec", "podName")),
        Column("ServiceAccountName", field("spec", "serviceAccountName")),
        Column("NodeName", field("spec", "nodeName")),
        Column("SignerName", field("spec", "signerName")),
        Column("State", _state),
        Column("UnverifiedUserAnnotations", _annotations),
    )

    def default(self, tree: Object) -> None:
        tree.setdefault("spec", {}).setdefault("maxExpirationSeconds", _DAY)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        if old is not None:
            return []
        spec = tree.get("spec") or {}
        signer, seconds = spec.get("signerName") or "", spec.get("maxExpirationSeconds")
        found = validate_signer_name(signer, "spec.signerName")
        found += _validate_annotations(spec.get("unverifiedUserAnnotations") or {}, "spec.unverifiedUserAnnotations")
        for name in ("pod", "serviceAccount", "node"):
            value, uid, path = spec.get(f"{name}Name") or "", spec.get(f"{name}UID") or "", f"spec.{name}UID"
            found += wrong(f"spec.{name}Name", value, dns1123_subdomain(value))
            if not uid:
                found.append(invalid(path, uid, "must not be empty"))
            elif len(uid.encode()) > _MAX_UID:
                found.append(too_long(path, _MAX_UID))
        domain = signer.partition("/")[0]
        most = _DAY if domain == "kubernetes.io" or domain.endswith(".kubernetes.io") else 91 * _DAY
        if seconds is None:
            return [*found, required("spec.maxExpirationSeconds", "must be set")]
        if not _HOUR <= seconds <= most:
            why = f"must be in the range [{_HOUR}, {most}]"
            found.append(invalid("spec.maxExpirationSeconds", seconds, why))
        given = [bool(spec.get(name)) for name in ("stubPKCS10Request", "pkixPublicKey", "proofOfPossession")]
        if given not in ([True, False, False], [False, True, True]):
            why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
            return [*found, invalid("spec", OMITTED, why)]
        return found + _validate_request(spec["stubPKCS10Request"], _REQUEST) if given[0] else found

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        spec = tree.get("spec") or {}
        if spec == (old.get("spec") or {}):
            return []
        shown = {
            "SignerName": spec.get("signerName") or "",
            "PodName": spec.get("podName") or "",
            "PodUID": spec.get("podUID") or "",
            "ServiceAccountName": spec.get("serviceAccountName") or "",
            "ServiceAccountUID": spec.get("serviceAccountUID") or "",
            "NodeName": spec.get("nodeName") or "",
            "NodeUID": spec.get("nodeUID") or "",
            "MaxExpirationSeconds": spec.get("maxExpirationSeconds"),
            "PKIXPublicKey": spec.get("pkixPublicKey"),
            "ProofOfPossession": spec.get("proofOfPossession"),
            "StubPKCS10Request": spec.get("stubPKCS10Request"),
            "UnverifiedUserAnnotations": spec.get("unverifiedUserAnnotations"),
        }
        return [invalid("spec", struct_text(**shown), IMMUTABLE)]

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status, before = tree.get("status") or {}, old.get("status") or {}
        given = status.get("conditions") or []
        found = _validate_outcomes(given) + validate_conditions(given, "status.conditions")
        if found:
            return found
        state = next((condition["type"] for condition in given), "")
        if any(condition.get("type") in _OUTCOMES for condition in before.get("conditions") or ()):
            why = "immutable after PodCertificateRequest is issued, denied, or failed"
            return [] if status == before else [invalid("status", OMITTED, why)]
        if state in ("Denied", "Failed"):
            why = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
            return [] if set(status) <= {"conditions"} else [invalid("status", OMITTED, why)]
        if state == "Issued":
            return _validate_issued(status, old.get("spec") or {})
        why = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
        return [] if status == before else [invalid("status", OMITTED, why)]


def _validate_outcomes(given: list[Object]) -> list[FieldError]:
    """Validates that there is one outcome at most. The API formats these paths with a dot before the index."""
    found: list[FieldError] = []
    outcomes = 0
    for position, condition in enumerate(given):
        path, kind = f"status.conditions.[{position}]", condition.get("type") or ""
        if kind not in _OUTCOMES:
            found.append(not_supported(f"{path}.type", kind, _OUTCOMES))
            continue
        outcomes += 1
        if outcomes > 1:
            why = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            found.append(invalid(f"{path}.type", kind, why))
        if condition.get("status") != "True":
            found.append(not_supported(f"{path}.status", condition.get("status") or "", ("True",)))
    return found


def _validate_annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in annotations:
        found += domain_prefixed_key(name.lower(), path)
    size = sum(byte_length(name) + byte_length(value) for name, value in annotations.items())
    return [*found, too_long(path, MAX_ANNOTATIONS)] if size > MAX_ANNOTATIONS else found


def _validate_request(encoded: str, path: str) -> list[FieldError]:
    # The library is large, and is imported only if needed.
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    data = base64.b64decode(encoded)
    if len(data) > _MAX_REQUEST:
        return [too_long(path, _MAX_REQUEST)]
    request = _loaded(data)
    if request is None:
        return [invalid(path, OMITTED, "must be a valid PKCS#10 CSR")]
    key = request.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey):
        if not isinstance(key.curve, ec.SECP256R1 | ec.SECP384R1 | ec.SECP521R1):
            why = "elliptic public keys must use curve P256, P384, or P521"
            return [invalid(path, f"curve {key.curve.name}", why)]
    elif isinstance(key, rsa.RSAPublicKey):
        if key.key_size not in (3072, 4096):
            why = "RSA keys must have modulus size 3072 or 4096"
            return [invalid(path, f"{key.key_size}-bit modulus", why)]
    elif not isinstance(key, ed25519.Ed25519PublicKey):
        why = "unknown public key type; supported types are Ed25519, ECDSA, and RSA"
        return [invalid(path, OMITTED, why)]
    return [] if request.is_signature_valid else [invalid(path, OMITTED, "invalid signature")]


def _loaded(data: bytes) -> "x509.CertificateSigningRequest | None":
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return x509.load_der_x509_csr(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _validate_issued(status: Object, spec: Object) -> list[FieldError]:
    """Validates an issued chain: its first certificate belongs to the requested key and has the given times."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    chain = status.get("certificateChain") or ""
    if byte_length(chain) > _MAX_CHAIN:
        return [too_long(_CHAIN, _MAX_CHAIN)]
    blocks = [*pem_blocks(chain)]
    if not blocks:
        return [invalid(_CHAIN, chain, "issued certificate chain must contain at least one certificate")]
    if blocks[0].label != CERTIFICATE:
        return [invalid(_CHAIN, chain, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks")]
    try:
        leaf = x509.load_pem_x509_certificate(blocks[0].text.encode())
    except (ValueError, TypeError):
        return [invalid(_CHAIN, chain, "leaf certificate does not parse as valid X.509")]
    request = _loaded(base64.b64decode(spec.get("stubPKCS10Request") or ""))
    if request is not None:
        wanted, issued = (
            key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            for key in (request.public_key(), leaf.public_key())
        )
        if wanted != issued:
            return [invalid(_CHAIN, chain, "leaf certificate was not issued to the requested public key")]
    found = [
        required(f"status.{name}", f"must be present and {why}")
        for name, why in (
            ("notBefore", "consistent with the issued certificate"),
            ("notAfter", "consistent with the issued certificate"),
            ("beginRefreshAt", "in the range [notbefore+10min, notafter-10min]"),
        )
        if not status.get(name)
    ]
    return found or _validate_times(status, leaf, spec)


def _validate_times(status: Object, leaf: "x509.Certificate", spec: Object) -> list[FieldError]:
    begin, end = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    for name, wanted, word in (("notBefore", begin, "NotBefore"), ("notAfter", end, "NotAfter")):
        if parse_time(status[name]) != wanted:
            why = f"must be set to the {word} time encoded in the leaf certificate"
            return [invalid(f"status.{name}", status[name], why)]
    lifetime, most = end - begin, spec.get("maxExpirationSeconds") or 0
    if lifetime < timedelta(hours=1):
        return [invalid(_CHAIN, _nanoseconds(lifetime), "leaf certificate lifetime must be >= 1 hour")]
    if lifetime > timedelta(seconds=most):
        why = f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({most})"
        return [invalid(_CHAIN, _nanoseconds(lifetime), why)]
    refresh, margin = parse_time(status["beginRefreshAt"]), timedelta(minutes=10)
    path = "status.beginRefreshAt"
    if refresh < begin + margin:
        return [invalid(path, status["beginRefreshAt"], "must be at least 10 minutes after status.notBefore")]
    if refresh > end - margin:
        return [invalid(path, status["beginRefreshAt"], "must be at least 10 minutes before status.notAfter")]
    return []


def _nanoseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1) * 1000
