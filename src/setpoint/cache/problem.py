"""Explains the problem of an informer, and says how to fix the problem."""

from setpoint.cache.scope import EVERYWHERE, Scope
from setpoint.client.discovery import APIResource
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import TransportError
from setpoint.objects.errors import Forbidden, Unauthorized


def explain(error: Exception, scope: Scope, namespace: str, resource: APIResource | None) -> str:
    """Returns one sentence about an error. For a missing permission, the sentence has the required RBAC rule."""
    if isinstance(error, Forbidden):
        name = resource.plural if resource is not None else f"the resource of {scope.kind}"
        where = f"a Role in namespace {namespace!r}" if namespace != EVERYWHERE else "a ClusterRole"
        rule = f'{{apiGroups: ["{scope.kind.gvk.group}"], resources: ["{name}"], verbs: ["list", "watch"]}}'
        return f"forbidden: add the rule {rule} to {where}. The server answered: {error}"
    if isinstance(error, Unauthorized):
        return f"unauthorized: the server rejected the credentials: {error}"
    if isinstance(error, NoMatch):
        return f"not installed: {error}. Use Watch({scope.kind.code}, optional=True) for a kind that may appear later"
    if isinstance(error, TransportError):
        return f"unreachable: {error}"
    return f"{type(error).__name__}: {error}"
