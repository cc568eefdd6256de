"""Reads that repeat: what is decided for one request of a client holds for its next one, as long as nothing changes
that it was decided by.

A client that reads objects of one collection over and over says the same about itself each time: who it is, what it may
do and in which form it wants its answer need not be found out again for every object. A `Repeat` is what was decided,
by the stages of the pipeline themselves; it answers for objects that the store has at hand, and hands everything else
back to the pipeline. It is for those who are exempt from fair sharing, and only where nobody keeps books of requests.
"""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from setpoint.server.message import Request, Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.store.contract import Item

if TYPE_CHECKING:
    from setpoint.server.request.observer import Observer

# After how many seconds a decision is made anew although nothing is known to have changed.
MOMENT = 1.0
# Larger answers may be sent compressed.
_LARGE = 64 << 10
_FOUND = Response(200, "application/json")


@runtime_checkable
class AtHand(Protocol):
    """A store that can tell what a key has without waiting."""

    def peek(self, key: str) -> Item | None: ...


@runtime_checkable
class Standing(Protocol):
    """An authenticator that can tell how long what it found out holds."""

    # Another object whenever the same credentials may mean somebody else, or nobody.
    epoch: object

    def stands(self, request: Request, seconds: float) -> bool:
        """Tells whether a request would be authenticated again for some seconds, as long as `epoch` is the same."""


class Repeat:
    """Answers for the objects of one collection as the pipeline would. It is for members of `system:masters` alone,
    whose rights depend on who they are and on nothing else."""

    __slots__ = ("_authenticator", "_context", "_epoch", "_observer", "_prefix", "_registry", "_resource", "_store")

    def __init__(
        self,
        context: Context,
        resource: Resource,
        store: AtHand,
        observer: "Observer | None",
        authenticator: Standing,
        epoch: object,
    ) -> None:
        """`epoch` is the authenticator's from before the user of the context was found out."""
        self._context = context
        self._authenticator = authenticator
        self._epoch = epoch
        self._resource = resource
        self._store = store
        self._observer = observer
        self._registry = context.registry
        self._prefix = resource.storage.key(context.info.namespace, "")

    def read(self, name: str) -> bytes | None:
        """The answer's body; None: ask the pipeline. What a path may say beside a name is for the pipeline to read."""
        if self._context.services.registry is not self._registry or "%" in name or "?" in name or not name:
            return None
        if self._authenticator.epoch is not self._epoch:
            return None
        item = self._store.peek(self._prefix + name)
        if item is None or len(item.value) > _LARGE:
            return None
        if self._observer is not None:
            self._observer.observe(self._context, _FOUND, 0.0)
        return self._resource.render(item.value, item.revision) + b"\n"

    def audit_id(self) -> str:
        """What names the request in the answer."""
        return self._context.services.ids.uid()
