"""Admission by Python functions in the server's process: webhooks without HTTP.

A function takes an `AdmissionRequest` and returns an `AdmissionResponse`; the function may be `async`. Functions run
together with the webhooks of the same phase, match by the same rules, receive copies of the objects, and produce the
same messages, so a function behaves the same as behind a webhook URL. With `in_thread`, a function that may block runs
in a thread, one for each user at a time, unless the clock is not the system clock.
"""

import asyncio
import dataclasses
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import TypeAlias

from setpoint.objects.errors import APIError, InternalError
from setpoint.objects.tree import Object, copy
from setpoint.server.admission import object_replacement
from setpoint.server.admission.match_criteria import Criteria, is_exempt
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse
from setpoint.server.admission.webhook.plugins import note, patched, question, refusal
from setpoint.server.admission.webhook.reinvocation import Rounds
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

Decide: TypeAlias = Callable[[AdmissionRequest], AdmissionResponse | Awaitable[AdmissionResponse]]

# True in requests of functions that run in threads.
_is_nested: ContextVar[bool] = ContextVar("is_nested", default=False)

_log = logging.getLogger(__name__)


def rule(
    resources: Sequence[str],
    *,
    groups: Sequence[str] = ("*",),
    versions: Sequence[str] = ("*",),
    operations: Sequence[str] = (CREATE, UPDATE),
) -> Object:
    """Returns a webhook rule: operations on resources or on their subresources (`pods/status`, `*/*`)."""
    return {
        "resources": list(resources),
        "apiGroups": list(groups),
        "apiVersions": list(versions),
        "operations": list(operations),
    }


class AdmissionFunction(Plugin):
    """The base of validating and mutating functions. `match` may contain the other match fields of a webhook:
    `matchPolicy`, `namespaceSelector`, `objectSelector`."""

    def __init__(
        self,
        name: str,
        decide: Decide,
        rules: Sequence[Object],
        match: Object | None = None,
        *,
        in_thread: bool = False,
    ) -> None:
        self.name = name
        self._decide = decide
        self._in_thread = in_thread
        # Called with the name and the exception of a function that failed, in a test.
        self.on_failure: Callable[[str, Exception], None] | None = None
        self._criteria = Criteria.of_webhook({"matchPolicy": "Equivalent", **(match or {}), "rules": list(rules)})

    def concerns(self, resource: Resource, verb: str) -> bool:
        below = ("", *resource.subresources)
        return not is_exempt(resource) and any(self._criteria.may_match(resource, verb, name) for name in below)

    async def call(
        self, context: Context, operation: Operation, target: Resource
    ) -> tuple[AdmissionRequest, AdmissionResponse]:
        """Calls the function and returns the request and the response. Raises the error that refuses the write."""
        request = question(context, operation, target)
        try:
            # With copies, so that changes by the function have no effect, as with a webhook.
            shown = dataclasses.replace(request, object=copy(request.object), old_object=copy(request.old_object))
            answer = await self._decide_in_thread(context, shown) if self._in_thread else self._decide(shown)
            response = await answer if inspect.isawaitable(answer) else answer
        except APIError:
            raise
        except Exception as error:
            _log.exception("admission function %s failed", self.name)
            self._report(error)
            raise InternalError.of(
                f'admission function "{self.name}" failed: {type(error).__name__}: {error}'
            ) from None
        if response.failure is not None:
            self._report(response.failure)
        note(context, self.name, response)
        if not response.allowed:
            raise refusal(self.name, response.status)
        return request, response

    def _report(self, error: Exception) -> None:
        if self.on_failure is not None:
            self.on_failure(self.name, error)

    async def _decide_in_thread(
        self, context: Context, request: AdmissionRequest
    ) -> AdmissionResponse | Awaitable[AdmissionResponse]:
        """Calls a function that may block: in a thread, one for each user at a time."""
        if _is_nested.get():
            # The outer function waits for this one, and holds the thread of the user.
            return await asyncio.to_thread(self._decide, request)
        inside = copy_context()
        inside.run(_is_nested.set, True)
        return await context.services.blocking_functions.run(
            context.user.name, lambda: inside.run(self._decide, request)
        )


class ValidatingFunction(AdmissionFunction):
    """A function that may refuse writes, like a validating webhook."""

    async def validate(self, context: Context, operation: Operation) -> None:
        target = await self._criteria.match(context, operation)
        if target is not None:
            await self.call(context, operation, target)


class MutatingFunction(AdmissionFunction):
    """A function that may also change the object, like a mutating webhook. With `again` the function is called a second
    time if the object changed afterwards (`reinvocationPolicy: IfNeeded`)."""

    def __init__(
        self,
        name: str,
        decide: Decide,
        rules: Sequence[Object],
        match: Object | None = None,
        *,
        again: bool = False,
        in_thread: bool = False,
    ) -> None:
        super().__init__(name, decide, rules, match, in_thread=in_thread)
        self._again = again

    async def mutate(self, context: Context, operation: Operation) -> None:
        rounds = Rounds.of(operation, self.name)
        target = await self._criteria.match(context, operation)
        if target is None or rounds.skips(operation, self.name):
            return
        request, response = await self.call(context, operation, target)
        has_changed = False
        if response.patch:
            tree = patched(self.name, response, request.object)
            has_changed = await object_replacement.replace(context, operation, tree, target)
        rounds.answered(operation, self.name, changed=has_changed, again=self._again)
        rounds.end(operation)
