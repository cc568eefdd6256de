"""Users and groups whose names have a meaning to the server."""

from collections.abc import Sequence

from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.ports import User

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
NODES = "system:nodes"

ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("system:admin", (MASTERS, AUTHENTICATED))

# Keys of a user's `extra` that describe the credentials, for audit logs and policies.
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"

_SERVICE_ACCOUNT = "system:serviceaccount:"
_SERVICE_ACCOUNTS = "system:serviceaccounts"
_NODE = "system:node:"


def service_account_user(namespace: str, name: str) -> str:
    """Returns the user name of a service account."""
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """Returns the groups of every service account of a namespace, without `system:authenticated`."""
    return (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{namespace}")


def service_account_of(user: str) -> tuple[str, str] | None:
    """Returns the namespace and name of the service account with this user name, or None."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return None
    namespace, colon, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
    if not colon or dns1123_label(namespace) or dns1123_subdomain(name):
        return None
    return namespace, name


def node_of(user: str) -> str | None:
    """Returns the name of the node with this user name, or None."""
    name = user.removeprefix(_NODE)
    return name if user.startswith(_NODE) and not dns1123_subdomain(name) else None


def with_group(groups: Sequence[str], group: str) -> Sequence[str]:
    """Returns the groups with this group appended, unless already present."""
    return groups if group in groups else (*groups, group)
