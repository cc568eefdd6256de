"""Every served route as several users, against a model of RBAC that knows nothing of the server."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.authorization.cluster import Cluster, binding, role, rule
from tests.server.rights import model
from tests.server.rights.model import Row, Rule

from setpoint.plane.own_endpoints import OwnEndpoints
from setpoint.server import routes
from setpoint.server.app import Server
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.server_options import Serving
from setpoint.workload.kinds.definitions import definitions
from setpoint.workload.subresources.endpoints import WorkloadEndpoints

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = yaml.safe_load(Path(__file__).with_name("rights.yaml").read_text())
ROWS = list(model.rows(TABLE))
GROUPS = tuple(sorted({row.group for row in ROWS} - {model.OWN}))
CUSTOM = {tree["spec"]["group"] for tree in definitions()}
NAMESPACES = ("own", "other")
NAME = "nobody"
# A refusal of the authorizer, and not of admission.
REFUSED = re.compile(r'User "[^"]*" cannot \w+ (resource|path)')

READ = Rule("get list watch", GROUPS, "*")
HISTORY = Rule("get", (model.OWN,), "*/history")
USERS: dict[str, list[Rule]] = {
    # Everything, in one namespace.
    "tenant": [Rule("*", ("*",), "*", namespace="own")],
    # The present, everywhere; and the present and the past, everywhere and in one namespace.
    "reader": [READ],
    "historian": [READ, HISTORY],
    "archivist": [READ._replace(namespace="own"), HISTORY._replace(namespace="own")],
    "system:anonymous": [],
}


@pytest.fixture
async def cluster() -> Cluster:
    """Provides a server with all kinds, the namespaces and the users."""
    cluster = Cluster()
    serving = Serving(WorkloadEndpoints().extensions, endpoints=OwnEndpoints().endpoints, pages=standard(Metrics()))
    cluster.server = Server(cluster.store, clock=cluster.clock, serving=serving)
    await cluster.server.start()
    for tree in definitions():
        assert (await cluster("POST", DEFINITIONS, tree)).status == 201
    for namespace in NAMESPACES:
        tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        assert (await cluster("POST", "/api/v1/namespaces", tree)).status == 201
    for user, rules in USERS.items():
        for place, each in enumerate(rules):
            name = f"{user}-{place}"
            groups = " ".join(group or "-" for group in each.groups)
            await cluster.made(role(name, rule(each.verbs, each.resources, groups=groups)))
            bound = binding(name, user, to=name, cluster_role=True, namespace=each.namespace)
            await cluster.made(bound, each.namespace)
    return cluster


async def ask(cluster: Cluster, user: str, method: str, path: str, **query: str) -> tuple[int, str]:
    """Sends a request that changes nothing; returns the status and the message of the answer."""
    groups = ["system:unauthenticated"] if user == "system:anonymous" else []
    body: Any = {} if method in ("POST", "PUT", "PATCH") else None
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    if method != "GET":
        query["dryRun"] = "All"
    answer = await cluster(method, path, body, user=user, groups=groups, kind=kind, **query)
    return answer.status, str(answer.body.get("message", "")) if isinstance(answer.body, dict) else str(answer.body)


async def test_every_route_of_the_server_has_a_row_and_every_row_a_route(cluster: Cluster) -> None:
    served = {
        Row(group, version, resource, in_namespace, named, subresource, verb)
        for group, version, resource, (in_namespace, named, subresource), verb in routes.rows(
            cluster.server.services.registry
        )
    }
    assert served - set(ROWS) == set(), "add them to rights.yaml, with the rights they need in model.py"
    assert set(ROWS) - served == set()
    # Discovery names every resource and subresource that is served; the endpoints of setpoint.dev it does not name.
    for row in ROWS:
        if row.group == model.OWN:
            continue
        where = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
        found = await cluster("GET", where)
        names = {each["name"] for each in found.body["resources"]}
        assert (f"{row.resource}/{row.subresource}" if row.subresource else row.resource) in names


async def test_every_route_is_allowed_to_whom_the_model_allows_it_and_to_nobody_else(cluster: Cluster) -> None:
    wrong: list[Any] = []
    counted = {True: 0, False: 0}
    for row in ROWS:
        for namespace in NAMESPACES if row.in_namespace else ("",):
            for at in (False, True) if row.verb in ("get", "list") and row.group != model.OWN else (False,):
                query = {**row.query, **({"at": str(await cluster.store.revision())} if at else {})}
                for user, rules in USERS.items():
                    wanted = model.rights(row, namespace, NAME, at=at)
                    expected = model.is_allowed(rules, wanted, authenticated=user != "system:anonymous")
                    status, message = await ask(cluster, user, row.method, row.path(namespace, NAME), **query)
                    refused = status == 403 and REFUSED.search(message) is not None
                    unreached = status == 405 or (status == 404 and "could not find the requested" in message)
                    counted[expected] += 1
                    if refused == expected or (expected and unreached):
                        wrong.append((user, row, namespace, at, status, message))
    assert not wrong, wrong[:20]
    # Both answers occur in number, or the comparison would say nothing.
    assert min(counted.values()) > 1000, counted


async def test_the_past_is_only_for_reads(cluster: Cluster) -> None:
    for row in ROWS:
        if row.verb in ("get", "list") or row.group == model.OWN:
            continue
        query = {**row.query, "at": "1"}
        status, message = await ask(cluster, "", row.method, row.path("own", NAME), **query)
        assert (status, "at is supported for get and list only" in message) == (400, True), (row, status, message)


@pytest.mark.slow
async def test_a_path_without_a_row_reaches_no_verb(cluster: Cluster) -> None:
    paths = {row.path(namespace, NAME) for row in ROWS for namespace in NAMESPACES}
    known = {(row.method, row.path(namespace, NAME)) for row in ROWS for namespace in NAMESPACES}
    strange = set()
    for row in ROWS:
        # The scope that the resource does not have, and a path that goes on where it should end.
        strange.add(row._replace(in_namespace=not row.in_namespace).path("own", NAME))
        if not row.in_namespace:
            strange.add(row._replace(in_namespace=True).path("own", "own"))
        # The path below the status or the scale of a custom resource is that subresource, as on kube-apiserver.
        if row.subresource != "proxy" and not (row.group in CUSTOM and row.subresource in ("status", "scale")):
            strange.add(row.path("own", NAME) + "/further/below" if row.named else row.path("own", NAME) + "/a/b/c")
    strange -= paths | {row.path("own", "own") for row in ROWS}
    assert "/api/v1/namespaces/own/namespaces/own" in strange
    assert "/apis/setpoint.dev/v1/namespaces/own/revisions" in strange
    assert "/apis/setpoint.dev/v1/namespaces/own/ownership" in strange
    before = await cluster.store.revision()
    for path in sorted(strange):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            status, message = await ask(cluster, "", method, path)
            assert status in (404, 405), (method, path, status, message)
            status, message = await ask(cluster, "tenant", method, path)
            assert status in (403, 404, 405), (method, path, status, message)
    for path in sorted(paths):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"):
            if (method, path) not in known:
                status, message = await ask(cluster, "", method, path)
                # A custom resource reports the missing name or body first.
                expected = (400, 405) if path.split("/")[2] in CUSTOM else (405,)
                assert status in expected, (method, path, status, message)
    assert await cluster.store.revision() == before


@pytest.mark.parametrize(
    ("paths", "allowed"),
    [
        ("/healthz /livez /readyz /version", {"system:anonymous", "tenant"}),
        ("/api /apis /api/v1 /apis/apps/v1 /openapi/v2 /openapi/v3 /openapi/v3/api/v1 /openapi/v3/apis", {"tenant"}),
        # Monitoring reads these; an ordinary user does not.
        (
            "/metrics /metrics/slis /healthz/etcd /livez/ping /readyz/etcd /readyz/poststarthook/crd-informer-synced",
            set(),
        ),
    ],
)
async def test_pages_are_for_whom_the_default_roles_name(cluster: Cluster, paths: str, allowed: set[str]) -> None:
    for path in paths.split():
        for user in ("system:anonymous", "tenant"):
            status, message = await ask(cluster, user, "GET", path)
            refused = status == 403 and REFUSED.search(message) is not None
            assert refused != (user in allowed), (user, path, status, message)
        assert (await ask(cluster, "", "GET", path))[0] == 200, path
