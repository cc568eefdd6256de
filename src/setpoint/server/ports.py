"""Protocols by which the parts of a server know each other, and the values that they hand over.

A request's context holds every part, and most parts need the context: each side knows the other by what stands here.
`ContextT` and `ServicesT` stand for the classes of `server.request.context`, which gives them their names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.server.message import Request
from setpoint.server.registry.conversion.pending import Held
from setpoint.server.registry.indexes import View
from setpoint.server.registry.resource import Resource
from setpoint.server.requestinfo import RequestInfo
from setpoint.store.contract import Item, Write

ContextT = TypeVar("ContextT", contravariant=True)
ServicesT = TypeVar("ServicesT", contravariant=True)

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class User(NamedTuple):
    """The user of a request."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}


class Accepted(NamedTuple):
    """The user of a token, and those of the audiences in question that the token is for."""

    user: User
    audiences: Sequence[str] = ()


class Authenticator(Protocol[ServicesT]):
    """Finds the user of a request."""

    def attach(self, services: ServicesT) -> None:
        """Tells the services of the server, once, before the first request."""

    async def authenticate(self, request: Request, info: RequestInfo) -> User | None:
        """Returns the user; None if the credentials are wrong. Raises Forbidden for a request that needs some."""

    async def review(self, token: str, audiences: Sequence[str]) -> Accepted:
        """Returns the user of a token, and for which of the audiences it is; this server's, where none are named.
        Raises TokenError."""


class Decision(NamedTuple):
    """The answer of an authorizer, with the reason that a refused client is told."""

    allowed: bool
    reason: str = ""


class UserRules(NamedTuple):
    """All policy rules of a user in one namespace, as roles have them, and what could not be found out."""

    rules: Sequence[Object]
    errors: Sequence[str] = ()


ALLOWED = Decision(True)


class Authorizer(Protocol[ServicesT]):
    """Decides about the requests of one server. `prepare` must have returned before `decide` or `rules` is asked, which
    are then plain computing: an expression of a policy may ask many times."""

    def attach(self, services: ServicesT) -> None:
        """Tells the services of the server, once, before the first request."""

    async def prepare(self, user: User | None = None) -> None:
        """Reads what decisions about a user need; about any user, where none is named."""

    def decide(self, user: User, info: RequestInfo) -> Decision:
        """Tells whether a user may do what a request asks."""

    def rules(self, user: User, namespace: str) -> UserRules:
        """Returns the rules of a user in a namespace."""


class TokenReference(NamedTuple):
    """An object that a token says something about."""

    name: str
    uid: str = ""

    def to_claim(self) -> Object:
        return {"name": self.name, "uid": self.uid} if self.uid else {"name": self.name}


class TokenLife(NamedTuple):
    """The seconds for which a token is good, and after which it should have been replaced (0: that is not noted)."""

    seconds: int
    warn_after: int = 0


class TokenIssuer(Protocol):
    """Issues the tokens of service accounts."""

    @property
    def names(self) -> Sequence[str]:
        """The issuers whose tokens are good at this server; the first one issues."""

    @property
    def audiences(self) -> Sequence[str]:
        """The audiences of which a token must name one to be good at this server."""

    @property
    def max_expiration_seconds(self) -> int:
        """The longest life of a token; 0 for any."""

    def keys(self, kid: str) -> Sequence[Any]:
        """Returns the keys with this id; all, without one."""

    def life(self, seconds: int, audiences: Sequence[str], *, for_pod: bool) -> TokenLife:
        """Returns the life of a token that was asked for so many seconds."""

    def issue(
        self,
        namespace: str,
        account: TokenReference,
        *,
        audiences: Sequence[str],
        life: TokenLife,
        now: float,
        jti: str,
        bound: dict[str, TokenReference],
    ) -> str:
        """Returns a token of a service account. `bound` are the objects it ends with, by their kinds in claims."""

    def configuration(self, address: str) -> Object:
        """Returns the OpenID discovery document. `address` is where this server was asked: host and port."""

    def keyset(self) -> Object:
        """Returns the public keys."""


@dataclass(slots=True)
class Operation:
    """One write as admission sees it. `object` may be changed in place, or replaced, while mutating.

    It is in the version of the request. A plugin that puts something into it that was not decoded and defaulted (a
    patch of a webhook) gives it to `admission.object_replacement.replace`.
    """

    verb: str  # CREATE, UPDATE, DELETE or CONNECT
    resource: Resource
    namespace: str
    name: str
    subresource: str
    object: Object | None
    old: Object | None
    dry_run: bool = False
    # The options of the request as an object: CreateOptions, UpdateOptions, PatchOptions or DeleteOptions.
    options: Object | None = None
    # Set by a plugin that changed the object after others had seen it: those that want to are asked once more.
    reinvoke: bool = False
    # Whether this is that second time.
    is_reinvoked: bool = False
    # What a plugin wants to remember from the first time to the second, under its own name.
    remembered: dict[str, Any] = field(default_factory=dict)
    # Keeps at hand what the objects are in the version that a webhook is about to be asked in.
    held: Held = ()

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of what is written: the resource's own, or that of a subresource (a Scale, an Eviction)."""
        return self.resource.kind_at(self.subresource)


class Admission(Protocol[ContextT]):
    """A plugin, or a chain of them. Both methods raise an APIError to refuse."""

    async def mutate(self, context: ContextT, operation: Operation) -> None:
        """May change the object."""

    async def validate(self, context: ContextT, operation: Operation) -> None:
        """May only refuse."""


class Reaction(Protocol[ContextT]):
    """Follows up writes of some resources before their answer goes out, as a very fast controller would."""

    def concerns(self, resource: Resource) -> bool:
        """Tells whether the writes of a resource are followed up."""

    async def after_write(self, context: ContextT, resource: Resource, tree: Object) -> None:
        """Follows up an object that was created or changed, or has begun to be deleted."""

    async def after_delete(self, context: ContextT, resource: Resource, tree: Object) -> None:
        """Follows up the end of an object."""


class Definitions(Protocol):
    """Serves the resources of CustomResourceDefinitions."""

    async def load(self) -> None:
        """Serves what the store has."""

    async def follow(self) -> None:
        """Serves what other servers over the same store write, until the store is closed."""

    def before_create(self, resource: Resource, name: str) -> None:
        """Refuses new instances of a definition that is being deleted."""

    def forget_conversions(self) -> None:
        """Forgets the converted objects."""


class QuotaLedger(Protocol):
    """Counts what namespaces use of their quotas."""

    @property
    def view(self) -> View[Any] | None:
        """All quotas; None until they are first asked for."""

    async def check(self, operation: Operation) -> None:
        """Refuses what is more than a quota allows, as far as one can tell before it is written."""

    async def commit(
        self,
        resource: Resource,
        write: Write,
        actor: Actor,
        cause: Cause | None,
        *,
        item: Item | None,
        new: Object | None,
        subresource: str,
    ) -> int:
        """Commits a write, and charges it to the quotas. Raises Forbidden where they do not allow it."""

    async def settle(self, namespace: str, name: str) -> None:
        """Counts what a namespace has of what one quota is about."""

    async def settle_all(self) -> None:
        """Counts for every quota."""

    def close(self) -> None:
        """Ends the counting that is under way."""


class Progress(Protocol):
    """A watch that can say how far it has come."""

    def tell_progress(self) -> None:
        """Sends a bookmark, if its client wants any and it has caught up with the log."""
