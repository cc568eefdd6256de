"""The text of a kubeconfig with which clients connect and authenticate. The caller decides on the file."""

from base64 import b64encode

from setpoint.objects.tree import Object

NAME = "setpoint"
# The first line of generated files: a file that begins with this line may be overwritten.
MARK = "# Written by Setpoint. It is written anew at every start: changes made here are lost.\n"

# The first line of a kubeconfig that was created for a user, who keeps the file.
KEPT = "# Written by Setpoint: a user of its own, by a certificate. Keep it secret.\n"


def kubeconfig(
    server: str,
    *,
    authority: bytes | None = None,
    token: str = "",
    certificate: bytes = b"",
    key: bytes = b"",
    user: str = "admin",
    cluster: str = NAME,
    context: str = NAME,
    mark: str = MARK,
) -> str:
    """Returns the text of a kubeconfig with one cluster, one user and one context. `authority` is the server's
    certificate authority in PEM; `mark` is the first line."""
    from setpoint.objects import yamltext  # not needed by servers that write no kubeconfig

    where: Object = {"server": server}
    if authority is not None:
        where["certificate-authority-data"] = _base64(authority)
    credentials: Object = {}
    if token:
        credentials["token"] = token
    if certificate:
        credentials["client-certificate-data"] = _base64(certificate)
        credentials["client-key-data"] = _base64(key)
    return mark + yamltext.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": where}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
            "current-context": context,
        }
    )


def is_ours(text: str) -> bool:
    """Returns True if a file with this text may be replaced, because Setpoint wrote the file or the file is empty."""
    return not text.strip() or text.startswith((MARK, KEPT))


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
