"""`setpoint serve`, as a process of its own: what it prints, what it writes, how it stops, and how it refuses."""

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
import yaml
from tests.debian import require

pytestmark = pytest.mark.slow

SECONDS = 30


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "setpoint", "serve", *arguments]


def refused(*arguments: str, **environment: str) -> str:
    """The one line on the error output of a server that does not start."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **environment}
    )
    assert done.returncode != 0
    assert done.stdout == ""
    [line] = done.stderr.strip().splitlines()
    return line


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that serves, and its address."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        word, _, url = _line(process.stdout).strip().partition(" ")
        if word != "ready":
            process.kill()
            raise AssertionError(process.communicate()[1])
        yield process, url
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def _line(stream: IO[str]) -> str:
    ready, _, _ = select.select([stream], [], [], SECONDS)
    assert ready, "the server says nothing"
    return stream.readline()


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Stops a server; its exit code and what it had left to say."""
    process.send_signal(number)
    code = process.wait(SECONDS)
    assert process.stdout is not None
    return code, process.stdout.read()


def fetch(url: str, path: str, token: str = "") -> bytes:
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        body: bytes = answer.read()
    return body


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_when_it_is_ready_and_stops_when_told_to(tmp_path: Path, number: signal.Signals) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with serving("--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)) as (process, url):
        assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        assert cluster["server"] == url
        assert url.startswith("https://127.0.0.1:")
        assert stopped(process, number) == (0, "")


def test_a_watch_is_ended_cleanly_when_its_server_stops(tmp_path: Path) -> None:
    options = ["--listen", "127.0.0.1:0", "--kubeconfig", str(tmp_path / "kc"), "--plain-http", "--token", "t0ken"]
    with serving(*options) as (process, url):
        request = urllib.request.Request(
            f"{url}/api/v1/namespaces?watch=true", headers={"Authorization": "Bearer t0ken"}
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as watch:
            assert json.loads(watch.readline())["type"] == "ADDED"
            assert stopped(process, signal.SIGTERM)[0] == 0
            watch.read()  # would raise IncompleteRead if it had been cut off


def test_the_token_may_come_from_the_environment_and_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETPOINT_TOKEN", "from-the-environment")
    with serving("--listen", "127.0.0.1:0", "--kubeconfig", str(tmp_path / "kc"), "--plain-http") as (process, url):
        found = json.loads(fetch(url, "/api/v1/namespaces", "from-the-environment"))
        assert found["kind"] == "NamespaceList"
        assert yaml.safe_load((tmp_path / "kc").read_text())["users"][0]["user"]["token"] == "from-the-environment"
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        assert process.stderr is not None
        assert "from-the-environment" not in process.stderr.read()


def test_without_being_told_the_kubeconfig_goes_to_the_data_or_the_users_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with serving("--listen", "127.0.0.1:0", "--plain-http"):
        assert (tmp_path / "state" / "setpoint" / "kubeconfig").exists()
    with serving("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")):
        assert (tmp_path / "data" / "kubeconfig").exists()


def test_what_is_kept_survives_being_killed(tmp_path: Path) -> None:
    options = ["--listen", "127.0.0.1:0", "--store", f"sqlite:{tmp_path / 'state.db'}", "--plain-http"]
    options += ["--kubeconfig", str(tmp_path / "kc")]
    tokens = []
    for _ in range(2):
        with serving(*options) as (process, url):
            token = yaml.safe_load((tmp_path / "kc").read_text())["users"][0]["user"]["token"]
            fetch(url, "/api/v1/namespaces/default", token)
            tokens.append(token)
            process.kill()
    assert tokens[0] == tokens[1]


@pytest.mark.parametrize(
    "listen", ["6443", "127.0.0.1", ":6443", "127.0.0.1:x", "127.0.0.1:70000", "::1:6443", "127.0.0.1:-1"]
)
def test_an_address_that_is_none_is_refused(listen: str) -> None:
    line = refused("--listen", listen)
    assert line == f"Error: --listen: {listen}: invalid address, expected HOST:PORT, e.g. 127.0.0.1:6443 or [::1]:0"


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        line = refused("--listen", address, "--kubeconfig", str(tmp_path / "kc"))
    assert line == f"Error: cannot listen on {address}: Address already in use"
    assert not (tmp_path / "kc").exists()


def test_a_host_that_is_unknown_or_not_ours_is_named(tmp_path: Path) -> None:
    kubeconfig = ["--kubeconfig", str(tmp_path / "kc")]
    assert "cannot listen on no.such.host.invalid:1" in refused("--listen", "no.such.host.invalid:1", *kubeconfig)
    assert "cannot listen on 192.0.2.1:1" in refused("--listen", "192.0.2.1:1", *kubeconfig)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--store", "postgres:x"], "invalid store 'postgres:x': expected memory, sqlite:PATH or etcd:URL"),
        (["--store", "etcd:nonsense"], "it must begin with http:// or https://"),
        (["--store", "sqlite:/proc/nowhere/x.db"], "/proc/nowhere"),
        (["--kubeconfig", "/proc/nowhere/kc"], "/proc/nowhere"),
        (["--data", "/proc/nowhere"], "/proc/nowhere"),
        (["--unix", "/proc/nowhere/api.sock"], ""),
        (["--tls-san", "not a name\u00ad.."], "certificate"),
        (["--token", "two words"], "--token: invalid token: use printable ASCII characters without spaces"),
        (["--plain-http", "--listen", "0.0.0.0:0"], "--plain-http: allowed on loopback addresses only"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    line = refused(*["--listen", "127.0.0.1:0", "--kubeconfig", str(tmp_path / "kc"), *arguments])
    assert line.startswith("Error: ")
    assert words in line
    assert "Traceback" not in line


def test_somebody_elses_kubeconfig_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("apiVersion: v1\nkind: Config\n# precious\n")
    line = refused("--listen", "127.0.0.1:0", "--kubeconfig", str(path))
    assert line == f"Error: {path} exists and was not written by Setpoint: choose another file"
    assert "precious" in path.read_text()


def test_a_file_that_another_server_holds_is_named(tmp_path: Path) -> None:
    options = ["--listen", "127.0.0.1:0", "--store", f"sqlite:{tmp_path / 'state.db'}", "--plain-http"]
    with serving(*options, "--kubeconfig", str(tmp_path / "kc")) as (process, _):
        line = refused(*options, "--kubeconfig", str(tmp_path / "other"))
        assert "state.db is in use by" in line
        assert str(process.pid) in line


def test_kubectl_finds_its_way_by_the_kubeconfig(tmp_path: Path) -> None:
    require("kubectl", "kubernetes-client")
    kubeconfig = tmp_path / "kc"

    def kubectl(*arguments: str) -> str:
        done = subprocess.run(
            ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", str(tmp_path / "cache"), *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with serving("--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)):
        assert "namespace/default" in kubectl("get", "namespaces", "-o", "name")
        kubectl("create", "configmap", "one", "--from-literal=a=b")
        assert kubectl("get", "configmap", "one", "-o", "jsonpath={.data.a}") == "b"


def test_a_file_configures_the_server_and_flags_win_over_it(tmp_path: Path) -> None:
    file, log, policy = tmp_path / "setpoint.yaml", tmp_path / "audit.log", tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    audit = {"logPath": str(log), "logMode": "blocking", "policyFile": str(policy)}
    file.write_text(yaml.safe_dump({"listen": "256.0.0.1:1", "plainHttp": True, "token": "t0ken", "audit": audit}))
    arguments = ["--config", str(file), "--listen", "127.0.0.1:0", "--kubeconfig", str(tmp_path / "kc")]
    # Controllers ask too, and are recorded like everybody.
    with serving(*arguments, "--controllers=-*") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        fetch(url, "/api/v1/namespaces", "t0ken")
        assert [json.loads(line)["stage"] for line in log.read_text().splitlines()] == [
            "RequestReceived",
            "ResponseComplete",
        ]
        policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n")
        process.send_signal(signal.SIGHUP)
        before = len(log.read_text())
        for _ in range(200):
            fetch(url, "/api/v1/namespaces", "t0ken")
            if len(log.read_text()) == before:
                break
            before = len(log.read_text())
        else:
            raise AssertionError("the policy is not read again")
        assert stopped(process, signal.SIGTERM)[0] == 0


def test_what_holds_is_shown_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "setpoint.yaml"
    file.write_text("token: from-the-file\nlimits: {idleSeconds: 7}\n")
    done = subprocess.run(
        command("--config", str(file), "--print-config", "--store", "sqlite:x.db"),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "SETPOINT_TOKEN": "from-the-environment"},
    )
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load(done.stdout)
    assert (found["store"], found["limits"]["idleSeconds"], found["token"]) == ("sqlite:x.db", 7.0, "********")
    assert "from-the" not in done.stdout


def test_mistakes_of_the_file_are_named_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "setpoint.yaml"
    file.write_text("listen: 127.0.0.1:0\noverlod: {}\n")
    assert refused("--config", str(file)).startswith(
        f"Error: {file}:2: overlod: there is no such field; did you mean overload?"
    )
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Some}]\n")
    done = subprocess.run(
        command("--listen", "127.0.0.1:0", "--audit-log-path", "-", "--audit-policy-file", str(policy)),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 1
    assert f"{policy}:3: rules[0].level" in done.stderr
    assert "Traceback" not in done.stderr
