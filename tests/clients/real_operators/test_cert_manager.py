"""cert-manager: its chart is installed with `helm install --wait`, and its three programs issue certificates, inject
their authority into the webhook configurations, and refuse invalid objects."""

import base64
import shutil
from pathlib import Path

import pytest
from cryptography import x509
from tests.clients.real_operators.conftest import Cluster, helm
from tests.clients.real_operators.programs import program, source
from tests.oracle.programs import free_port

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

WEBHOOK_PORT = free_port()
ISSUERS = """
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: self-signed}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority, namespace: default}
spec:
  isCA: true
  commonName: authority
  secretName: authority
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: self-signed, kind: ClusterIssuer}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority, namespace: default}
spec: {ca: {secretName: authority}}
"""
SHOP = """
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: shop, namespace: default}
spec:
  secretName: shop-tls
  dnsNames: [shop.example.com]
  issuerRef: {name: authority}
"""
INVALID = SHOP.replace("dnsNames: [shop.example.com]", "revisionHistoryLimit: 0")


def chart(directory: Path) -> Path:
    """The chart as its release has it: with the definitions among the templates, and versions."""
    place = directory / "chart"
    deploy = source("cert-manager") / "deploy"
    shutil.copytree(deploy / "charts" / "cert-manager", place)
    (place / "Chart.yaml").write_text((place / "Chart.template.yaml").read_text().replace("{{IS_PRERELEASE}}", "false"))
    definitions = [path.read_text() for path in sorted((deploy / "crds").glob("*.yaml"))]
    (place / "templates" / "crds.yaml").write_text("\n---\n".join(definitions))
    return place


@pytest.mark.parametrize(
    "cluster",
    [("--webhook-service", f"cert-manager/cert-manager-webhook=127.0.0.1:{WEBHOOK_PORT}")],
    indirect=True,
    ids=["webhook"],
)
def test_certificates_are_issued_and_checked(cluster: Cluster) -> None:
    controller, webhook, cainjector = (
        program("cert-manager", each) for each in ("controller", "webhook", "cainjector")
    )
    release = ("cert-manager", str(chart(cluster.directory)), "-n", "cert-manager", "--create-namespace")
    helm(cluster, "install", *release, "--wait", "--timeout", "60s")
    access = f"--kubeconfig={cluster.server.kubeconfig}"
    serving = (
        f"--secure-port={WEBHOOK_PORT}",
        "--healthz-port=0",
        "--dynamic-serving-ca-secret-namespace=cert-manager",
        "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca",
        "--dynamic-serving-dns-names=cert-manager-webhook,cert-manager-webhook.cert-manager.svc",
    )
    election = "--leader-elect=false"
    with (
        cluster.running(webhook, access, *serving),
        cluster.running(cainjector, access, election),
        cluster.running(controller, access, election, "--metrics-listen-address=127.0.0.1:0"),
    ):
        injected = "jsonpath={.webhooks[0].clientConfig.caBundle}"
        cluster.wait("validatingwebhookconfiguration/cert-manager-webhook", injected)
        cluster.eventually_apply(ISSUERS)
        cluster.wait("issuer/authority", "condition=Ready")
        cluster.apply(SHOP)
        cluster.wait("certificate/shop", "condition=Ready")
        first = issued(cluster)
        names = first.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["shop.example.com"]
        assert first.issuer.rfc4514_string() == "CN=authority"
        with pytest.raises(AssertionError, match=r'admission webhook "webhook.cert-manager.io" denied the request'):
            cluster.apply(INVALID)
        # A deleted secret is issued again.
        cluster.kubectl("delete", "secret", "shop-tls")
        cluster.wait("secret/shop-tls", "create")
        cluster.wait("secret/shop-tls", r"jsonpath={.data.tls\.crt}")
        assert issued(cluster).serial_number != first.serial_number
        helm(cluster, "uninstall", "cert-manager", "-n", "cert-manager", "--wait")


def issued(cluster: Cluster) -> x509.Certificate:
    text = cluster.kubectl("get", "secret", "shop-tls", "-o", r"jsonpath={.data.tls\.crt}")
    return x509.load_pem_x509_certificate(base64.b64decode(text))
