"""The server of the cluster that this code runs in, as a pod finds it: by its environment and its service account."""

from collections.abc import Mapping
from pathlib import Path

from setpoint.client.connection_config import ConfigError, Connection
from setpoint.client.credentials import Pem, TokenFile, Trust
from setpoint.client.http.endpoint import endpoint

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(environ: Mapping[str, str], files: Path = SERVICE_ACCOUNT) -> bool:
    """Whether this code runs in a pod that may talk to its server."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (files / "token").is_file()


def connection(environ: Mapping[str, str], files: Path = SERVICE_ACCOUNT) -> Connection:
    """The way to that server. Raises ConfigError."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "this does not run inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
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
    return Connection(
        endpoint(f"https://{shown}:{port}", tls=context),
        TokenFile(token),
        trust,
        namespace=namespace.read_text().strip() if namespace.is_file() else "",
    )
