"""`setpoint doctor`, `version`, `completion` and `explain`."""

import base64
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from tests.cli.conftest import Command, Served

from setpoint import __version__
from setpoint.cli.admin.doctor_finding import Finding
from setpoint.cli.admin.doctor_machine import check
from setpoint.cli.main import main
from setpoint.objects.clock import SystemClock
from setpoint.server.edge.certificates import Authority
from setpoint.session.registry import Session, Sessions

# Doctor


def findings(**environ: str) -> dict[str, Finding]:
    return {each.name: each for each in check(environ, SystemClock().now())}


def test_the_doctor_checks_the_machine_and_the_server(setpoint: Command) -> None:
    ran = setpoint("doctor", "-o", "json")
    found = {each["name"]: each for each in json.loads(ran.stdout)}
    names = {"python", "localhost", "ports", "open files", "processes", "proxy", "state", "space", "sessions"}
    assert names | {"engine", "server"} <= found.keys()
    assert found["server"]["says"] == "answers (found by $KUBECONFIG)"
    assert all(each["remedy"] for each in found.values() if each["verdict"] != "ok")
    assert ran.code == (1 if any(each["verdict"] == "problem" for each in found.values()) else 0)


def test_a_proxy_for_this_machine_is_found_with_the_line_that_helps(tmp_path: Path) -> None:
    proxied = findings(HOME=str(tmp_path), HTTPS_PROXY="http://proxy:3128", no_proxy="example.com")["proxy"]
    assert proxied.verdict == "warning"
    assert proxied.remedy == "export NO_PROXY=example.com,localhost,127.0.0.1"
    fine = {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "localhost, 127.0.0.1"}
    assert findings(HOME=str(tmp_path), **fine)["proxy"].verdict == "ok"


def test_a_state_directory_that_cannot_be_written_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = findings(XDG_STATE_HOME=str(tmp_path / "file"))["state"]
    assert found.verdict == "problem"
    assert "XDG_STATE_HOME" in found.remedy


def test_sessions_that_ended_badly_are_found(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    Sessions.of(environ).add(Session("shop", "/nowhere", "1:1:another-boot", "kc", "url"))
    assert "shop-" in findings(**environ)["sessions"].says


def test_few_files_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda number: (256, 256))
    found = findings(HOME=str(tmp_path))["open files"]
    assert (found.verdict, found.says, found.remedy) == (
        "warning",
        "at most 256",
        "run `ulimit -n 4096` before starting",
    )


def test_a_server_that_is_gone_fails_the_doctor(setpoint: Command, tmp_path: Path) -> None:
    ran = setpoint("doctor", "--kubeconfig", str(tmp_path / "none"))
    assert ran.code == 1
    assert "problems found:" in ran.stderr
    assert "server" in ran.stderr


def test_a_clock_that_is_behind_is_found(tmp_path: Path) -> None:
    found = next(
        each for each in check({"HOME": str(tmp_path)}, datetime(2001, 1, 1, tzinfo=UTC)) if each.name == "clock"
    )
    assert found.verdict == "problem"
    assert found.says.startswith("the clock shows 2001-01-01 00:00")


def test_a_proxy_that_is_not_used_for_the_network_of_this_machine_is_fine(tmp_path: Path) -> None:
    proxied = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "127.0.0.0/8,localhost"}
    assert findings(HOME=str(tmp_path), **proxied)["proxy"].verdict == "ok"


class Examined(NamedTuple):
    """What the doctor said in a place of its own."""

    code: int
    found: dict[str, Any]
    stderr: str


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Examined]:
    """Has the doctor look at a home with nothing in it."""
    monkeypatch.chdir(tmp_path)
    environ = {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "HOME": str(tmp_path),
        "KUBECONFIG": "",
        "DOCKER_HOST": f"unix://{tmp_path}/none.sock",
    }

    def run(*arguments: str, **more: str) -> Examined:
        result = CliRunner().invoke(main, ["doctor", "-o", "json", *arguments], env={**environ, **more})
        return Examined(result.exit_code, {each["name"]: each for each in json.loads(result.stdout)}, result.stderr)

    return run


APP = """
app: shop
services:
  web: {run: web, ports: {http: %d}}
"""


def test_who_holds_a_port_of_the_app_is_named(examine: Callable[..., Examined], tmp_path: Path) -> None:
    with socket.socket() as holding:
        holding.bind(("127.0.0.1", 0))
        holding.listen()
        (tmp_path / "web").touch(mode=0o755)
        (tmp_path / "setpoint.yaml").write_text(APP.replace("run: web", "run: ./web") % holding.getsockname()[1])
        port = holding.getsockname()[1]
        found = examine()
    assert found.code == 1
    says = found.found["app"]["says"]
    assert says.startswith(f"port {port} of setpoint.yaml is in use by ")
    assert says.endswith(f"(pid {os.getpid()})")
    assert examine().found["app"]["verdict"] == "ok"


def test_an_app_file_with_mistakes_and_containers_without_an_engine_are_problems(
    examine: Callable[..., Examined], tmp_path: Path
) -> None:
    (tmp_path / "setpoint.yaml").write_text("app: shop\nservices: {db: {imagee: x}}\n")
    assert "is invalid: " in examine().found["app"]["says"]
    (tmp_path / "setpoint.yaml").write_text("app: shop\nservices: {db: {image: 'postgres:16'}}\n")
    found = examine(DOCKER_HOST=f"unix://{tmp_path}/none.sock").found["engine"]
    assert found["verdict"] == "problem"
    assert found["says"].startswith("the app in this directory has containers, but the socket ")


@pytest.mark.parametrize(
    ("version", "verdict"), [("v1.37.2", "ok"), ("v1.20.0", "warning"), ("nonsense", "warning"), (None, "ok")]
)
def test_kubectl_is_there_and_goes_with_the_server(
    examine: Callable[..., Examined], tmp_path: Path, version: str | None, verdict: str
) -> None:
    if version is not None:
        told = json.dumps({"clientVersion": {"gitVersion": version}})
        (tmp_path / "kubectl").write_text(f"#!/bin/sh\necho '{told}'\n")
        (tmp_path / "kubectl").chmod(0o755)
    assert examine(PATH=str(tmp_path)).found["kubectl"]["verdict"] == verdict


def test_a_stale_kubeconfig_is_found_and_fixed(examine: Callable[..., Examined], tmp_path: Path) -> None:
    path = tmp_path / "state" / "setpoint" / "kubeconfig"
    path.parent.mkdir(parents=True)
    cluster = {"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}
    path.write_text(json.dumps({"clusters": [cluster], "users": [], "contexts": []}))
    assert examine().found["kubeconfig"]["verdict"] == "warning"
    fixed = examine("--fix")
    assert f"removed {path}" in fixed.stderr
    assert fixed.found["kubeconfig"]["verdict"] == "ok"


def test_a_certificate_that_is_no_longer_good_is_a_problem(examine: Callable[..., Examined], tmp_path: Path) -> None:
    expired = datetime(2020, 1, 1, tzinfo=UTC)
    authority = Authority.create(expired)
    pair = authority.issue_client("ada", (), expired, timedelta(days=1))
    data = base64.b64encode(pair.certificate).decode()
    user = {"name": "ada", "user": {"client-certificate-data": data}}
    cluster = {"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({"clusters": [cluster], "users": [user], "contexts": []}))
    found = examine("--kubeconfig", str(path)).found["certificates"]
    assert found["verdict"] == "problem"
    assert found["says"].startswith(f"certificate of ada in {path} expired at 2020-01-")


def test_what_was_killed_is_found_and_fixed(examine: Callable[..., Examined], tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    Sessions.of(environ).add(Session("shop", "/nowhere", "1:1:another-boot", "kc", "url"))
    assert examine().found["sessions"]["verdict"] == "warning"
    assert Sessions.of(environ).dead(), "looking changes nothing"
    fixed = examine("--fix")
    assert "ended unexpectedly" in fixed.stderr
    assert fixed.found["sessions"]["verdict"] == "ok"


# Version


def test_versions_of_both(setpoint: Command) -> None:
    own = setpoint("version", "--client").stdout
    assert own.startswith(f"setpoint {__version__} (CPython {platform.python_version()}, {platform.system()} ")
    assert setpoint("--version").stdout == own
    both = json.loads(setpoint("version", "-o", "json").stdout)
    assert both["client"]["version"] == __version__
    assert both["server"]["gitVersion"].startswith("v1.")
    assert both["server"]["gitVersion"] in setpoint("version").stdout


def test_the_own_version_needs_no_server(setpoint: Command, tmp_path: Path) -> None:
    ran = setpoint("version", KUBECONFIG="", HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path))
    assert ran.code == 0
    assert ran.stdout.splitlines()[0].startswith(f"setpoint {__version__} (")
    assert len(ran.stdout.splitlines()) == 1


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(setpoint: Command, shell: str) -> None:
    ran = setpoint("completion", shell)
    assert ran.code == 0
    assert "_SETPOINT_COMPLETE" in ran.stdout


def completed(served: Served, line: str) -> list[str]:
    environ = {**served.environ, "_SETPOINT_COMPLETE": "bash_complete", "COMP_WORDS": line}
    environ["COMP_CWORD"] = str(len(line.split(" ")) - 1)
    program = shutil.which("setpoint") or str(Path(sys.executable).parent / "setpoint")
    done = subprocess.run([program], env=environ, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.splitlines() if each]


def test_commands_kinds_and_names_are_completed(served: Served) -> None:
    assert completed(served, "setpoint desc") == ["describe"]
    assert "configmaps" in completed(served, "setpoint get conf")
    assert completed(served, "setpoint get ns kube-p") == ["kube-public"]
    assert completed(served, "setpoint describe ns/kube-p") == ["ns/kube-public"]
    assert completed(served, "setpoint get -o j") == ["json", "jsonpath="]


def test_without_a_server_nothing_is_offered_and_nothing_is_said(served: Served, tmp_path: Path) -> None:
    nowhere = served._replace(environ={**os.environ, "KUBECONFIG": str(tmp_path / "none")})
    assert completed(nowhere, "setpoint get conf") == []


# Explain


def test_a_kind_and_its_fields_are_explained(setpoint: Command) -> None:
    text = setpoint("explain", "exe").stdout
    assert "KIND:      Executable\nVERSION:   usvc-dev.developer.microsoft.com/v1\n" in text
    assert "  spec <" in text
    text = setpoint("explain", "exe.spec.watch").stdout
    assert "FIELD:     spec.watch <" in text
    assert "  paths <[]string> -required-" in text
    assert "One of: Restart, Rebuild." in text


def test_fields_of_fields_and_of_lists_are_found(setpoint: Command) -> None:
    assert "containerPort <integer>" in setpoint("explain", "pod.spec.containers.ports").stdout
    everything = setpoint("explain", "deployments.apps", "--recursive").stdout
    assert "containerPort <integer>" in everything
    assert setpoint("explain", "hpa", "--api-version", "autoscaling/v1").stdout.splitlines()[1].split()[1] == (
        "autoscaling/v1"
    )


def test_a_field_that_is_not_there_is_suggested(setpoint: Command) -> None:
    ran = setpoint("explain", "pod.spec.containrs")
    assert ran.code == 3
    assert "did you mean containers" in ran.stderr
