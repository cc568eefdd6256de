"""The kinds that both servers serve: their paths, verbs, subresources, templates and schemas."""

import base64
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from setpoint.server.edge.certificates import Authority

_HERE = Path(__file__).parent
# The only resources that answer requests about users and rights; an object of these kinds is never stored.
REVIEWS = frozenset(
    (
        *("tokenreviews", "selfsubjectreviews", "subjectaccessreviews", "localsubjectaccessreviews"),
        *("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    )
)


class Asks(Protocol):
    """Gets a document of a server as the administrator."""

    def __call__(self, path: str) -> Any: ...


@dataclass(frozen=True)
class Kind:
    """A served kind in one version."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]
    subresources: dict[str, frozenset[str]] = field(hash=False)
    template: dict[str, Any] = field(hash=False)
    schema: dict[str, Any] = field(hash=False)
    # All schemas of the document, to which `$ref` refers.
    schemas: dict[str, Any] = field(hash=False, repr=False)

    @property
    def name(self) -> str:
        return f"{self.resource}.{self.group}/{self.version}" if self.group else f"{self.resource}/{self.version}"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str | None = "ns-{ep}") -> str:
        """The path of the objects; `namespace` none: of all namespaces."""
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{self.root}{scope}/{self.resource}"


def served(ask: Asks) -> dict[str, dict[str, dict[str, Any]]]:
    """The resources of a server, by group version and name."""
    versions = ["api/v1", *(f"apis/{v['groupVersion']}" for g in ask("/apis")["groups"] for v in g["versions"])]
    return {version: {found["name"]: found for found in ask(f"/{version}")["resources"]} for version in versions}


def kinds(real: Asks, ours: Asks) -> tuple[list[Kind], list[str]]:
    """The kinds of both servers that have a template, and the names of the others."""
    templates = _templates()
    theirs, own = served(real), served(ours)
    found, left = [], []
    for version, resources in theirs.items():
        document = real(f"/openapi/v3/{version}")["components"]["schemas"]
        prefix, _, group_version = version.partition("/")
        group, _, number = group_version.rpartition("/") if prefix == "apis" else ("", "", group_version)
        for name, resource in resources.items():
            if "/" in name:
                continue
            key = f"{name}.{group}" if group else name
            if name not in own.get(version, {}) or key not in templates:
                left.append(f"{version}/{name}")
                continue
            parts = {
                other.partition("/")[2]: frozenset(part["verbs"])
                for other, part in resources.items()
                if other.startswith(f"{name}/")
            }
            schema = _schema(document, group, number, resource["kind"])
            found.append(
                Kind(
                    group,
                    number,
                    name,
                    resource["kind"],
                    resource["namespaced"],
                    frozenset(resource["verbs"]),
                    parts,
                    templates[key],
                    schema,
                    document,
                )
            )
    return found, left


def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions that both servers get."""
    loaded: list[dict[str, Any]] = yaml.safe_load((_HERE / "definitions.yaml").read_text())
    return loaded


def _schema(document: dict[str, Any], group: str, version: str, kind: str) -> dict[str, Any]:
    wanted = {"group": group, "version": version, "kind": kind}
    for schema in document.values():
        if wanted in schema.get("x-kubernetes-group-version-kind", ()):
            found: dict[str, Any] = schema
            return found
    return {"type": "object"}


@cache
def _templates() -> dict[str, Any]:
    text = (_HERE / "templates.yaml").read_text()
    request = _certificate_request(serialization.Encoding.PEM, "someone")
    stub = _certificate_request(serialization.Encoding.DER)
    for place, filler in (("csr", request), ("ca", _authority()), ("stub", stub)):
        text = text.replace(f'"{{{place}}}"', json.dumps(filler))
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def _certificate_request(encoding: serialization.Encoding, name: str | None = None) -> str:
    """A certificate signing request in base64; `name` none: with an empty subject."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(encoding)).decode()


def _authority() -> str:
    return Authority.create(datetime.now(UTC), "bundle").pair.certificate.decode()
