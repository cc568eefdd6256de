"""What one request carries along: who asks for what, the services that answer, and what to tell beside the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import parse_qs

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.provenance import Actor, Cause
from setpoint.server.exchange import Request
from setpoint.server.registry import Registry
from setpoint.server.requestinfo import RequestInfo
from setpoint.store.contract import Store

if TYPE_CHECKING:
    from setpoint.server.admission import Admission
    from setpoint.server.authorize import Authorizer
    from setpoint.server.definitions import Definitions

_NO_QUERY: Mapping[str, Sequence[str]] = {}


class User(NamedTuple):
    """Who asks."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}


class Authenticator(Protocol):
    """Finds out who asks. None: the credentials are wrong."""

    async def authenticate(self, request: Request) -> User | None: ...


@dataclass(eq=False)
class Services:
    """What the verbs work with. One for each server; the registry in it is replaced when a definition changes."""

    store: Store
    clock: Clock
    ids: Ids
    registry: Registry
    admission: "Admission" = field(repr=False)
    definitions: "Definitions" = field(repr=False)
    authenticator: Authenticator = field(repr=False)
    authorizer: "Authorizer" = field(repr=False)


class Context:
    """One request on its way through the pipeline."""

    __slots__ = ("_query", "audit_id", "info", "registry", "request", "services", "user", "warnings")

    def __init__(self, services: Services, request: Request, info: RequestInfo, user: User, audit_id: str) -> None:
        self.services = services
        # The registry as it was when the request came: one request sees one registry.
        self.registry = services.registry
        self.request = request
        self.info = info
        self.user = user
        self.audit_id = audit_id
        # The texts of the Warning headers, in order.
        self.warnings: dict[str, None] = {}
        self._query: Mapping[str, Sequence[str]] | None = None

    @property
    def query(self) -> Mapping[str, Sequence[str]]:
        """The query parameters, each with all its values."""
        if self._query is None:
            text = self.request.query
            self._query = parse_qs(text, keep_blank_values=True) if text else _NO_QUERY
        return self._query

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty where it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    def warn(self, text: str) -> None:
        """Tells the client something in a Warning header, once."""
        self.warnings[text] = None

    def actor(self, field_manager: str = "") -> Actor:
        """Who the log says did it."""
        user = self.user
        return Actor(user.name, tuple(user.groups), user.uid, field_manager)

    @property
    def cause(self) -> Cause:
        """What the log says it came from."""
        return Cause.request(self.audit_id)
