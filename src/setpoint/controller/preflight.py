"""Asks the server for missing RBAC permissions of controllers before requests fail.

Without this check a missing permission shows only as a cache that never syncs. The questions are those of `kubectl auth
can-i`, which every user may ask about himself.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from setpoint.client.client import Client
from setpoint.controller import rbac
from setpoint.controller.declare import controller_of
from setpoint.controller.remedies import GRANT
from setpoint.objects.tree import Object


class MissingRule(NamedTuple):
    """A rule that a controller lacks: in a namespace, or with an empty one in the whole cluster."""

    controller: str
    namespace: str
    rule: Object

    def __str__(self) -> str:
        where = f"in the namespace {self.namespace}" if self.namespace else "in the cluster"
        return (
            f"the controller {self.controller} lacks a right {where}, {json.dumps(self.rule)}: grant the rules of its "
            f"declaration, {GRANT}"
        )


async def missing_rules(controllers: Iterable[object], client: Client) -> list[MissingRule]:
    """Returns the missing rules.

    Checks the rules of each controller's declared kinds, in the namespaces of the controller. Raises APIError if the
    server does not answer, and NoMatch for a kind that the server does not have.
    """
    if await _may(client, "", {"group": "*", "resource": "*", "verb": "*"}):
        return []
    found: list[MissingRule] = []
    for controller in map(controller_of, controllers):
        rules = await rbac.rules([controller], client)
        for namespace in controller.options.namespaces or ("",):
            for rule in rules:
                lacking = await _lacking(client, namespace, rule)
                found += [MissingRule(controller.name, namespace, each) for each in lacking]
    return [each for place, each in enumerate(found) if each not in found[:place]]


async def _lacking(client: Client, namespace: str, rule: Object) -> list[Object]:
    """Returns the missing parts of a resource rule, by resource. Non-resource rules are assumed to be present."""
    found: list[Object] = []
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            plural, _, subresource = resource.partition("/")
            attributes = {"group": group, "resource": plural, "subresource": subresource}
            verbs = [verb for verb in rule["verbs"] if not await _may(client, namespace, {**attributes, "verb": verb})]
            if verbs:
                found.append({"apiGroups": [group], "resources": [resource], "verbs": verbs})
    return found


async def _may(client: Client, namespace: str, attributes: Object) -> bool:
    spec = {"resourceAttributes": {**attributes, **({"namespace": namespace} if namespace else {})}}
    review: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    answered = await client.create(review)
    return bool(answered["status"]["allowed"])
