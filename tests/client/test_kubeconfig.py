"""Kubeconfigs: every way to say where the server is and who asks, and every mistake named."""

import asyncio
import json
import os
import sys
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.client import incluster, kubeconfig
from setpoint.client.client import Client
from setpoint.client.connection_config import ConfigError, ConnectionConfig
from setpoint.client.credentials import TokenFile
from setpoint.client.http.endpoint import Proxy
from setpoint.client.proxies import proxy_for
from setpoint.client.transport import CredentialsError
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import Forbidden, Unauthorized
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "kubeconfig_mistakes.yaml").read_text())
START = datetime(2026, 1, 1, tzinfo=UTC)
NO_ENVIRON: Mapping[str, str] = {"PATH": os.environ["PATH"]}


def config(cluster: Object | None = None, user: Object | None = None) -> Object:
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://a"} if cluster is None else cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }


def write(path: Path, tree: Object) -> Path:
    path.write_text(yaml.safe_dump(tree))
    return path


def read(path: Path, context: str = "", **environ: str) -> ConnectionConfig:
    return kubeconfig.from_files(path, context=context, environ={**NO_ENVIRON, **environ})


async def whoami(client: Client) -> Any:
    review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return (await client.create(review))["status"]["userInfo"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_mistake_is_told_with_its_file_and_field(case: Any, tmp_path: Path) -> None:
    path = tmp_path / "config"
    text = case.get("text")
    path.write_text(text if text is not None else yaml.safe_dump(config(case.get("cluster"), case.get("user"))))
    with pytest.raises(ConfigError) as failed:
        read(path)
    message = str(failed.value)
    assert message.startswith(str(path))
    assert case["says"].replace("FILE", str(path)) in message
    assert case.get("hides", "\0") not in message


def test_no_kubeconfig_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no kubeconfig found at .*/.kube/config: set"):
        kubeconfig.from_files(None, environ={"HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match=r"cannot read .*: No such file"):
        read(tmp_path / "nowhere")


def test_of_two_entries_with_one_name_the_first_file_counts_and_files_that_are_not_there_are_passed_over(
    tmp_path: Path,
) -> None:
    first = {"clusters": [{"name": "c", "cluster": {"server": "https://first:1"}}], "current-context": "here"}
    second = config({"server": "https://second:2", "tls-server-name": "x"}, {"token": "t"}) | {
        "current-context": "there"
    }
    paths = [write(tmp_path / "1", first), tmp_path / "nowhere", write(tmp_path / "2", second)]
    found = kubeconfig.from_files(None, environ={"KUBECONFIG": os.pathsep.join(map(str, paths))})
    assert (found.endpoint.host, found.endpoint.port, found.endpoint.server_name) == ("first", 1, "")
    assert found.namespace == "shop"
    assert found.credentials is not None


def test_what_a_cluster_says_is_heeded(tmp_path: Path) -> None:
    cluster = {
        "server": "https://a.example:7443/clusters/x/",
        "tls-server-name": "kubernetes",
        "proxy-url": "socks5://me:word@p:1",
        "insecure-skip-tls-verify": True,
    }
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"example.com/Scope": ["x"]}}
    found = read(write(tmp_path / "c", config(cluster, user)))
    assert str(found.endpoint) == "https://a.example:7443/clusters/x"
    assert found.endpoint.server_name == "kubernetes"
    assert found.endpoint.proxy == Proxy("p", 1, "socks5", "me", "word")
    assert found.impersonate is not None
    assert found.impersonate.headers() == {
        "impersonate-user": "jane",
        "impersonate-group": ("a", "b"),
        "impersonate-uid": "7",
        "impersonate-extra-example.com%2Fscope": ("x",),
    }


async def test_a_token_and_a_certificate_open_the_door(tmp_path: Path) -> None:
    async with ControlPlane(data=tmp_path / "data") as plane:
        await plane.listen()
        path = tmp_path / "config"
        path.write_text(plane.kubeconfig())
        async with Client.from_kubeconfig(path) as admin:
            assert (await whoami(admin))["username"] == "system:admin"
        path.write_text(plane.kubeconfig("jane", ["readers"]))
        async with Client.from_kubeconfig(path) as jane:
            found = await whoami(jane)
            assert (found["username"], found["groups"][0]) == ("jane", "readers")
            with pytest.raises(Forbidden):
                await jane.list("v1/Secret")


async def test_certificates_in_files_are_read_anew_when_they_change(tmp_path: Path) -> None:
    async with ControlPlane(data=tmp_path / "data") as plane:
        await plane.listen()

        def put(user: str) -> Object:
            made = yaml.safe_load(plane.kubeconfig(user))
            entry = made["users"][0]["user"]
            for name in ("client-certificate", "client-key"):
                (tmp_path / name).write_bytes(b64decode(entry.pop(f"{name}-data")))
                entry[name] = name
            return dict(made)

        async with Client.from_kubeconfig(write(tmp_path / "config", put("jane"))) as client:
            assert (await whoami(client))["username"] == "jane"
            put("john")
            transport: Any = client.transport
            transport._tls._next_check = 0.0
            assert (await whoami(client))["username"] == "john"


async def test_a_token_file_is_read_anew_when_it_changes_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    token = TokenFile(path)
    assert await token(None) == {"authorization": "Bearer one"}
    path.write_text("other")
    assert await token(None) == {"authorization": "Bearer one"}, "it is not looked at for every request"
    assert await token({"authorization": "Bearer one"}) == {"authorization": "Bearer other"}
    path.unlink()
    assert await token({"authorization": "Bearer other"}) == {"authorization": "Bearer other"}
    with pytest.raises(CredentialsError, match="cannot read the token"):
        await TokenFile(path)(None)
    path.write_text(" ")
    with pytest.raises(CredentialsError, match="contains no token"):
        await TokenFile(path)(None)


def plugin(tmp_path: Path, script: str, **more: Any) -> Object:
    path = tmp_path / "plugin.py"
    path.write_text(script)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(path)],
            "interactiveMode": "Never",
            **more,
        }
    }


def giving(directory: Path, status: Object, version: str = "client.authentication.k8s.io/v1") -> str:
    """A plugin that counts how often it runs, and notes what it was told."""
    given = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    return (
        "import os, pathlib\n"
        f"log = pathlib.Path({str(directory / 'log')!r})\n"
        "with log.open('a') as file: print(os.environ['KUBERNETES_EXEC_INFO'], file=file)\n"
        f"print({given!r}.replace('TOKEN', os.environ.get('TOKEN', '')"
        " + str(len(log.read_text().splitlines()))))\n"
    )


async def test_a_plugin_is_run_once_for_many_and_again_when_it_expires_or_is_refused(tmp_path: Path) -> None:
    clock = ManualClock(START)
    status = {"token": "TOKEN", "expirationTimestamp": format_time(START + timedelta(minutes=5))}
    user = plugin(tmp_path, giving(tmp_path, status), env=[{"name": "TOKEN", "value": "t"}], provideClusterInfo=True)
    cluster = {
        "server": "https://a",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
    }
    found = kubeconfig.from_files(write(tmp_path / "c", config(cluster, user)), environ=NO_ENVIRON, clock=clock)
    assert found.credentials is not None
    answers = await asyncio.gather(*(found.credentials(None) for _ in range(5)))
    assert answers == [{"authorization": "Bearer t1"}] * 5
    told = json.loads((tmp_path / "log").read_text())
    assert told == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://a", "config": {"audience": "x"}}},
    }
    again = await asyncio.gather(*(found.credentials(answers[0]) for _ in range(5)))
    assert again == [{"authorization": "Bearer t2"}] * 5
    clock.advance(600)
    assert await found.credentials(None) == {"authorization": "Bearer t3"}


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    async with ControlPlane(data=tmp_path / "data") as plane:
        await plane.listen()
        made = yaml.safe_load(plane.kubeconfig("robot", ["machines"]))
        entry = made["users"][0]["user"]
        status = {
            "clientCertificateData": b64decode(entry["client-certificate-data"]).decode(),
            "clientKeyData": b64decode(entry["client-key-data"]).decode(),
        }
        made["users"][0]["user"] = plugin(tmp_path, giving(tmp_path, status))
        async with Client.from_kubeconfig(write(tmp_path / "config", made)) as client:
            for _ in range(2):
                assert (await whoami(client))["username"] == "robot"
    assert len((tmp_path / "log").read_text().splitlines()) == 1


BAD_PLUGINS = {
    "fails": ("raise SystemExit(3)", "failed with exit code 3"),
    "no JSON": ("print('hello')", "returned invalid JSON"),
    "nothing of the sort": ("print('{}')", "returned no ExecCredential"),
    "another version": (
        giving(Path("/dev"), {"token": "t"}, "client.authentication.k8s.io/v1beta1").replace("/dev/log", "/dev/null"),
        "returned an ExecCredential of client.authentication.k8s.io/v1beta1, expected",
    ),
    "nothing in it": ("X{}X", "returned neither a token nor a certificate"),
    "half a pair": ('X{"clientKeyData": "k"}X', "without its certificate"),
    "no time": ('X{"token": "t", "expirationTimestamp": "soon"}X', "invalid expirationTimestamp: 'soon'"),
    "a token that is none": ('X{"token": 1}X', "a token that is not a string"),
    "a certificate that is none": (
        'X{"clientCertificateData": "c", "clientKeyData": "k"}X',
        "returned an invalid certificate",
    ),
}


@pytest.mark.parametrize("case", BAD_PLUGINS)
async def test_what_a_plugin_does_wrong_is_told_with_its_name(case: str, tmp_path: Path) -> None:
    script, why = BAD_PLUGINS[case]
    if script.startswith("X"):
        api = '"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"'
        script = f"print('''{{{api}, \"status\": {script.strip('X')}}}''')"
    found = read(write(tmp_path / "c", config(user=plugin(tmp_path, script))))
    assert found.credentials is not None
    with pytest.raises(CredentialsError, match=r"the credentials command .*python.*' ") as failed:
        await found.credentials(None)
    assert why in str(failed.value)


async def test_a_plugin_that_is_missing_is_told_with_how_to_get_it(tmp_path: Path) -> None:
    user = plugin(tmp_path, "", command="./nobody-has-this", installHint="Install it\nwith care.")
    found = read(write(tmp_path / "c", config(user=user)))
    assert found.credentials is not None
    with pytest.raises(CredentialsError, match=r"'./nobody-has-this'.*was not found\n\nInstall it\nwith care\."):
        await found.credentials(None)


async def test_a_plugin_that_must_ask_needs_a_terminal(tmp_path: Path) -> None:
    found = read(write(tmp_path / "c", config(user=plugin(tmp_path, "", interactiveMode="Always"))))
    assert found.credentials is not None
    with pytest.raises(CredentialsError, match="standard input is not a terminal"):
        await found.credentials(None)


async def test_a_request_is_not_sent_without_credentials_and_the_plugin_is_not_run_again_and_again(
    tmp_path: Path,
) -> None:
    script = f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); raise SystemExit(1)"
    path = write(tmp_path / "c", config({"server": "https://127.0.0.1:1"}, plugin(tmp_path, script)))
    async with Client.from_kubeconfig(path) as client:
        with pytest.raises(CredentialsError):
            await client.raw("GET", "/version")
    assert (tmp_path / "runs").read_text() == "x"


async def test_code_in_a_pod_finds_its_server(tmp_path: Path) -> None:
    async with ControlPlane(data=tmp_path / "data") as plane:
        url = await plane.listen()
        made = yaml.safe_load(plane.kubeconfig())
        authority = made["clusters"][0]["cluster"]["certificate-authority-data"]
        (tmp_path / "ca.crt").write_bytes(b64decode(authority))
        (tmp_path / "token").write_text("wrong")
        (tmp_path / "namespace").write_text("shop\n")
        host, _, port = url.removeprefix("https://").rpartition(":")
        environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        assert incluster.is_in_cluster(environ, tmp_path)
        found = incluster.connection(environ, tmp_path)
        assert found.namespace == "shop"
        async with Client(found.transport()) as client:
            with pytest.raises(Unauthorized):
                await whoami(client)
            (tmp_path / "token").write_text(plane.token)
            assert (await whoami(client))["username"] == "system:admin"


def test_code_outside_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not running inside a cluster"):
        incluster.connection({}, tmp_path)
    with pytest.raises(ConfigError, match="token is missing: does the pod mount"):
        incluster.connection({"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "1"}, tmp_path)


def test_connect_takes_the_kubeconfig_that_is_named_and_then_that_of_ones_home(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", config({"server": "https://home"}))
    named = write(tmp_path / "named", config({"server": "https://named"}))
    home = Client.connect(environ={"HOME": str(tmp_path)})
    assert home.host == "home"
    assert home.namespace == "shop"
    assert home.options.namespace == "", "nothing goes to one namespace that did not say so"
    assert Client.connect(environ={"HOME": str(tmp_path), "KUBECONFIG": str(named)}).host == "named"


@pytest.mark.parametrize(
    ("host", "without", "proxied"),
    [
        ("a.example", "", True),
        ("localhost", "", False),
        ("127.0.0.9", "", False),
        ("::1", "", False),
        ("a.example", "*", False),
        ("a.example", "b.example, a.example", False),
        ("sub.a.example", "a.example", False),
        ("sub.a.example", ".a.example", False),
        ("a.example", ".a.example", True),
        ("xa.example", "a.example", True),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("11.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", False),
        ("fd00::1", "fd00::/8", False),
        ("a.example", "a.example:443", False),
        ("a.example", "a.example:80", True),
    ],
)
def test_proxies_of_the_environment_follow_the_rules_of_go(host: str, without: str, proxied: bool) -> None:
    environ = {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": without}
    assert proxy_for("https", host, 443, environ) == ("http://p:3128" if proxied else "")
    assert proxy_for("http", host, 443, environ) == ""
