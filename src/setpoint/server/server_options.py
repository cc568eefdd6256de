"""The options of an API server, grouped by subject."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from setpoint.server.access.authentication.token_issuer import Issuer
from setpoint.server.access.flowcontrol.flow_control_settings import FlowControlSettings
from setpoint.server.registry.kinds.core.service.allocator import SERVICE_CIDR
from setpoint.server.request.context import EVENT_SECONDS, HISTORY_SECONDS, Authenticator, Authorizer
from setpoint.server.request.extension import Endpoints, Extension
from setpoint.server.request.observer import Plain

if TYPE_CHECKING:
    from setpoint.server.access.audit.auditor import Auditor
    from setpoint.server.apiextensions.custom_resources import CustomStrategy
    from setpoint.server.dashboard.settings import DashboardSettings
    from setpoint.server.registry.resource import Resource


@dataclass(frozen=True)
class AccessControl:
    """The components that authenticate, authorize and record requests."""

    authenticator: Authenticator | None = None
    """By default, every request is the administrator's."""

    issuer: Issuer | None = None
    """Signs the tokens of service accounts."""

    authorizer: Authorizer | None = None
    """By default RBAC."""

    auditor: "Auditor | None" = None
    """Records requests."""


@dataclass(frozen=True)
class Serving:
    """Additions to the served API, and the restriction to reads."""

    subresources: Sequence[Extension] = ()
    """Subresources of custom resources."""

    endpoints: Endpoints = ()
    """Paths of the group `setpoint.dev` in addition to the server's own."""

    pages: Sequence[Plain] = ()
    """Handlers of paths that are not resources. The first handler that knows a path answers."""

    strategies: Mapping[str, "type[CustomStrategy]"] = field(default_factory=dict)
    """The rules of custom resources, by group, of groups with rules of their own."""

    shows: "Callable[[Resource], bool] | None" = None
    """Returns True for the resources that other processes can use and discover; by default all. Requests of this
    process use all resources."""

    dashboard: "DashboardSettings | None" = None
    """The dashboard in front of the server; by default none."""

    read_only: str = ""
    """The reason for which the server only serves the content of its store. The server then rejects every write,
    writes no objects, and calls no webhooks."""

    offline: str = ""
    """The reason for which the server calls no webhooks, such as objects from another cluster. Admission does without
    them, and custom resources with a conversion webhook are served in their storage version."""


@dataclass(frozen=True)
class ServerSettings:
    """Settings that do not change while the server runs."""

    enabled_plugins: Collection[str] = ()
    """Built-in admission plugins to enable that are off by default."""

    disabled_plugins: Collection[str] = ()
    """Built-in admission plugins to disable."""

    aggregates_roles: bool = True
    """False leaves the aggregation of ClusterRoles to another program."""

    checks_policies: bool = True
    """False leaves the status of ValidatingAdmissionPolicies to another program."""

    counts_quotas: bool = True
    """False leaves the first count of a written ResourceQuota to another program; charges are always counted."""

    service_cidr: str = SERVICE_CIDR
    """The address range of Services."""

    overload: FlowControlSettings = FlowControlSettings()  # noqa: RUF009 - immutable
    """The limits of concurrent requests."""

    event_ttl_seconds: float = EVENT_SECONDS
    """The lifetime of Events."""

    history_window_seconds: float = HISTORY_SECONDS
    """The age up to which lists and watches may read old revisions without the right to the history."""

    state_cache_bytes: int = 256 * 1024 * 1024
    """The approximate number of bytes of the objects that the server keeps in memory; other objects are read from the
    store. 0 is no cache. A store in memory needs none."""
