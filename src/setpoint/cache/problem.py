"""What keeps an informer from getting on, in words that say what to do about it."""

from setpoint.cache.scope import EVERYWHERE, Scope
from setpoint.client.discovery import APIResource
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import TransportError
from setpoint.objects.errors import Forbidden, Unauthorized


def explain(error: Exception, scope: Scope, namespace: str, resource: APIResource | None) -> str:
    """One sentence about an error. For a missing right it names the rule that would give it."""
    if isinstance(error, Forbidden):
        name = resource.plural if resource is not None else f"the resource of {scope.kind}"
        where = f"a Role in namespace {namespace!r}" if namespace != EVERYWHERE else "a ClusterRole"
        rule = f'{{apiGroups: ["{scope.kind.gvk.group}"], resources: ["{name}"], verbs: ["list", "watch"]}}'
        return f"forbidden: it takes the rule {rule}, in {where}. The server said: {error}"
    if isinstance(error, Unauthorized):
        return f"unauthorized: the server does not know who asks. It said: {error}"
    if isinstance(error, NoMatch):
        return f"not installed: {error}"
    if isinstance(error, TransportError):
        return f"unreachable: {error}"
    return f"{type(error).__name__}: {error}"
