"""The kubeconfig by which clients find a server and prove who they are. Where it is written is not decided here."""

from base64 import b64encode

from setpoint.objects.tree import Object

NAME = "setpoint"
# The first line of what we write: a file that begins with it may be written over.
MARK = "# Written by Setpoint. It is written anew at every start: changes made here are lost.\n"

# The first line of a kubeconfig that was made for somebody, who keeps it.
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
    """The text of a kubeconfig with one cluster, one user and one context; the authority is that of the server, PEM.
    `mark` is its first line."""
    from setpoint.objects import yamltext  # a server that writes none need not wait for it

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
    """Whether a file that holds this text may be replaced without losing what somebody else wrote."""
    return not text.strip() or text.startswith((MARK, KEPT))


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
