"""The in-cluster configuration: the server's address from the pod's environment, and the credentials of its service
account."""

from collections.abc import Mapping
from pathlib import Path

from setpoint.client.connection_config import ConfigError, ConnectionConfig
from setpoint.client.credentials import Pem, TokenFile, Trust
from setpoint.client.http.endpoint import endpoint

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(environ: Mapping[str, str], files: Path = SERVICE_ACCOUNT) -> bool:
    """Returns True if the code runs in a pod with a service account token."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (files / "token").is_file()


def connection(environ: Mapping[str, str], files: Path = SERVICE_ACCOUNT) -> ConnectionConfig:
    """Returns the connection to the cluster's server. Raises ConfigError."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "not running inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    token, authority = files / "token", files / "ca.crt"
    for path in (token, authority):
        if not path.is_file():
            raise ConfigError(f"{path} is missing: does the pod mount the token of its service account?")
    trust = Trust(authority=Pem(path=authority))
    try:
        context = trust()
    except Exception as error:
        raise ConfigError(str(error)) from None
    namespace = files / "namespace"
    shown = f"[{host}]" if ":" in host else host
    return ConnectionConfig(
        endpoint(f"https://{shown}:{port}", tls=context),
        TokenFile(token),
        trust,
        namespace=namespace.read_text().strip() if namespace.is_file() else "",
    )
