"""The peers start on the loopback interface and work together. `make oracle` builds them."""

import json
import ssl
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.peers import Oracle, companion, oracle, write_files
from tests.oracle.programs import missing
from tests.oracle.users import ADMIN, TOKENS

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "stages.yaml")
SECONDS = 90.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(missing(*PROGRAMS)), reason="the real control plane is not built; run `make oracle`"),
]


def ask(server: Oracle, method: str, path: str, body: Any = None, user: str = ADMIN) -> Any:
    """The decoded answer of the server. Raises urllib.error.HTTPError for a refusal."""
    request = urllib.request.Request(
        server.url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKENS[user]}", "Content-Type": "application/json"},
    )
    context = ssl.create_default_context(cafile=server.files.authority)
    with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:
        return json.load(answer)


def test_the_server_knows_the_users_and_their_groups(tmp_path: Path) -> None:
    with oracle(tmp_path, write_files(tmp_path)) as server:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        review = ask(server, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body, "viewer")
        assert review["status"]["userInfo"]["username"] == "viewer"
        assert {"viewers", "auditors"} <= set(review["status"]["userInfo"]["groups"])


def test_controllers_scheduler_and_nodes_run_a_deployment(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    with ExitStack() as stack:
        server = stack.enter_context(oracle(tmp_path, files))
        keys = [f"--service-account-private-key-file={files.signing_key}", f"--root-ca-file={files.authority}"]
        stack.enter_context(companion("kube-controller-manager", server.kubeconfig, tmp_path, keys))
        stack.enter_context(companion("kube-scheduler", server.kubeconfig, tmp_path))
        stack.enter_context(companion("kwok", server.kubeconfig, tmp_path))
        node = {"metadata": {"name": "n1", "labels": {"type": "kwok"}}, "spec": {}}
        status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        ask(server, "POST", "/api/v1/nodes", {**node, "status": status})
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        path = "/apis/apps/v1/namespaces/default/deployments"
        ask(server, "POST", path, {"metadata": {"name": "d"}, "spec": spec})
        end = time.monotonic() + SECONDS
        while ask(server, "GET", f"{path}/d")["status"].get("readyReplicas") != 2:
            assert time.monotonic() < end, ask(server, "GET", "/api/v1/pods")
            time.sleep(0.3)
