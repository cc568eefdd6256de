"""What a path is about does not depend on what was asked before: paths are remembered, and read the same."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from setpoint.server import requestinfo
from setpoint.server.requestinfo import RequestInfo, request_info

SEGMENTS = st.sampled_from(
    ["namespaces", "default", "configmaps", "one", "status", "finalize", "watch", "proxy", "name", "", "a%2Fb", "%2F"]
)
PATHS = st.builds(
    lambda start, rest: start + "/".join(rest),
    st.sampled_from(["/api/v1/", "/apis/apps/v1/", "/apis/apps/", "/", "//api/v1/", ""]),
    st.lists(SEGMENTS, max_size=7),
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])


@given(METHODS, PATHS, st.sampled_from([None, "", "1", "false"]))
@example("GET", "/apis/apps/v1/one/name//proxy/apis", None)
@example("GET", "/api/v1/namespaces/default", None)
def test_a_remembered_path_is_read_as_a_new_one(method: str, path: str, watch: str | None) -> None:
    assert request_info(method, path, watch) == requestinfo._read(method, path, watch)
    assert request_info(method, path, watch) == requestinfo._read(method, path, watch)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces/n/pods/p", ("get", "", "n", "pods", "p", "")),
        ("GET", "/api/v1/namespaces/n/pods", ("list", "", "n", "pods", "", "")),
        ("DELETE", "/apis/apps/v1/namespaces/n/deployments", ("deletecollection", "apps", "n", "deployments", "", "")),
        ("PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", ("update", "apps", "n", "deployments", "d", "scale")),
        ("GET", "/api/v1/namespaces/n", ("get", "", "n", "namespaces", "n", "")),
        ("PUT", "/api/v1/namespaces/n/finalize", ("update", "", "n", "namespaces", "n", "finalize")),
        ("GET", "/api/v1/watch/namespaces/n/pods/p", ("watch", "", "n", "pods", "p", "")),
    ],
)
def test_a_path_names_a_verb_and_a_resource(method: str, path: str, expected: tuple[str, ...]) -> None:
    info: RequestInfo = request_info(method, path)
    assert (info.verb, info.group, info.namespace, info.resource, info.name, info.subresource) == expected
