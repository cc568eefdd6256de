"""`setpoint user`: a kubeconfig for somebody, good at the server whose authority signed it."""

import asyncio
import base64
import json
import ssl
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from cryptography import x509
from tests.server.edge.edge import Client

from setpoint.cli.main import main
from setpoint.client.client import Client as ApiClient
from setpoint.objects.clock import SystemClock
from setpoint.plane import ControlPlane
from setpoint.server.edge.identity import Identity
from setpoint.server.server_keys import ServerKeys

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def made(*arguments: str) -> Any:
    """The kubeconfig that the command prints."""
    done = CliRunner().invoke(main, ["user", *arguments])
    assert done.exit_code == 0, done.output
    return yaml.safe_load(done.output)


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["user", *arguments])
    assert done.exit_code != 0
    assert "Traceback" not in done.output
    return done.output


def certificate(config: Any) -> x509.Certificate:
    data = base64.b64decode(config["users"][0]["user"]["client-certificate-data"])
    return x509.load_pem_x509_certificate(data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a server that has been started once, without a kubeconfig in it."""
    Identity([], SystemClock(), ServerKeys(tmp_path / "data"))
    return tmp_path / "data"


def test_who_has_the_kubeconfig_is_the_user_at_the_server(tmp_path: Path) -> None:
    async def scenario() -> Any:
        async with ControlPlane(data=tmp_path) as plane:
            await plane.listen()
            plane.write_kubeconfig(tmp_path / "kubeconfig")
            config = await asyncio.to_thread(
                made, "jane", "--group", "dev", "--group", "system:masters", "--data", str(tmp_path)
            )
            assert config["clusters"][0]["cluster"]["server"] == plane.url
            user = config["users"][0]["user"]
            authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
            context = ssl.create_default_context(cadata=authority)
            pair = tmp_path / "pair.pem"
            pair.write_bytes(
                base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"])
            )
            context.load_cert_chain(pair)
            host, _, port = plane.url.removeprefix("https://").rpartition(":")
            client = Client(*await asyncio.open_connection(host, int(port), ssl=context))
            review = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()
            answer = await client.ask(REVIEWS, "POST", review, "Content-Type: application/json\r\n")
            client.writer.close()
            return json.loads(answer.body)["status"]["userInfo"]

    found = asyncio.run(scenario())
    assert (found["username"], found["groups"]) == ("jane", ["dev", "system:masters", "system:authenticated"])


def test_it_is_good_for_as_long_as_was_asked_for(data: Path) -> None:
    address = ("--data", str(data), "--server", "https://plane:6443")
    now = SystemClock().now()
    short = certificate(made("jane", "--for", "90m", *address)).not_valid_after_utc
    assert abs(short - now - timedelta(minutes=90)) < timedelta(minutes=2)
    year = certificate(made("jane", *address)).not_valid_after_utc
    assert abs(year - now - timedelta(days=365)) < timedelta(minutes=2)


def test_a_file_is_for_our_own_user_alone_and_nobody_elses_is_overwritten(data: Path, tmp_path: Path) -> None:
    address, path = ("--data", str(data), "--server", "https://plane:6443"), tmp_path / "jane.kubeconfig"
    for _ in range(2):
        done = CliRunner().invoke(main, ["user", "jane", *address, "-o", str(path)])
        assert done.exit_code == 0, done.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert yaml.safe_load(path.read_text())["users"][0]["name"] == "jane"
    other = tmp_path / "config"
    other.write_text("apiVersion: v1\nkind: Config\n")
    assert "exists and was not written by Setpoint" in refused("jane", *address, "-o", str(other))
    assert other.read_text() == "apiVersion: v1\nkind: Config\n"
    assert "No such file or directory" in refused("jane", *address, "-o", str(tmp_path / "none" / "config"))


def test_what_is_missing_is_named_with_the_remedy(data: Path, tmp_path: Path) -> None:
    where = ("--server", "https://plane:6443")
    assert "no certificate authority in" in refused("jane", "--data", str(tmp_path / "no"), *where)
    assert "pass --server https://HOST:PORT" in refused("jane", "--data", str(data))
    assert "--for soon: time: invalid duration" in refused("jane", "--data", str(data), *where, "--for", "soon")
    assert "--for 0s: expected a positive duration" in refused("jane", "--data", str(data), *where, "--for", "0s")
    assert "1 to 64 characters" in refused("x" * 65, "--data", str(data), *where)
    (data / "authority.pem").write_text("nonsense")
    assert "move the file away" in refused("jane", "--data", str(data), *where)


def test_a_running_server_signs_the_certificate_of_a_user(tmp_path: Path) -> None:
    async def scenario() -> Any:
        async with ControlPlane(data=tmp_path) as plane:
            await plane.listen()
            plane.write_kubeconfig(tmp_path / "admin")
            arguments = ("jane", "--group", "dev", "--for", "1h", "--kubeconfig", str(tmp_path / "admin"))
            config = await asyncio.to_thread(made, *arguments)
            assert config["clusters"][0]["cluster"]["server"] == plane.url
            jane = certificate(config)
            assert jane.not_valid_after_utc - SystemClock().now() <= timedelta(hours=1)
            (tmp_path / "jane").write_text(yaml.safe_dump(config))
            async with ApiClient.from_kubeconfig(tmp_path / "jane") as client:
                review: Any = await client.create(
                    {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
                )
            # A user without the right to approve cannot make another user, and leaves no request behind.
            refusal = await asyncio.to_thread(refused, "joe", "--kubeconfig", str(tmp_path / "jane"))
            masters = await asyncio.to_thread(refused, "joe", "--group", "system:masters", *arguments[-2:])
            async with plane.client() as client:
                left = (await client.list("certificates.k8s.io/v1/CertificateSigningRequest")).items
            return review["status"]["userInfo"], refusal, masters, left

    user, refusal, masters, left = asyncio.run(scenario())
    assert (user["username"], user["groups"]) == ("jane", ["dev", "system:authenticated"])
    assert 'User "jane" cannot create resource "certificatesigningrequests"' in refusal
    assert "system:masters" in masters
    assert left == []


def test_a_server_that_does_not_sign_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.cli.admin.signed_user._WAIT_SECONDS", 0.2)

    async def scenario() -> Any:
        async with ControlPlane(data=tmp_path, system=False) as plane:
            await plane.listen()
            plane.write_kubeconfig(tmp_path / "admin")
            return await asyncio.to_thread(refused, "jane", "--kubeconfig", str(tmp_path / "admin"))

    said = asyncio.run(scenario())
    assert "certificatesigningrequest-signing-controller" in said
    assert "--data DIR" in said


def test_a_lifetime_that_no_server_signs_is_refused(tmp_path: Path) -> None:
    assert "at least 10m" in refused("jane", "--for", "1m", "--kubeconfig", str(tmp_path / "admin"))
