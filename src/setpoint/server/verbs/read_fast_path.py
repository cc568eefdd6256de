"""A fast path for repeated reads: the decisions for one request of a client are reused for its next requests, as long
as their inputs are unchanged.

A client that reads many objects of one collection sends the same credentials and headers each time, so authentication,
authorization and content negotiation need not be repeated for every object. A `Repeat` holds the decisions that the
stages of the pipeline made; it answers for objects in the memory of the store, and returns all other requests to the
pipeline. It is used only for users that are exempt from flow control, and only if requests are not audited.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from setpoint.server.codec.protobuf_form import ProtobufForm
from setpoint.server.message import Request, Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.store.contract import Item

if TYPE_CHECKING:
    from setpoint.server.request.observer import RequestObserver

# The seconds after which decisions are made again even without a known change.
MOMENT = 1.0
# Larger responses may be sent compressed.
_LARGE = 64 << 10
_FOUND = Response(200, "application/json")


@runtime_checkable
class PeekableStore(Protocol):
    """A store that can return the value of a key without waiting. If other servers write to the store, the value may be
    older than acknowledged writes."""

    def peek(self, key: str) -> Item | None: ...


@runtime_checkable
class Standing(Protocol):
    """An authenticator that knows how long a result remains valid."""

    # Replaced by another object whenever the same credentials may belong to another user, or become invalid.
    epoch: object

    def stands(self, request: Request, seconds: float) -> bool:
        """Returns True if the same request would be authenticated for further `seconds`, while `epoch` stays the
        same."""


class Repeat:
    """Answers reads of the objects of one collection as the pipeline would. Only for members of `system:masters`, whose
    rights depend on no stored object."""

    __slots__ = (
        "_authenticator",
        "_context",
        "_epoch",
        "_form",
        "_observer",
        "_prefix",
        "_registry",
        "_resource",
        "_store",
        "when_fresh",
    )

    def __init__(
        self,
        context: Context,
        resource: Resource,
        store: PeekableStore,
        observer: "RequestObserver | None",
        authenticator: Standing,
        epoch: object,
        form: ProtobufForm | None = None,
    ) -> None:
        """`epoch` is the authenticator's epoch from before the user of the context was authenticated. Without a form,
        objects are answered as JSON."""
        self._context = context
        self._form = form
        self._authenticator = authenticator
        self._epoch = epoch
        self._resource = resource
        self._store = store
        self._observer = observer
        self._registry = context.registry.whole
        self._prefix = resource.storage.key(context.info.namespace, "")
        # Calls a function when `read` may be called, with False if `read` would return an old state; None if `read`
        # always returns the newest one.
        self.when_fresh: Callable[[Callable[[bool], None]], None] | None = None

    def read(self, name: str) -> bytes | None:
        """Returns the body of the response, or None if the request must go through the pipeline, for example because
        the path has a query or escaped characters."""
        if self._context.services.registry is not self._registry or "%" in name or "?" in name or not name:
            return None
        if self._authenticator.epoch is not self._epoch:
            return None
        item = self._store.peek(self._prefix + name)
        if item is None or len(item.value) > _LARGE:
            return None
        if self._observer is not None:
            self._observer.observe(self._context, _FOUND, 0.0)
        if self._form is not None:
            return self._form.stored_object(item)
        return self._resource.render(item.value, item.revision) + b"\n"

    def audit_id(self) -> str:
        """Returns a new audit ID for the response."""
        return self._context.services.ids.uid()
