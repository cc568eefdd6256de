"""The active webhooks: live views of their configurations, parsed once for each change.

The webhooks that may match a resource and operation are determined once, so that a write without webhooks costs only a
dictionary lookup.
"""

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest, Forbidden
from setpoint.objects.tree import Object
from setpoint.server.admission.match_criteria import Criteria
from setpoint.server.outbound.webhook_client import ClientConfig
from setpoint.server.ports import Operation
from setpoint.server.registry.indexes import View
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services

if TYPE_CHECKING:
    from setpoint.server.admission.policies.expressions import Expression

_GROUP, _VERSION = "admissionregistration.k8s.io", "v1"
_HARMLESS = ("None", "NoneOnDryRun")
_log = logging.getLogger(__name__)


class Hook:
    """One webhook of a configuration."""

    def __init__(self, configuration: str, tree: Object) -> None:
        self.configuration = configuration
        self.name: str = tree.get("name") or ""
        self.criteria = Criteria.of_webhook(tree)
        self.client = ClientConfig.of(tree.get("clientConfig") or {})
        self.fails_open = tree.get("failurePolicy") == "Ignore"
        self.seconds: int = tree.get("timeoutSeconds") or 10
        self.versions: Sequence[str] = tree.get("admissionReviewVersions") or ()
        self.is_reinvocable = tree.get("reinvocationPolicy") == "IfNeeded"
        self._side_effects = tree.get("sideEffects")
        self._conditions: Sequence[Object] = tree.get("matchConditions") or ()

    def check_dry_run(self, operation: Operation) -> None:
        """Raises BadRequest for a dry run if the webhook has side effects."""
        if operation.dry_run and self._side_effects not in _HARMLESS:
            raise BadRequest(f'admission webhook "{self.name}" does not support dry run')

    @cached_property
    def _expressions(self) -> "Sequence[Expression]":
        from setpoint.schema.cel.types import BOOL
        from setpoint.server.admission.policies.expressions import Expression
        from setpoint.server.registry.kinds.admissionregistration.expressions import environment

        known = environment(params=False)
        return [Expression(condition.get("expression") or "", known, [BOOL]) for condition in self._conditions]

    async def match(self, context: Context, operation: Operation) -> Resource | None:
        """Returns the resource in whose version the webhook receives the object, or None if the webhook does not match.
        Raises Forbidden if the match conditions fail to evaluate and the failure policy is Fail."""
        target = await self.criteria.match(context, operation)
        if target is None or not self._conditions:
            return target
        return target if await self._meets_conditions(context, operation, target) else None

    async def _meets_conditions(self, context: Context, operation: Operation, target: Resource) -> bool:
        from setpoint.server.admission.policies.activation import Subject
        from setpoint.server.admission.policies.expressions import (
            CONDITIONS_BUDGET,
            Evaluation,
            ExpressionError,
            evaluated,
        )

        subject = Subject(context, operation, target)
        await subject.prepare(frozenset().union(*(expression.names for expression in self._expressions)))

        def all_true() -> bool:
            evaluation = Evaluation(subject.values(None, namespace=False), {}, CONDITIONS_BUDGET)
            return evaluation.all_true(self._expressions)

        try:
            return await evaluated(context, all_true)
        except ExpressionError as error:
            if not self.fails_open:
                raise Forbidden.of(operation.resource.group_resource, operation.name, str(error)) from None
            _log.info("webhook %s is ignored because its match conditions cannot be evaluated: %s", self.name, error)
            return False


Numbered = Sequence[tuple[int, Hook]]


class Hooks:
    """The webhooks of one kind of configuration, ordered by the name of the configuration, then by position."""

    def __init__(self, plural: str) -> None:
        self._plural = plural
        # The configurations; None until first used.
        self.view: View[list[Hook]] | None = None
        self._generation = -1
        self._all: Numbered = ()
        self._relevant: WeakKeyDictionary[Resource, dict[tuple[str, str], Numbered]] = WeakKeyDictionary()

    async def of(self, services: Services, operation: Operation) -> Numbered:
        """Returns the webhooks that may match an operation, each with its index among all webhooks."""
        view = self.view
        if view is None:
            view = self.view = services.views.of(_GROUP, _VERSION, self._plural, _read)
        configurations = await view.current()
        if not configurations:
            return ()
        if view.generation != self._generation:
            self._generation = view.generation
            self._all = tuple(enumerate(hook for key in sorted(configurations) for hook in configurations[key]))
            self._relevant.clear()
        relevant = self._relevant.setdefault(operation.resource, {})
        wanted = operation.verb, operation.subresource
        found = relevant.get(wanted)
        if found is None:
            found = relevant[wanted] = [
                numbered
                for numbered in self._all
                if numbered[1].criteria.may_match(operation.resource, operation.verb, operation.subresource)
            ]
        return found


def _read(configuration: Object) -> list[Hook]:
    name = meta.name(configuration)
    return [Hook(name, tree) for tree in configuration.get("webhooks") or ()]
