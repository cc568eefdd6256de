"""Admission functions: validating ones (`validate`) and mutating ones (`default`).

A function takes the object as an instance of its class, or as a dict if the kind is given by name, and optionally a
`Question` with the whole admission request. A function rejects the write by raising `Denied`, an API error or
ValueError; a validating function may return warnings. A mutating function changes the object in place, or returns
another. Any other exception is a bug: the write is rejected with a 500, and the process continues. A `def` function
runs in a thread, an `async def` function in the event loop.
"""

import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from setpoint.client.kinds import KindRef, kind_of, tree_of
from setpoint.controller.sync_context import is_blocking
from setpoint.controller.threads import ThreadPool
from setpoint.merge import jsonpatch, mergepatch
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object, copy
from setpoint.schema.types.crd import plural_of
from setpoint.schema.types.resource import Resource
from setpoint.server.admission.functions import AdmissionFunction, MutatingFunction, ValidatingFunction, rule
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse, UserInfo, allow, deny
from setpoint.server.ports import CREATE, DELETE, UPDATE

Function = Callable[..., Any]
# The class of the objects.
K = TypeVar("K")

_log = logging.getLogger(__name__)


class Denied(Exception):  # noqa: N818 - named after the outcome
    """Rejects a write with a message, a status code and a reason.

    raise Denied("at most 10 replicas", code=422, reason="Invalid")
    """

    def __init__(self, message: str, *, code: int = 403, reason: str = "Forbidden") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


@dataclass(frozen=True)
class Question:
    """The admission request of a write.

    @validate(Website)
    def checked(website: Website, question: Question) -> None:
        if question.operation == "UPDATE" and website.spec.name != question.old.spec.name:
            raise Denied("the name is immutable")
    """

    request: AdmissionRequest
    # The old object on UPDATE; the object to delete on DELETE.
    old: Any

    @property
    def operation(self) -> str:
        """CREATE, UPDATE, DELETE or CONNECT."""
        return self.request.operation

    @property
    def user(self) -> UserInfo:
        return self.request.user

    @property
    def dry_run(self) -> bool:
        return self.request.dry_run


# A function of an object, or of an object and the question.
FunctionOf: TypeAlias = Callable[[K], Any] | Callable[[K, Question], Any]


class _Asked(NamedTuple):
    """The question to a function: the object as sent, and as passed to the function."""

    tree: Object
    before: Object
    object: Any
    arguments: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class AdmissionWebhook:
    """An admission function for the objects of a kind, with its matching rules. See `validate` and `default`."""

    ref: KindRef
    function: Function
    mutates: bool
    operations: Sequence[str]
    path: str
    name: str
    subresources: Sequence[str] = ()
    failure_policy: str = "Fail"
    # Further matching fields: `objectSelector`, `namespaceSelector`, `matchConditions`, `timeoutSeconds`, …
    match: Object | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Calls the decorated function directly."""
        return self.function(*arguments)

    @cached_property
    def is_blocking(self) -> bool:
        """True for a `def` function, which runs in a thread."""
        return is_blocking(self.function)

    async def decide(self, request: AdmissionRequest, threads: ThreadPool | None = None) -> AdmissionResponse:
        """Returns the decision of the function. Never raises. A `def` function runs in one of the threads, if any."""
        if self.is_blocking:
            return (
                self.decide_now(request) if threads is None else await threads.run(lambda _: self.decide_now(request))
            )
        try:
            asked = self._asked(request)
            answer = None if asked is None else self.function(*asked.arguments)
            return self._response(asked, await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:
            return self._refusal(error)

    def decide_now(self, request: AdmissionRequest) -> AdmissionResponse:
        """Returns the decision of a `def` function. Never raises."""
        try:
            asked = self._asked(request)
            found = None if asked is None else self.function(*asked.arguments)
            if inspect.isawaitable(found):
                raise TypeError("the function is defined with `def` and returned an awaitable: use `async def`")
            return self._response(asked, found)
        except Exception as error:
            return self._refusal(error)

    def _asked(self, request: AdmissionRequest) -> "_Asked | None":
        """Returns the arguments of the function; None for a request without an object."""
        tree = request.old_object if request.operation == DELETE else request.object
        if tree is None:
            return None
        obj = self.ref.read(copy(tree))
        # Changes from decoding and encoding are not changes of the function.
        before = copy(tree_of(obj))
        old = None if request.old_object is None else self.ref.read(copy(request.old_object))
        return _Asked(tree, before, obj, (obj, Question(request, old))[: _arguments_of(self.function)])

    def _response(self, asked: "_Asked | None", found: Any) -> AdmissionResponse:
        if asked is None:
            return allow()
        if not self.mutates:
            return allow(warnings=_warnings(found))
        after = tree_of(asked.object if found is None else found)
        changed = mergepatch.apply(copy(asked.tree), mergepatch.diff(asked.before, after))
        return allow(patch=jsonpatch.diff(asked.tree, changed))

    def _refusal(self, error: Exception) -> AdmissionResponse:
        if isinstance(error, Denied):
            return deny(str(error), code=error.code, reason=error.reason)
        if isinstance(error, APIError):
            return AdmissionResponse(False, error.to_status())
        if isinstance(error, ValueError):
            return deny(str(error))
        _log.error("webhook %s failed", self.name, exc_info=error)
        why = f"{type(error).__name__}: {error}"
        return replace(deny(f"the webhook failed: {why}", code=500, reason="InternalError"), failure=error)

    def in_process(self) -> AdmissionFunction:
        """Returns the function for a control plane in this process (`ControlPlane(admission=…)`)."""
        gvk = self.ref.gvk
        rules = [
            rule(
                self.resources(_plural(self.ref)),
                groups=[gvk.group],
                versions=[gvk.version],
                operations=self.operations,
            )
        ]
        match = {name: value for name, value in (self.match or {}).items() if name in _MATCHED_IN_PROCESS}
        made = MutatingFunction if self.mutates else ValidatingFunction
        decide = self.decide_now if self.is_blocking else self.decide
        return made(self.name, decide, rules, match, in_thread=self.is_blocking)

    def resources(self, plural: str) -> list[str]:
        """Returns the resources of the rule: the resource, or its subresources."""
        return [f"{plural}/{name}" for name in self.subresources] or [plural]


_MATCHED_IN_PROCESS = ("matchPolicy", "namespaceSelector", "objectSelector")


@overload
def validate(
    kind: type[K] | GroupVersionKind | str | KindRef,
    *,
    operations: Sequence[str] = ...,
    subresources: Sequence[str] = ...,
    path: str = "",
    name: str = "",
    failure_policy: str = "Fail",
    match: Object | None = None,
) -> Callable[[FunctionOf[K]], AdmissionWebhook]: ...
@overload
def validate(kind: Resource, /) -> None: ...
def validate(
    kind: Any,
    *,
    operations: Sequence[str] = (CREATE, UPDATE),
    subresources: Sequence[str] = (),
    path: str = "",
    name: str = "",
    failure_policy: str = "Fail",
    match: Object | None = None,
) -> Callable[[FunctionOf[Any]], AdmissionWebhook] | None:
    """Declares a function that validates the objects of a kind.

    @validate(Website)
    def checked(website: Website) -> None:
        if website.spec.replicas > 10:
            raise Denied("at most 10 replicas")

    With an object instead of a kind, validates the object at once, without a server: by the schema and the rules of its
    class. Raises Invalid.

        validate(Website(spec=WebsiteSpec(replicas=-1)))
    """
    if isinstance(kind, Resource):
        from setpoint.schema.types import local_validation  # compiles schemas, which webhooks do not need

        local_validation.validate(kind)
        return None

    def made(function: Function) -> AdmissionWebhook:
        return _made(function, kind, False, operations, subresources, path, name, failure_policy, match)

    return made


def default(
    kind: type[K] | GroupVersionKind | str | KindRef,
    *,
    operations: Sequence[str] = (CREATE, UPDATE),
    subresources: Sequence[str] = (),
    path: str = "",
    name: str = "",
    failure_policy: str = "Fail",
    match: Object | None = None,
) -> Callable[[FunctionOf[K]], AdmissionWebhook]:
    """Declares a function that sets defaults in the objects of a kind.

    @default(Website)
    def filled(website: Website) -> None:
        website.spec.color = website.spec.color or "red"
    """

    def made(function: Function) -> AdmissionWebhook:
        return _made(function, kind, True, operations, subresources, path, name, failure_policy, match)

    return made


def _made(
    function: Function,
    kind: type[Any] | GroupVersionKind | str | KindRef,
    mutates: bool,
    operations: Sequence[str],
    subresources: Sequence[str],
    path: str,
    name: str,
    failure_policy: str,
    match: Object | None,
) -> AdmissionWebhook:
    ref = kind_of(kind)
    _arguments_of(function)
    verb = "mutate" if mutates else "validate"
    return AdmissionWebhook(
        ref=ref,
        function=function,
        mutates=mutates,
        operations=tuple(operations),
        path=path or path_of(verb, ref.gvk),
        name=name or f"{verb}.{ref.gvk.kind.lower()}.{ref.gvk.group or 'core.k8s.io'}",
        subresources=tuple(subresources),
        failure_policy=failure_policy,
        match=match,
    )


def path_of(verb: str, gvk: GroupVersionKind) -> str:
    """Returns the path of a webhook for a kind, as in controller-runtime."""
    return f"/{verb}-{gvk.group.replace('.', '-')}-{gvk.version}-{gvk.kind.lower()}"


def in_process(webhooks: Iterable[AdmissionWebhook]) -> list[AdmissionFunction]:
    """Returns admission functions for a control plane in this process.

    plane = ControlPlane(admission=in_process([checked, filled]))
    """
    return [webhook.in_process() for webhook in webhooks]


def _plural(ref: KindRef) -> str:
    given = ref.cls.__resource__.plural if ref.cls is not None else ""
    return given or plural_of(ref.gvk.kind.lower())


def _arguments_of(function: Function) -> int:
    """Returns the number of arguments of a function: the object, or the object and the question. Raises TypeError."""
    parameters = inspect.signature(function).parameters.values()
    wanted = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in wanted if each.default is each.empty]
    if not wanted or len(needed) > 2:
        raise TypeError(f"{function!r} has the wrong signature: expected (object) or (object, question)")
    return min(len(wanted), 2)


def _warnings(found: object) -> list[str]:
    if found is None:
        return []
    if isinstance(found, str):
        return [found]
    if isinstance(found, Iterable):
        return [str(each) for each in found]
    raise TypeError(f"a validating function must return None or warnings, not {found!r}")
