"""The users of both servers, and the roles that they have there."""

from pathlib import Path
from typing import Any, NamedTuple

ADMIN = "admin"
ANONYMOUS = "anonymous"
STRANGER = "stranger"


class User(NamedTuple):
    """A user that a token authenticates."""

    name: str
    token: str
    groups: tuple[str, ...] = ()


USERS = (
    User(ADMIN, "token-of-admin", ("system:masters",)),
    User("editor", "token-of-editor", ("editors",)),
    User("viewer", "token-of-viewer", ("viewers", "auditors")),
    User("nobody", "token-of-nobody"),
)
TOKENS = {user.name: user.token for user in USERS} | {ANONYMOUS: "", STRANGER: "token-of-a-stranger"}
_RBAC = "rbac.authorization.k8s.io"


def write_token_file(path: Path) -> None:
    """Writes the users as a file for `--token-auth-file`."""
    # The real server reads an empty column as a group without a name.
    lines = [
        f"{user.token},{user.name},uid-of-{user.name}" + (f',"{",".join(user.groups)}"\n' if user.groups else "\n")
        for user in USERS
    ]
    path.touch(mode=0o600)
    path.write_text("".join(lines))


def roles() -> list[dict[str, Any]]:
    """The ClusterRoles of the groups. The built-in ones are aggregated by a controller, which does not run."""
    groups = ["", "apps", "batch", "networking.k8s.io", "policy", "autoscaling", "oracle.example.com", "events.k8s.io"]
    reads = ["get", "list", "watch"]
    writes = [*reads, "create", "update", "patch", "delete", "deletecollection"]
    return [
        _object("ClusterRole", f"oracle-{group}", rules=[{"apiGroups": groups, "resources": ["*"], "verbs": verbs}])
        for group, verbs in (("editors", writes), ("viewers", reads))
    ]


def bindings() -> list[dict[str, Any]]:
    """The ClusterRoleBindings that give the groups their roles."""
    return [
        _object(
            "ClusterRoleBinding",
            f"oracle-{group}",
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"oracle-{group}"},
            subjects=[{"apiGroup": _RBAC, "kind": "Group", "name": group}],
        )
        for group in ("editors", "viewers")
    ]


def _object(kind: str, name: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": name}, **parts}
