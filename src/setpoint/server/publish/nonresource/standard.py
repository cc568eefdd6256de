"""The handlers of all paths that are not resources, for `Serving(pages=...)`."""

from collections.abc import Sequence

from setpoint.server.publish.discovery.documents import Discovery
from setpoint.server.publish.nonresource.health import Check, Health
from setpoint.server.publish.nonresource.index import Index
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.openid import PATHS as OPENID_PATHS
from setpoint.server.publish.nonresource.openid import OpenIDPages
from setpoint.server.publish.nonresource.version import VersionPage
from setpoint.server.publish.openapi.documents import OpenAPI
from setpoint.server.request.observer import Plain

_PATHS = ("/metrics", "/openapi/v2", "/openapi/v3", "/version")


def standard(
    metrics: Metrics | None = None, readiness: Sequence[Check] = (), *, aggregated_discovery: bool = True
) -> Sequence[Plain]:
    """Returns the handlers of discovery, OpenAPI, version, health, metrics and the index of paths.

    `metrics` is the observer of the server's requests (`Server(observer=...)`); `readiness` are additional checks for
    `/readyz`; without `aggregated_discovery` clients read discovery group by group. Each server needs a sequence of its
    own.
    """
    health = Health(readiness)
    index = Index(lambda services: [*_PATHS, *OPENID_PATHS, *health.paths(services)])
    pages = (VersionPage(), OpenIDPages(), metrics or Metrics())
    return (health, Discovery(aggregated_discovery), OpenAPI(), *pages, index)
