"""Protocols that separate the parts of a server, and the values that they exchange.

The context of a request holds every part, and most parts need the context, so each side depends only on the protocols
in this module. `ContextT` and `ServicesT` stand for the classes of `server.request.context`, which binds them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeVar

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.server.message import Request, Response
from setpoint.server.registry.conversion.pending import ConvertedObjects
from setpoint.server.registry.indexes import View
from setpoint.server.registry.resource import Resource
from setpoint.server.requestinfo import RequestInfo
from setpoint.store.contract import Item, Selection, Write

ContextT = TypeVar("ContextT", contravariant=True)
ServicesT = TypeVar("ServicesT", contravariant=True)

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class PastCopies(Protocol):
    """Copies of past values outside of the store, from which a purge removes values as well."""

    async def has(self, key: str) -> bool:
        """Returns True if there is a copy of an object."""

    async def purge(self, selection: Selection) -> int:
        """Removes the selected values, and returns their number. Raises OSError."""


class User(NamedTuple):
    """The user of a request."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}


class Accepted(NamedTuple):
    """The user of a token, and those of the requested audiences that the token is valid for."""

    user: User
    audiences: Sequence[str] = ()


class Authenticator(Protocol[ServicesT]):
    """Finds the user of a request."""

    def attach(self, services: ServicesT) -> None:
        """Sets the services of the server. Called once, before the first request."""

    async def authenticate(self, request: Request, info: RequestInfo) -> User | None:
        """Returns the user, or None if the credentials are wrong. Raises Forbidden if the request requires
        credentials."""

    async def review(self, token: str, audiences: Sequence[str]) -> Accepted:
        """Returns the user of a token and the audiences, of those given, that the token is valid for. Without
        audiences, the token must be valid for this server. Raises TokenError."""


class Decision(NamedTuple):
    """The decision of an authorizer, with the reason that a rejected client receives."""

    allowed: bool
    reason: str = ""


class UserRules(NamedTuple):
    """All policy rules of a user in one namespace, in the form that roles have, and the errors of rules that could not
    be resolved."""

    rules: Sequence[Object]
    errors: Sequence[str] = ()


ALLOWED = Decision(True)


class Authorizer(Protocol[ServicesT]):
    """Decides about the requests of one server. Call `prepare` before `decide` or `rules`: these two do no I/O, because
    an expression of a policy may call them many times."""

    def attach(self, services: ServicesT) -> None:
        """Sets the services of the server. Called once, before the first request."""

    async def prepare(self, user: User | None = None) -> None:
        """Reads the data for decisions about a user, or about any user if None is given."""

    def decide(self, user: User, info: RequestInfo) -> Decision:
        """Decides if a user is allowed to send a request."""

    def rules(self, user: User, namespace: str) -> UserRules:
        """Returns the rules of a user in a namespace."""


class TokenReference(NamedTuple):
    """An object that a claim of a token refers to."""

    name: str
    uid: str = ""

    def to_claim(self) -> Object:
        return {"name": self.name, "uid": self.uid} if self.uid else {"name": self.name}


class TokenLifetime(NamedTuple):
    """The lifetime of a token in seconds, and the age after which a client should have replaced the token (0: no such
    age)."""

    seconds: int
    warn_after: int = 0


class TokenIssuer(Protocol):
    """Issues the tokens of service accounts."""

    @property
    def names(self) -> Sequence[str]:
        """The issuers whose tokens this server accepts; the first one issues."""

    @property
    def audiences(self) -> Sequence[str]:
        """The audiences of this server: a token must name one of them to be accepted."""

    @property
    def max_expiration_seconds(self) -> int:
        """The maximum lifetime of a token in seconds; 0 for no maximum."""

    def keys(self, kid: str) -> Sequence[Any]:
        """Returns the keys with this key ID, or all keys if the ID is empty."""

    def lifetime(self, seconds: int, audiences: Sequence[str], *, for_pod: bool) -> TokenLifetime:
        """Returns the lifetime of a token for a requested number of seconds."""

    def issue(
        self,
        namespace: str,
        account: TokenReference,
        *,
        audiences: Sequence[str],
        lifetime: TokenLifetime,
        now: float,
        jti: str,
        bound: dict[str, TokenReference],
    ) -> str:
        """Returns a token of a service account. `bound` maps claim names to the objects that end the token when they
        are deleted."""

    def configuration(self, address: str) -> Object:
        """Returns the OpenID discovery document. `address` is the host and port that the client connected to."""

    def keyset(self) -> Object:
        """Returns the public keys."""


@dataclass(slots=True)
class Operation:
    """One write, as admission plugins receive it. While mutating, a plugin may change `object` in place or replace it.

    The object has the version of the request. A plugin that inserts content which has not been decoded and defaulted
    (the patch of a webhook) passes the result to `admission.object_replacement.replace`.
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
    # Set by a plugin that changed the object after other plugins had run: plugins that want reinvocation run once more.
    reinvoke: bool = False
    # True during that second run.
    is_reinvoked: bool = False
    # State that a plugin keeps from the first run to the second, by plugin name.
    plugin_state: dict[str, Any] = field(default_factory=dict)
    # Keeps the converted objects cached, in the version that a webhook is about to receive.
    converted: ConvertedObjects = ()

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of the written object: the resource's own, or that of a subresource (a Scale, an Eviction)."""
        return self.resource.kind_at(self.subresource)


class Admission(Protocol[ContextT]):
    """A plugin, or a chain of plugins. Both methods raise an APIError to reject the write."""

    async def mutate(self, context: ContextT, operation: Operation) -> None:
        """Changes or rejects the object."""

    async def validate(self, context: ContextT, operation: Operation) -> None:
        """Rejects an invalid object. Must not change the object."""


class Reaction(Protocol[ContextT]):
    """Runs after writes of some resources, before the response is sent, as a very fast controller would."""

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        """Returns True if this reaction runs after the writes of a resource or, with `deletes`, after the removal of
        its objects."""

    async def after_write(self, context: ContextT, resource: Resource, tree: Object) -> None:
        """Runs after an object was created or updated, or marked for deletion."""

    async def after_delete(self, context: ContextT, resource: Resource, tree: Object) -> None:
        """Runs after an object was removed."""


class Definitions(Protocol):
    """Serves the resources of CustomResourceDefinitions."""

    async def load(self) -> None:
        """Serves the definitions in the store."""

    async def follow(self) -> None:
        """Serves the definitions that other servers write to the same store, until the store is closed."""

    @property
    def terminating(self) -> Collection[str]:
        """The names of the definitions that are being deleted. They accept no new instances."""

    def clear_conversions(self) -> None:
        """Clears the cache of converted objects."""


class Quotas(Protocol):
    """The quotas of a server."""

    # All quotas; None until they are first requested.
    view: View[Any] | None


class QuotaLedger(Protocol):
    """Counts the usage of the quotas of namespaces."""

    @property
    def quotas(self) -> Quotas:
        """The quotas of the server."""

    async def check(self, operation: Operation) -> None:
        """Rejects a write that exceeds a quota, as far as this can be known before the write."""

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
        also: Sequence[Write],
    ) -> int:
        """Commits a write with the writes in `also`, and charges the usage to the quotas. Raises Forbidden if a quota
        is exceeded."""

    async def recount(self, namespace: str, name: str) -> None:
        """Recounts the usage of one quota."""

    async def recount_all(self) -> None:
        """Recounts the usage of every quota."""

    def close(self) -> None:
        """Stops all recounts that are in progress."""


class ProgressReporter(Protocol):
    """A watch that can report its progress."""

    def send_bookmarks(self) -> None:
        """Sends a bookmark if the client requested bookmarks and the watch has caught up with the log."""


class Login(NamedTuple):
    """A one-time token for the dashboard, and the time at which it expires."""

    token: str
    expires: datetime


class LoginHost(Protocol):
    """Creates the logins of browsers to the dashboard."""

    def create(self, user: User, seconds: int) -> Login:
        """Creates a login of a user. Raises TooManyRequests if other users have too many."""


class Fork(NamedTuple):
    """A copy of the control plane that this server serves."""

    name: str
    revision: int
    user: str
    # The times of the creation and of the end (RFC 3339).
    created: str
    expires: str
    # The bytes of the copied past, and those of the received writes.
    size: int
    received: int


class ForkHost(Protocol):
    """Creates and serves the forks of a control plane."""

    @property
    def forks(self) -> Sequence[Fork]:
        """The current forks, oldest first."""

    async def create(self, at: int, seconds: int, user: str) -> Fork:
        """Creates a fork at a revision, for a number of seconds. Raises Forbidden if there would be too many forks or
        bytes, and TooEarly or TooLate."""

    async def delete(self, name: str) -> None:
        """Ends a fork."""

    async def send(self, name: str, request: Request, user: User) -> Response:
        """Returns the response of a fork to the request of a user. Raises Forbidden if the fork has received too many
        bytes."""
