"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: admission by external HTTPS servers.

The first calls the webhooks one after the other, each with the result of the previous ones; webhooks with
`reinvocationPolicy: IfNeeded` are called again if the object changed afterwards. The second calls all webhooks
concurrently, and the first refusal determines the response. For a failed call or an invalid response, the failure
policy decides between an error and ignoring the webhook.
"""

import asyncio
import dataclasses
import logging

import msgspec

from setpoint.merge import jsonpatch
from setpoint.merge.failure import PatchFailed
from setpoint.objects.errors import APIError, InternalError
from setpoint.objects.status import from_status
from setpoint.objects.tree import Object
from setpoint.server.admission import object_replacement
from setpoint.server.admission.match_criteria import in_version, is_exempt
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse, UserInfo
from setpoint.server.admission.webhook.configurations import Hook, Hooks
from setpoint.server.admission.webhook.reinvocation import Rounds
from setpoint.server.admission.webhook.review import VERSIONS, InvalidAnswer, PatchRefused, encode_request, read_answer
from setpoint.server.outbound.webhook_answer import UnreadableAnswer, decode_answer
from setpoint.server.outbound.webhook_client import CallError
from setpoint.server.outbound.webhook_metrics import MUTATING, VALIDATING
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_ANSWER_BYTES = 16 << 20
_MUTATION, _VALIDATION = "mutation.webhook.admission.k8s.io/", "validating.webhook.admission.k8s.io/"
# The audit log shows this annotation only at levels that include bodies.
PATCH_ANNOTATION = "patch.webhook.admission.k8s.io/"

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


def question(context: Context, operation: Operation, target: Resource) -> AdmissionRequest:
    """Returns the request for a webhook or function, in the version of a resource. The objects are shared with the
    operation."""
    user, resource, subresource = context.user, operation.resource, operation.subresource
    return AdmissionRequest(
        uid=context.services.ids.uid(),
        kind=target.kind_at(subresource),
        resource=target.gvr,
        subresource=subresource,
        request_kind=operation.kind,
        request_resource=resource.gvr,
        name=operation.name,
        namespace=operation.namespace,
        operation=operation.verb,
        user=UserInfo(user.name, user.groups, user.uid, user.extra),
        object=in_version(operation, operation.object, target),
        old_object=in_version(operation, operation.old, target),
        dry_run=operation.dry_run,
        options=operation.options,
    )


def refusal(name: str, status: Object | None) -> APIError:
    """Returns the error for a refused request, with the webhook's own status and message, if valid."""
    given = status or {}
    error = from_status({**given, "kind": "Status"}, 400)
    error.code = max(error.code, 400)
    why = given.get("message") or given.get("reason")
    denied = f'admission webhook "{name}" denied the request'
    error.message = f"{denied}: {why}" if why else f"{denied} without explanation"
    return error


async def call_webhook(context: Context, hook: Hook, request: AdmissionRequest, *, mutating: bool) -> AdmissionResponse:
    """Calls a webhook and returns its response; records its warnings and annotations. Raises CallError."""
    version = next((version for version in hook.versions if version in VERSIONS), None)
    if version is None:
        raise CallError("could not create admission objects: webhook does not accept known AdmissionReview versions")
    body = encode_request(request, version)
    clock = context.services.clock
    started = clock.monotonic()
    try:
        answer = await context.services.webhooks.call(hook.client, body, hook.seconds)
    finally:
        context.waited += clock.monotonic() - started
    try:
        response = read_answer(decode_answer(answer, _ANSWER_BYTES), request.uid, version, mutating=mutating)
    except UnreadableAnswer as error:
        raise CallError(f"failed to call webhook: {error}") from None
    except InvalidAnswer as error:
        raise CallError(f"received invalid webhook response: {error}") from None
    except PatchRefused as error:
        raise CallError(str(error)) from None
    note(context, hook.name, response)
    return response


def note(context: Context, name: str, response: AdmissionResponse) -> None:
    """Records the audit annotations and warnings of a response."""
    for key, value in response.audit_annotations.items():
        context.annotations.setdefault(f"{name}/{key}", value)
    for warning in response.warnings:
        context.warn(warning)


def patched(name: str, response: AdmissionResponse, tree: Object | None) -> Object:
    """Returns the object with the response's patch applied. Raises InternalError if the patch does not apply."""
    if tree is None:
        why = f'admission webhook "{name}" attempted to modify the object, which is not supported for this operation'
        raise InternalError.of(why)
    try:
        made: Object = jsonpatch.apply(tree, jsonpatch.decode(list(response.patch), strict=False))
    except PatchFailed as error:
        raise InternalError.of(error.why) from None
    except APIError as error:
        raise InternalError.of(error.message) from None
    return made


class MutatingAdmissionWebhook(Plugin):
    """Calls the webhooks that may change the object."""

    name = "MutatingAdmissionWebhook"

    def __init__(self) -> None:
        self._hooks = Hooks("mutatingwebhookconfigurations")

    def concerns(self, resource: Resource, verb: str) -> bool:
        return not is_exempt(resource)

    async def mutate(self, context: Context, operation: Operation) -> None:
        hooks = await self._hooks.of(context.services, operation)
        self.config_view = self._hooks.view
        if not hooks:
            return
        rounds = Rounds.of(operation, self.name)
        for index, hook in hooks:
            target = await hook.match(context, operation)
            uid = hook.configuration, hook.name
            if target is None or rounds.skips(operation, uid):
                continue
            has_changed = await self._call(context, operation, hook, target, index)
            rounds.answered(operation, uid, changed=has_changed, again=hook.is_reinvocable)
        rounds.end(operation)

    async def _call(self, context: Context, operation: Operation, hook: Hook, target: Resource, index: int) -> bool:
        """Calls one webhook. Returns True if the object changed."""
        hook.check_dry_run(operation)
        request = question(context, operation, target)
        place = f"round_{int(operation.is_reinvoked)}_index_{index}"
        has_changed = False
        try:
            with context.services.webhook_metrics.measure(hook.name, MUTATING, operation.verb) as asking:
                try:
                    response = await call_webhook(context, hook, request, mutating=True)
                    if not response.allowed:
                        raise asking.refused(refusal(hook.name, response.status))
                    if response.patch:
                        tree = patched(hook.name, response, request.object)
                        has_changed = await object_replacement.replace(context, operation, tree, target)
                        patch = {"patch": response.patch, "patchType": "JSONPatch"}
                        _annotate(context, PATCH_ANNOTATION + place, hook, patch)
                except CallError as error:
                    asking.call_failed(is_open=hook.fails_open)
                    failed_open(context, hook, error, f"failed-open.{_MUTATION}{place}")
        finally:
            _annotate(context, _MUTATION + place, hook, {"mutated": has_changed})
        return has_changed


def _annotate(context: Context, key: str, hook: Hook, more: Object) -> None:
    value = {"configuration": hook.configuration, "webhook": hook.name, **more}
    context.annotations.setdefault(key, _encode(value).decode())


def failed_open(context: Context, hook: Hook, error: CallError, annotation: str) -> None:
    """Ignores a failed call if the failure policy is Ignore. Raises InternalError otherwise."""
    why = f'failed calling webhook "{hook.name}": {error}'
    if not hook.fails_open:
        raise InternalError.of(why) from None
    _log.warning("%s: ignored because of failurePolicy Ignore", why)
    context.annotations.setdefault(annotation, hook.name)


class ValidatingAdmissionWebhook(Plugin):
    """Calls the webhooks that may only refuse the write."""

    name = "ValidatingAdmissionWebhook"

    def __init__(self) -> None:
        self._hooks = Hooks("validatingwebhookconfigurations")

    def concerns(self, resource: Resource, verb: str) -> bool:
        return not is_exempt(resource)

    async def validate(self, context: Context, operation: Operation) -> None:
        hooks = await self._hooks.of(context.services, operation)
        self.config_view = self._hooks.view
        if not hooks:
            return
        requests: dict[Resource, AdmissionRequest] = {}
        calls: list[tuple[Hook, AdmissionRequest]] = []
        for _, hook in hooks:
            target = await hook.match(context, operation)
            if target is None:
                continue
            if target not in requests:
                requests[target] = question(context, operation, target)
            calls.append((hook, dataclasses.replace(requests[target], uid=context.services.ids.uid())))
        refused: list[APIError] = []
        await asyncio.gather(
            *(self._judge(context, operation, *each, index, refused) for index, each in enumerate(calls))
        )
        if refused:
            for further in refused[1:]:
                _log.info("another webhook refused the request too: %s", further.message)
            raise refused[0]

    async def _judge(
        self,
        context: Context,
        operation: Operation,
        hook: Hook,
        request: AdmissionRequest,
        index: int,
        refused: list[APIError],
    ) -> None:
        """Calls one webhook and appends a refusal to the list, in the order of arrival."""
        try:
            await self._call(context, operation, hook, request, index)
        except APIError as error:
            refused.append(error)

    async def _call(
        self, context: Context, operation: Operation, hook: Hook, request: AdmissionRequest, index: int
    ) -> None:
        hook.check_dry_run(operation)
        with context.services.webhook_metrics.measure(hook.name, VALIDATING, operation.verb) as asking:
            try:
                response = await call_webhook(context, hook, request, mutating=False)
            except CallError as error:
                asking.call_failed(is_open=hook.fails_open)
                failed_open(context, hook, error, f"failed-open.{_VALIDATION}round_0_index_{index}")
                return
            if not response.allowed:
                raise asking.refused(refusal(hook.name, response.status))
