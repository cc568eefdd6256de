"""Documents that do not depend on objects: discovery, OpenAPI, health and version."""

from collections.abc import Iterator

from tests.oracle.canonical import Names
from tests.oracle.episode import Finding, Outcome
from tests.oracle.kinds import served
from tests.oracle.pair import Pair
from tests.oracle.request import NO_EPISODE, Request

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PATHS = (
    *("/", "/api", "/apis", "/api/v1", "/version", "/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/nope"),
    *("/openapi/v2", "/openapi/v3", "/.well-known/openid-configuration", "/nope", "/api/v2", "/apis/nope"),
    *(
        "/apis/apps/v2",
        "/api/",
        "/apis/",
        "/version/",
        "/api/v1/nope",
        "/metrics/nope",
        "/logs",
        "/ui",
        "/api/v1/componentstatuses",
    ),
)


def documents(pair: Pair) -> Iterator[Outcome]:
    """Compares every document, for several users and forms."""
    requests = [Request("GET", path, kind="documents", verb="get", subresource=path) for path in _PATHS]
    for path in ("/api", "/apis"):
        headers = (("Accept", _AGGREGATED),)
        requests.append(Request("GET", path, headers=headers, kind="documents", verb="get", subresource="aggregated"))
    for user in ("viewer", "nobody", "anonymous", "stranger"):
        paths = ("/", "/api", "/apis", "/version", "/healthz", "/readyz", "/metrics", "/openapi/v2")
        requests += [Request("GET", path, user=user, kind="documents", verb="get", subresource=path) for path in paths]
    for version in served(pair.asks(0)):
        requests.append(Request("GET", f"/{version}", kind="documents", verb="get", subresource="discovery"))
        requests.append(
            Request("GET", f"/openapi/v3/{version}", kind="documents", verb="get", subresource="openapi v3")
        )
    for request in requests:
        real, compared, _ = pair.compared(request, (Names(), Names()), NO_EPISODE)
        yield Outcome(request, real.code, Finding((request,), compared) if compared.differences else None)
