"""What engines say and what users write, in tables: errors, ignored files, flags, and the bodies of requests."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.workload.engine import errors, reference
from setpoint.workload.engine.body import EngineNetwork, create_body
from setpoint.workload.engine.run_args import BadArgument, apply_run_args
from setpoint.workload.ignore_patterns import by_docker


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cases" / f"{name}.yaml").read_text())
    return found


@pytest.mark.parametrize("case", cases("errors"), ids=lambda case: f"{case['who']}: {case['says'][:40]}")
def test_an_error_is_known_by_its_status_and_words(case: dict[str, Any]) -> None:
    error = errors.error_from(case["status"], case["says"])
    assert type(error).__name__ == case["is"]
    assert (error.status, str(error)) == (case["status"], case["says"])


def test_the_words_of_an_error_are_taken_from_either_engines_json() -> None:
    assert errors.error_of(500, b'{"cause":"x","message":"why it is","response":500}').message == "why it is"
    assert errors.error_of(500, b"page not found\n").message == "page not found"
    assert errors.error_of(500, b"").message == "the engine responded with status 500"


@pytest.mark.parametrize("case", cases("dockerignore"), ids=lambda case: case["name"])
def test_a_dockerignore_leaves_out_what_docker_would(case: dict[str, Any]) -> None:
    ignored = by_docker("\n".join(case["patterns"]))
    assert [path for path in case["out"] if not ignored(path)] == []
    assert [path for path in case["kept"] if ignored(path)] == []


@pytest.mark.parametrize("pattern", ["a[b", "[", "[]a]", "[-]", "[x-]", "[-x]", "[a-b-c]", "[^", "a\\", "!", "! "])
def test_a_dockerignore_that_docker_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"invalid pattern|has no pattern"):
        by_docker(f"fine\n{pattern}\n")


@pytest.mark.parametrize("case", cases("run_args"), ids=lambda case: case["name"])
def test_run_args_go_into_the_body(case: dict[str, Any]) -> None:
    body: dict[str, Any] = {}
    if "refused" in case:
        with pytest.raises(BadArgument) as refused:
            apply_run_args(body, case["args"])
        assert case["refused"] in str(refused.value)
        return
    assert apply_run_args(body, case["args"]) == case.get("platform", "")
    assert body == case["body"]


@pytest.mark.parametrize("case", cases("create_body"), ids=lambda case: case["name"])
def test_a_container_is_asked_for_as_its_spec_says(case: dict[str, Any]) -> None:
    given = case.get("given") or {}
    networks = [EngineNetwork(each["network"], each.get("aliases") or ()) for each in given.pop("networks", ())]
    request = create_body(case["spec"], networks=networks, **given)
    assert request.body == {"Image": "", "Env": [], "Labels": {}, "HostConfig": {}, **case["body"]}
    assert request.platform == case.get("platform", "")
    assert [place.network for place in request.more_networks] == case.get("more_networks", [])


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("web", "docker.io", "library/web", "latest", ""),
        ("me/web:1", "docker.io", "me/web", "1", ""),
        ("localhost/web", "localhost", "web", "latest", ""),
        ("reg.example:5000/a/b:2", "reg.example:5000", "a/b", "2", ""),
        ("reg.example/a@sha256:ab", "reg.example", "a", "", "sha256:ab"),
        ("index.docker.io/web:3@sha256:ab", "docker.io", "library/web", "3", "sha256:ab"),
    ],
)
def test_the_name_of_an_image_is_read_as_docker_does(
    text: str, registry: str, repository: str, tag: str, digest: str
) -> None:
    assert reference.parse(text) == (registry, repository, tag, digest)
