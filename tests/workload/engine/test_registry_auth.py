"""Who we are to a registry, from what Docker's and Podman's own clients keep."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from setpoint.workload.engine.auth import every_registry, registry_auth


def secret(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def told(header: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(header)) if header else None


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".docker").mkdir()
    return tmp_path


def write(home: Path, config: dict[str, Any]) -> dict[str, str]:
    (home / ".docker" / "config.json").write_text(json.dumps(config))
    return {"HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}"}


def helper(home: Path, name: str, script: str) -> None:
    """A credential helper."""
    program = home / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\nread server\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("image", "key"),
    [
        ("web:1", "https://index.docker.io/v1/"),
        ("reg.example:5000/a/web", "reg.example:5000"),
        ("reg.example/web", "https://reg.example/v2/"),
    ],
)
async def test_an_entry_of_the_registry_is_taken(home: Path, image: str, key: str) -> None:
    auths = {key: {"auth": secret("me", "pass:word")}, "other.example": {"auth": secret("no", "no")}}
    found = told(await registry_auth(image, write(home, {"auths": auths})))
    assert (found["username"], found["password"]) == ("me", "pass:word")


async def test_without_an_entry_we_are_nobody(home: Path) -> None:
    environ = write(home, {"auths": {"other.example": {"auth": secret("me", "x")}}})
    assert await registry_auth("reg.example/web", environ) == ""
    (home / ".docker" / "config.json").write_text("{ broken")
    assert await registry_auth("other.example/web", environ) == ""
    assert await registry_auth("web", {"HOME": str(home / "nowhere")}) == ""


async def test_a_token_stands_for_a_password(home: Path) -> None:
    environ = write(home, {"auths": {"reg.example": {"identitytoken": "abc"}}})
    assert told(await registry_auth("reg.example/web", environ))["identitytoken"] == "abc"


async def test_the_helper_of_a_registry_is_asked_before_the_store_of_all(home: Path) -> None:
    helper(home, "one", """echo '{"Username": "one", "Secret": "'$server'"}'""")
    helper(home, "all", """echo '{"Username": "<token>", "Secret": "t"}'""")
    environ = write(home, {"credHelpers": {"reg.example": "one"}, "credsStore": "all"})
    found = told(await registry_auth("reg.example/web", environ))
    assert (found["username"], found["password"]) == ("one", "reg.example")
    assert told(await registry_auth("other.example/web", environ))["identitytoken"] == "t"


@pytest.mark.parametrize("script", ["exit 1", "echo no json", "echo '{}'"])
async def test_a_helper_that_knows_nothing_is_no_reason_to_stop(home: Path, script: str) -> None:
    helper(home, "bad", script)
    assert await registry_auth("reg.example/web", write(home, {"credsStore": "bad"})) == ""
    assert await registry_auth("reg.example/web", write(home, {"credsStore": "absent"})) == ""


async def test_podmans_file_counts_where_dockers_says_nothing(home: Path) -> None:
    environ = {**write(home, {}), "XDG_RUNTIME_DIR": str(home)}
    (home / "containers").mkdir()
    (home / "containers" / "auth.json").write_text(
        json.dumps({"auths": {"reg.example": {"auth": secret("pod", "man")}}})
    )
    assert told(await registry_auth("reg.example/web", environ))["username"] == "pod"


async def test_a_build_gets_all_that_are_known(home: Path) -> None:
    helper(home, "one", """echo '{"Username": "one", "Secret": "s"}'""")
    auths = {"a.example": {"auth": secret("a", "x")}}
    found = told(await every_registry(write(home, {"auths": auths, "credHelpers": {"b.example": "one"}})))
    assert {name: each["username"] for name, each in found.items()} == {"a.example": "a", "b.example": "one"}
    assert await every_registry({"HOME": str(home / "nowhere")}) == ""
