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
    lines = [f'{user.token},{user.name},uid-of-{user.name},"{",".join(user.groups)}"\n' for user in USERS]
    path.touch(mode=0o600)
    path.write_text("".join(lines))


def bindings() -> list[dict[str, Any]]:
    """The ClusterRoleBindings that give the groups their rights."""
    return [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"oracle-{group}"},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
        }
        for group, role in (("editors", "edit"), ("viewers", "view"))
    ]
