"""The roles of an operator: the rules of its controllers, and those of its manager.

The rules of the manager allow to hold the lease of the leader election, to write events, to register webhooks with the
certificate of their authority and, for secure metrics, to authenticate scrapers. Each is restricted to the named
objects of the operator where RBAC permits: RBAC cannot restrict `create` by a name.
"""

from setpoint.client.client import Client
from setpoint.controller import rbac
from setpoint.controller.deployment.operator import Operator
from setpoint.objects.tree import Object

EVENTS: Object = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
_REVIEWS: tuple[Object, ...] = (
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
)


async def role_objects(operator: Operator, client: Client) -> list[Object]:
    """Returns the service account of an operator, its roles and their bindings. Asks the server for the resources of
    kinds; the operator's own definitions must be installed there. Raises NoMatch for an unknown kind."""
    by_namespace = await rbac.rules_by_namespace(operator.controllers, client)
    for namespace in _event_namespaces(operator):
        by_namespace.setdefault(namespace, []).append(EVENTS)
    for rule in (*(_REVIEWS if operator.secure_metrics else ()), *await _registration_rules(operator, client)):
        by_namespace.setdefault("", []).append(rule)
    found: list[Object] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": operator.metadata()}]
    for namespace, rules in sorted(by_namespace.items()):
        found += _granted(operator, operator.name, rules, namespace)
    found += _granted(operator, f"{operator.name}-leader-election", _lease_rules(operator), operator.namespace)
    if operator.has_webhooks:
        found += _granted(operator, f"{operator.name}-webhooks", _secret_rules(operator), operator.namespace)
    if operator.secure_metrics:
        [reader] = rbac.manifests(
            f"{operator.name}-metrics-reader", [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
        )
        found.append(_labelled(operator, reader))
    return found


def _event_namespaces(operator: Operator) -> list[str]:
    """Returns the namespaces of the reconciled objects, in which their events are written; empty for all."""
    watched = [tuple(each.options.namespaces) for each in operator.controllers]
    return sorted({name for names in watched for name in names}) if all(watched) and watched else [""]


def _granted(operator: Operator, name: str, rules: list[Object], namespace: str) -> list[Object]:
    namespaces = [namespace] if namespace else []
    made = rbac.manifests(name, rules, service_account=operator.service_account, namespaces=namespaces)
    return [_labelled(operator, each) for each in made]


def _labelled(operator: Operator, tree: Object) -> Object:
    return {**tree, "metadata": {**tree["metadata"], "labels": operator.labels()}}


def _lease_rules(operator: Operator) -> list[Object]:
    leases: Object = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    return [
        {**leases, "verbs": ["create"]},
        {**leases, "resourceNames": [operator.name], "verbs": ["get", "update"]},
    ]


def _secret_rules(operator: Operator) -> list[Object]:
    """Returns the rules for the Secret with the authority of the webhooks, which the installation creates empty."""
    name = operator.webhook_service.partition("/")[2]
    return [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": ["get", "update"]}]


async def _registration_rules(operator: Operator, client: Client) -> list[Object]:
    """Returns the rules to write the authority's certificate into the webhook configurations and definitions."""
    found: list[Object] = []
    for mutates, plural in ((True, "mutatingwebhookconfigurations"), (False, "validatingwebhookconfigurations")):
        if any(webhook.mutates == mutates for webhook in operator.webhooks):
            found.append(_named("admissionregistration.k8s.io", plural, [operator.name], "patch"))
    if operator.conversions:
        names = sorted(webhook.crd for webhook in operator.conversions)
        found.append(_named("apiextensions.k8s.io", "customresourcedefinitions", names, "get", "patch"))
    return found


def _named(group: str, plural: str, names: list[str], *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [plural], "resourceNames": names, "verbs": list(verbs)}
