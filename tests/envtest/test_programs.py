"""The executables that envtest starts, run as it runs them."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.envtest.pair import SECONDS, Client, apiserver, certificates, environment, etcd
from tests.ports import free_ports

from setpoint.envtest import assets
from setpoint.server.edge.certificates import Authority

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Pair(NamedTuple):
    """A running pair, and what its users' certificates are made with."""

    url: str
    directory: Path
    users: Authority

    def user(self, name: str, *groups: str) -> Client:
        return Client.certified(self.url, self.directory, self.users, name, *groups)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("assets")
    assets.write(directory)
    return directory


@pytest.fixture(scope="module")
def pair(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    directory = tmp_path_factory.mktemp("pair")
    users = certificates(directory)
    tokens = directory / "tokens"
    tokens.write_text('secret,jane,42,"system:masters,dev"\n')
    policy = directory / "audit.yaml"
    policy.write_text("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}")
    more = [
        f"--token-auth-file={tokens}",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={directory / 'audit.log'}",
        *("--nobody-knows", "this"),
    ]
    with (
        etcd(written, directory / "data", directory / "etcd.log") as etcd_url,
        apiserver(written, directory, etcd_url, *more) as url,
    ):
        yield Pair(url, directory, users)


@pytest.fixture(scope="module")
def admin(pair: Pair) -> Client:
    return pair.user("admin", "system:masters")


def test_a_certificate_of_the_given_authority_is_a_user_in_groups(admin: Client) -> None:
    status, answer = admin.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert status == 201
    assert answer["status"]["userInfo"]["username"] == "admin"
    assert answer["status"]["userInfo"]["groups"] == ["system:masters", "system:authenticated"]


def test_roles_decide_about_everybody_else(pair: Pair, admin: Client) -> None:
    joe = pair.user("joe")
    status, answer = joe.ask("GET", CONFIG_MAPS)
    assert status == 403
    assert answer["message"].startswith('configmaps is forbidden: User "joe" cannot list resource "configmaps"')
    binding = {
        "metadata": {"name": "joe"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "joe"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    assert admin.ask("POST", bindings, binding)[0] == 201
    assert joe.ask("GET", CONFIG_MAPS)[0] == 200


def test_nobody_may_ask_for_health_and_little_else(pair: Pair) -> None:
    nobody = Client(pair.url, pair.directory)
    assert [nobody.ask("GET", path)[0] for path in ("/healthz", "/livez", "/readyz", "/version")] == [200] * 4
    status, answer = nobody.ask("GET", CONFIG_MAPS)
    assert (status, answer["message"].split(" cannot")[0]) == (
        403,
        'configmaps is forbidden: User "system:anonymous"',
    )


def test_a_token_of_the_file_is_a_user(pair: Pair) -> None:
    assert Client(pair.url, pair.directory, token="secret").ask("GET", CONFIG_MAPS)[0] == 200
    assert Client(pair.url, pair.directory, token="guess").ask("GET", CONFIG_MAPS)[0] == 401


def test_service_accounts_get_tokens_of_the_given_issuer(pair: Pair, admin: Client) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert admin.ask("POST", accounts, {"metadata": {"name": "robot"}})[0] == 201
    status, issued = admin.ask("POST", f"{accounts}/robot/token", {"spec": {}})
    assert status == 201
    status, found = admin.ask("GET", "/.well-known/openid-configuration")
    assert found["issuer"] == f"{pair.url}/"
    robot = Client(pair.url, pair.directory, token=issued["status"]["token"])
    status, answer = robot.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert (status, answer["status"]["userInfo"]["username"]) == (201, "system:serviceaccount:default:robot")


def test_the_service_kubernetes_has_the_address_of_the_server(pair: Pair, admin: Client) -> None:
    port = int(pair.url.rpartition(":")[2])
    status, endpoints = admin.ask("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
    assert status == 200
    [subset] = endpoints["subsets"]
    assert [each["port"] for each in subset["ports"]] == [port]
    assert subset["addresses"]
    status, found = admin.ask("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    assert (status, [each["port"] for each in found["ports"]]) == (200, [port])


def test_services_get_addresses_of_the_given_range(admin: Client) -> None:
    services = "/api/v1/namespaces/default/services"
    assert admin.ask("GET", f"{services}/kubernetes")[1]["spec"]["clusterIP"] == "10.0.0.1"
    outside = {"metadata": {"name": "far"}, "spec": {"clusterIP": "10.0.1.1", "ports": [{"port": 1}]}}
    assert "does not match the current range" in admin.ask("POST", services, outside)[1]["message"]


def test_pods_need_no_service_account_and_may_be_privileged(admin: Client) -> None:
    container = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    status, answer = admin.ask("POST", "/api/v1/namespaces/default/pods", pod)
    assert (status, "serviceAccountName" in answer.get("spec", {})) == (201, False)


def test_requests_are_recorded_as_the_policy_says(pair: Pair, admin: Client) -> None:
    admin.ask("GET", "/api/v1/namespaces/default/configmaps/recorded")
    [event] = [
        event
        for event in map(json.loads, (pair.directory / "audit.log").read_text().splitlines())
        if event["requestURI"].endswith("/recorded") and event["stage"] == "ResponseComplete"
    ]
    assert (event["level"], event["verb"], event["user"]["username"]) == ("Metadata", "get", "admin")


def test_flags_that_change_nothing_are_named(pair: Pair) -> None:
    assert "kube-apiserver: --nobody-knows has no effect here" in (pair.directory / "log").read_text().splitlines()


@pytest.mark.slow
def test_objects_outlive_the_server_as_long_as_its_etcd_is_there(written: Path, tmp_path: Path) -> None:
    users = certificates(tmp_path)

    def names(url: str) -> list[str]:
        _, found = Client.certified(url, tmp_path, users, "admin", "system:masters").ask("GET", CONFIG_MAPS)
        return [item["metadata"]["name"] for item in found["items"]]

    with etcd(written, tmp_path / "data", tmp_path / "etcd.log") as etcd_url:
        with apiserver(written, tmp_path, etcd_url) as url:
            admin = Client.certified(url, tmp_path, users, "admin", "system:masters")
            assert admin.ask("POST", CONFIG_MAPS, {"metadata": {"name": "kept"}})[0] == 201
        with apiserver(written, tmp_path, etcd_url) as url:
            assert "kept" in names(url)
    with (
        etcd(written, tmp_path / "other", tmp_path / "etcd.log") as etcd_url,
        apiserver(written, tmp_path, etcd_url) as url,
    ):
        assert "kept" not in names(url)


def test_one_flag_adds_nodes_and_the_controllers_of_workloads(written: Path, tmp_path: Path) -> None:
    users = certificates(tmp_path)
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    with (
        etcd(written, tmp_path / "data", tmp_path / "etcd.log") as etcd_url,
        apiserver(written, tmp_path, etcd_url, "--nodes=simulated") as url,
    ):
        admin = Client.certified(url, tmp_path, users, "admin", "system:masters")
        assert admin.ask("POST", deployments, deployment)[0] == 201
        deadline = time.monotonic() + SECONDS
        while admin.ask("GET", f"{deployments}/web")[1]["status"].get("availableReplicas") != 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--secure-port=0", "--secure-port=0: expected a port from 1 to 65535"),
        ("--service-cluster-ip-range=here", "invalid address range for Services 'here'"),
        ("--nodes=some", "invalid nodes 'some': expected none, simulated, or simulated:N"),
        ("--tls-cert-file=x.crt", "--tls-cert-file and --tls-private-key-file must be given together"),
        ("--client-ca-file=/nowhere/ca.crt", "/nowhere/ca.crt"),
        ("--token-auth-file=/nowhere/tokens", "/nowhere/tokens"),
        ("--audit-log-mode=sometimes", "--audit-log-mode=sometimes: expected batch, blocking or blocking-strict"),
        pytest.param("--etcd-servers=https://127.0.0.1:1", "127.0.0.1:1", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_used_is_named_and_ends_the_server(
    written: Path, tmp_path: Path, flag: str, message: str
) -> None:
    certificates(tmp_path)
    arguments = [f"--cert-dir={tmp_path}", "--bind-address=127.0.0.1", f"--secure-port={free_ports(1)[0]}", flag]
    done = _run(written / "kube-apiserver", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_certificates_are_made_where_there_are_none(written: Path, tmp_path: Path) -> None:
    arguments = [f"--cert-dir={tmp_path / 'made'}", "--secure-port=0"]
    assert _run(written / "kube-apiserver", *arguments).returncode == 1
    assert not (tmp_path / "made").exists()
    users = certificates(tmp_path)
    (tmp_path / "apiserver.crt").unlink()
    (tmp_path / "apiserver.key").unlink()
    with apiserver(written, tmp_path, "http://127.0.0.1:1") as url:
        (tmp_path / "serving-ca.crt").write_bytes((tmp_path / "apiserver.crt").read_bytes())
        assert Client.certified(url, tmp_path, users, "admin", "system:masters").ask("GET", CONFIG_MAPS)[0] == 200
    assert "no etcd at http://127.0.0.1:1" in (tmp_path / "log").read_text()


def test_etcd_says_where_it_cannot_listen(written: Path, tmp_path: Path) -> None:
    done = _run(written / "etcd", "--listen-client-urls=https://127.0.0.1:1", f"--data-dir={tmp_path}")
    assert done.returncode == 1
    assert done.stderr == "etcd: cannot listen on https://127.0.0.1:1: expected http://HOST:PORT\n"


@pytest.mark.parametrize("name", ["kube-apiserver", "etcd"])
def test_help_and_version_are_answered(written: Path, name: str) -> None:
    shown = _run(written / name, "--help")
    assert (shown.returncode, "Setpoint's replacement of" in shown.stdout) == (0, True)
    version = _run(written / name, "--version")
    assert (version.returncode, "setpoint" in version.stdout) == (0, True)


def test_kubectl_is_the_one_on_the_path(written: Path, tmp_path: Path) -> None:
    real = tmp_path / "kubectl"
    real.write_text('#!/bin/sh\necho "real $1"\n')
    real.chmod(0o755)
    found = _run(written / "kubectl", "get", path=f"{written}:{tmp_path}:/usr/bin:/bin")
    assert found.stdout == "real get\n"
    places = tmp_path / "tools"
    places.mkdir()
    for tool in ("dirname", "sh"):
        (places / tool).symlink_to(f"/usr/bin/{tool}")
    missing = _run(written / "kubectl", "get", path=f"{written}:{places}")
    assert missing.returncode == 127
    assert "not found on the PATH" in missing.stderr


def test_the_command_writes_them_and_prints_where(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "setpoint", "envtest-assets", "bin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == f"{tmp_path / 'bin'}\n"
    assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == ["etcd", "kube-apiserver", "kubectl"]


def test_what_others_put_there_is_left_as_it_is(tmp_path: Path) -> None:
    assets.write(tmp_path)
    assets.write(tmp_path)  # ours may be written again
    (tmp_path / "etcd").write_bytes(b"\x7fELF")
    with pytest.raises(assets.AssetsError, match="etcd was not written by setpoint"):
        assets.write(tmp_path)
    assert (tmp_path / "etcd").read_bytes() == b"\x7fELF"


def _run(program: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = environment(PATH=path) if path else environment()
    return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=SECONDS)
