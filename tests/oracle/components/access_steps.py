"""Steps with accounts, certificates and roles."""

from base64 import b64decode, b64encode
from collections.abc import Callable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.oracle.components.api import Api
from tests.oracle.components.manifests import named

HERE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def a_secret_gets_a_token(api: Api) -> None:
    """A token of the controller manager authenticates its account, until the secret is deleted."""
    api.create(f"{HERE}/serviceaccounts", named("robot"))
    secret = named("robot", annotations={"kubernetes.io/service-account.name": "robot"})
    api.create(f"{HERE}/secrets", secret | {"type": "kubernetes.io/service-account-token"})
    found = api.until("the secret has a token", lambda: api.get(f"{HERE}/secrets/robot").get("data", {}).get("token"))
    token = b64decode(found).decode()
    assert api.code_of("/api", token) == 200
    assert api.code_of("/api", f"{token[:-4]}AAAA") == 401
    api.delete(f"{HERE}/secrets/robot")
    api.until("the token of the deleted secret is refused", lambda: api.code_of("/api", token) == 401)


def a_certificate_is_signed(api: Api) -> None:
    """An approved request for a certificate of a client is signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder(subject).sign(key, hashes.SHA256())
    spec = {
        "request": b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
    }
    found = api.create(REQUESTS, named("jane", spec))
    approval = {"type": "Approved", "status": "True", "reason": "Test", "message": "approved by the test"}
    api.request("PUT", f"{REQUESTS}/jane/approval", {**found, "status": {"conditions": [approval]}})
    text = api.until("a certificate", lambda: api.get(f"{REQUESTS}/jane")["status"].get("certificate"))
    certificate = x509.load_pem_x509_certificate(b64decode(text))
    assert certificate.subject == subject


def a_role_is_aggregated(api: Api) -> None:
    """A role gets the rules of the roles that it selects."""
    rules = [{"apiGroups": ["components.example.com"], "resources": ["boxes"], "verbs": ["get"]}]
    api.create(f"{RBAC}/clusterroles", named("part", labels={"example.com/part": "true"}) | {"rules": rules})
    selectors = [{"matchLabels": {"example.com/part": "true"}}]
    api.create(
        f"{RBAC}/clusterroles", named("whole") | {"rules": [], "aggregationRule": {"clusterRoleSelectors": selectors}}
    )
    api.until("the role has the rules", lambda: api.get(f"{RBAC}/clusterroles/whole")["rules"] == rules)


STEPS: tuple[Callable[[Api], None], ...] = (a_secret_gets_a_token, a_certificate_is_signed, a_role_is_aggregated)
