"""CertificateSigningRequests, their approval, and bundles of trusted certificates."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from setpoint.objects import conditions
from setpoint.objects.duration import human_duration
from setpoint.objects.field import (
    FieldError,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
)
from setpoint.objects.gotext import quote
from setpoint.objects.names import NameRule, dns1123_label, dns1123_subdomain, path_segment
from setpoint.objects.pem import CERTIFICATE, pem_blocks
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, immutable
from setpoint.server.registry.kinds.printers.cells import NONE, field, lookup, selectable
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import repeats, wrong
from setpoint.server.registry.strategy import Column

_USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_STATUSES = ("False", "True", "Unknown")
_FINAL = ("Approved", "Denied", "Failed")
_DECISIONS = ("Approved", "Denied")
_REQUESTER = ("username", "uid", "groups", "extra")
_MAX_BUNDLE = 1 << 20
_RESET: Mapping[str, Sequence[str]] = {
    "": ("spec", "status"),
    "status": ("spec", "status.conditions"),
    "approval": ("spec", "status.certificate"),
}


def validate_signer_name(name: str, path: str) -> list[FieldError]:
    """Validates the name of a signer: a domain and one path segment."""
    if not name:
        return [required(path)]
    domain, slash, part = name.partition("/")
    if not slash or "/" in part:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, why)]
    found = [too_long(path, 253)] if len(domain) > 253 else []
    for label in domain.split("."):
        problems = dns1123_label(label)
        if problems:
            found += wrong(path, domain, (f"validating label {quote(label)}: {problem}" for problem in problems))
            break
    if "." not in domain:
        found.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    for label in part.split("."):
        problems = dns1123_subdomain(label)
        if problems:
            found += wrong(path, part, (f"validating label {quote(label)}: {problem}" for problem in problems))
            break
    most = 253 + 63 + 253
    return [*found, too_long(path, most)] if len(name) > most else found


def _duration(tree: Object, _now: datetime) -> str:
    seconds = lookup(tree, "spec", "expirationSeconds")
    return NONE if seconds is None else human_duration(seconds)


def _condition(tree: Object, _now: datetime) -> str:
    types = {condition.get("type") for condition in lookup(tree, "status", "conditions") or ()}
    shown = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        shown += ",Failed"
    return f"{shown},Issued" if lookup(tree, "status", "certificate") else shown


class CertificateSigningRequestStrategy(ValidatingStrategy):
    """The rules of CertificateSigningRequests: the spec is immutable, and the server sets the requesting user."""

    reset_fields = _RESET
    requester_field = "spec"
    status_endpoints = ("status", "approval")
    stamps = True
    selectable_fields = {"spec.signerName": selectable("spec", "signerName")}  # noqa: RUF012 - a ClassVar of the base
    columns = (
        NAME,
        AGE,
        Column("SignerName", field("spec", "signerName", absent=NONE)),
        Column("Requestor", field("spec", "username")),
        Column("RequestedDuration", _duration),
        Column("Condition", _condition),
    )

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return path_segment(name, prefix)

    def prepare_for_create(self, tree: Object) -> None:
        for name in _REQUESTER:
            tree["spec"].pop(name, None)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        tree["spec"] = old.get("spec") or {}
        status, before = tree.setdefault("status", {}), old.get("status") or {}
        if subresource == "approval":
            status.pop("certificate", None)
            if "certificate" in before:
                status["certificate"] = before["certificate"]
        elif subresource == "status":
            for kind in _DECISIONS:
                _keep(status, before, kind)

    def stamp(self, tree: Object, old: Object, now: str, sent: Object) -> None:
        before = (old.get("status") or {}).get("conditions") or []
        for each in (tree.get("status") or {}).get("conditions") or []:
            each["lastUpdateTime"] = each.get("lastUpdateTime") or now
            if not each.get("lastTransitionTime"):
                found = conditions.find(before, each.get("type", ""))
                is_same = found is not None and found.get("status") == each.get("status")
                each["lastTransitionTime"] = found.get("lastTransitionTime") or now if found and is_same else now

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec, before = tree.get("spec") or {}, (old or {}).get("spec") or {}
        found = []
        problem = "" if old else _request_problem(spec.get("request") or "")
        if problem:
            found.append(invalid("spec.request", spec.get("request"), problem))
        usages, signer = spec.get("usages") or [], spec.get("signerName") or ""
        if not usages:
            found.append(required("spec.usages"))
        if usages != before.get("usages"):
            for position, (usage, again) in enumerate(zip(usages, repeats(usages), strict=True)):
                place = index("spec.usages", position)
                if usage not in _USAGES:
                    found.append(not_supported(place, usage, _USAGES))
                if again:
                    found.append(duplicate(place, usage))
        if signer == _LEGACY_SIGNER and before.get("signerName") != signer:
            why = "the legacy signerName is not allowed via this API version"
            found.append(invalid("spec.signerName", signer, why))
        elif signer != _LEGACY_SIGNER:
            found += validate_signer_name(signer, "spec.signerName")
        seconds = spec.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            why = "may not specify a duration less than 600 seconds (10 minutes)"
            found.append(invalid("spec.expirationSeconds", seconds, why))
        return found + _validate_answer(tree.get("status") or {}, (old or {}).get("status") or {})

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        found = self.check(tree, old)
        status, before = tree.get("status") or {}, old.get("status") or {}
        path = "status.conditions"
        for kind in _FINAL:
            now, known = _of(status, kind), _of(before, kind)
            if len(now) < len(known):
                found.append(forbidden(path, f"updates may not remove a condition of type {quote(kind)}"))
            elif subresource == "approval" or kind not in _DECISIONS:
                continue
            elif len(now) > len(known):
                found.append(forbidden(path, f"updates may not add a condition of type {quote(kind)}"))
            elif now != known:
                found.append(forbidden(path, f"updates may not modify a condition of type {quote(kind)}"))
        certificate, issued = status.get("certificate"), before.get("certificate")
        if certificate != issued and subresource != "status":
            found.append(forbidden("status.certificate", "updates may not set certificate content"))
        elif certificate != issued and issued:
            found.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
        return found


def _of(status: Object, kind: str) -> list[Object]:
    return [condition for condition in status.get("conditions") or () if condition.get("type") == kind]


def _keep(status: Object, before: Object, kind: str) -> None:
    """Restores the stored conditions of a type, if their number is unchanged."""
    known = _of(before, kind)
    if known and len(_of(status, kind)) == len(known):
        left = iter(known)
        status["conditions"] = [next(left) if item.get("type") == kind else item for item in status["conditions"]]


def _validate_answer(status: Object, before: Object) -> list[FieldError]:
    path = "status.conditions"
    found = []
    types: list[str] = []
    for position, condition in enumerate(status.get("conditions") or ()):
        place, kind, value = index(path, position), condition.get("type") or "", condition.get("status") or ""
        if not kind:
            found.append(required(f"{place}.type"))
        allowed = ("True",) if kind in _FINAL else _STATUSES
        if not value:
            found.append(required(f"{place}.status"))
        elif value not in allowed:
            found.append(not_supported(f"{place}.status", value, allowed))
        if kind in types:
            found.append(duplicate(f"{place}.type", kind))
        types.append(kind)
    if set(_DECISIONS) <= set(types) and not all(_of(before, kind) for kind in _DECISIONS):
        last = max(_DECISIONS, key=types.index)
        found.append(invalid(path, last, "Approved and Denied conditions are mutually exclusive"))
    certificate = status.get("certificate")
    if certificate and certificate != before.get("certificate"):
        problem = _certificate_problem(certificate)
        if problem:
            found.append(invalid("status.certificate", "<certificate data>", problem))
    return found


def _text(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("ascii", "replace")
    except (ValueError, binascii.Error):
        return ""


def _request_problem(encoded: str) -> str:
    """Returns the error of an encoded certificate request, which must be signed by its own key; empty if valid."""
    # The library is large, and is imported only if needed.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    block = next(pem_blocks(_text(encoded)), None)
    if block is None or block.label != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = x509.load_pem_x509_csr(block.text.encode())
        valid = request.is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "asn1: structure error: malformed certificate request"
    return "" if valid else "x509: certificate request has a wrong signature"


def _certificate_problem(encoded: str) -> str:
    blocks = list(pem_blocks(_text(encoded)))
    for block in blocks:
        if block.label != CERTIFICATE:
            return f"only CERTIFICATE PEM blocks are allowed, found {quote(block.label)}"
        if _parsed(block.text) is None:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _parsed(pem: str) -> bool | None:
    """Returns True if a certificate is that of an authority; None if invalid."""
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return False
    except (ValueError, TypeError):
        return None
    return constraints.ca


class ClusterTrustBundleStrategy(ValidatingStrategy):
    name_on_update = "before"
    allows_unconditional_update = False
    selectable_fields = {"spec.signerName": selectable("spec", "signerName")}  # noqa: RUF012 - a ClassVar of the base
    columns = (NAME, Column("SignerName", field("spec", "signerName", absent=NONE)))
    has_name_rule = True

    def name_rule(self, tree: Object) -> NameRule:
        return partial(_bundle_name_problems, lookup(tree, "spec", "signerName") or "")

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        signer = spec.get("signerName") or ""
        found = validate_signer_name(signer, "spec.signerName") if signer else []
        bundle = spec.get("trustBundle") or ""
        if old is None or bundle != lookup(old, "spec", "trustBundle"):
            found += _validate_bundle(bundle, "spec.trustBundle")
        if old is not None:
            found += immutable(signer, lookup(old, "spec", "signerName"), "spec.signerName")
        return found


def _bundle_name_problems(signer: str, name: str, prefix: bool) -> Sequence[str]:
    if not signer and ":" in name:
        return ['ClusterTrustBundle without signer name must not have ":" in its name']
    if not signer:
        return dns1123_subdomain(name, prefix)
    start = signer.replace("/", ":") + ":"
    if not name.startswith(start):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {start}"]
    return dns1123_subdomain(name.removeprefix(start), prefix)


def _validate_bundle(bundle: str, path: str) -> list[FieldError]:
    if len(bundle.encode()) > _MAX_BUNDLE:
        return [too_long(path, _MAX_BUNDLE)]
    problems = []
    known: dict[str, list[int]] = {}
    for position, block in enumerate(pem_blocks(bundle)):
        is_authority = _parsed(block.text) if block.label == CERTIFICATE else None
        if block.label != CERTIFICATE:
            problems.append(f"entry {position} has bad block type: {block.label}")
        elif is_authority is None:
            problems.append(f"entry {position} does not parse as X.509")
        elif not is_authority:
            problems.append(f"entry {position} does not have the CA bit set")
        known.setdefault("".join(block.body.split()), []).append(position)
    if not problems and not known:
        problems.append("at least one trust anchor must be provided")
    if not problems:
        repeated = (positions for positions in known.values() if len(positions) > 1)
        problems += [f"duplicate trust anchor (indices [{' '.join(map(str, each))}])" for each in repeated]
    return wrong(path, "<value omitted>", problems)
