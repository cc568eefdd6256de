"""Lifecycle keys: the same for the same, and where they differ it can be said in what."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.frozen import freeze
from setpoint.workload.lifecycle_key import container_key, difference, executable_key

EXECUTABLE = {"executablePath": "/bin/x", "executionType": "Process", "start": True, "stopTimeout": "6s"}
CONTAINER: dict[str, Any] = {
    "image": "redis",
    "containerName": "cache",
    "ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 2, "protocol": "TCP"}],
    "volumeMounts": [
        {"type": "bind", "source": "/a", "target": "/a"},
        {"type": "bind", "source": "/b", "target": "/b"},
    ],
}
FILES: dict[str, bytes] = {"/src/Dockerfile": b"FROM a", "/secret": b"1", "/f": b"one"}


@pytest.mark.parametrize(
    ("change", "args", "env", "wanted"),
    [
        ({}, ["a"], {"A": "1"}, []),
        ({"stopTimeout": "9s", "restartPolicy": "Always", "mode": "persistent"}, ["a"], {"A": "1"}, []),
        ({"executablePath": "/bin/y"}, ["a"], {"A": "1"}, ["executablePath"]),
        ({"workingDirectory": "/w"}, ["a"], {"A": "1"}, ["workingDirectory"]),
        ({"ambientEnvironment": {"behavior": "Inherit"}}, ["a"], {"A": "1"}, []),
        ({"ambientEnvironment": {"behavior": "DoNotInherit"}}, ["a"], {"A": "1"}, ["ambientEnvironment"]),
        ({}, ["a", ""], {"A": "1"}, ["args"]),
        ({}, ["a"], {"A": "2", "B": ""}, ["env.A", "env.B"]),
        ({"monitorPid": 3, "monitorTimestamp": "2030-01-01T00:00:00.000000Z"}, ["a"], {"A": "1"}, ["monitor"]),
    ],
)
def test_the_key_of_an_executable_differs_where_the_process_would(
    change: dict[str, Any], args: list[str], env: dict[str, str], wanted: list[str]
) -> None:
    old, new = executable_key(EXECUTABLE, ["a"], {"A": "1"}), executable_key({**EXECUTABLE, **change}, args, env)
    assert difference(old.parts, new.parts) == wanted
    assert (old.key == new.key) == (not wanted)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"networks": [{"name": "n"}], "pullPolicy": "always", "persistent": True, "user": ""}, []),
        ({"ports": CONTAINER["ports"][::-1], "volumeMounts": CONTAINER["volumeMounts"][::-1]}, []),
        ({"image": "valkey"}, ["image"]),
        ({"command": "x"}, ["command"]),
        ({"resources": {"memory": "1Gi"}}, ["resources"]),
        ({"labels": [{"key": "a", "value": "b"}]}, ["labels"]),
        ({"terminal": {"cols": 80}}, ["terminal"]),
        ({"imageLayers": [{"digest": "d"}]}, ["imageLayers"]),
        ({"pemCertificates": {"certificates": [{"thumbprint": "t", "contents": "c"}]}}, ["pemCertificates"]),
    ],
)
def test_the_key_of_a_container_covers_all_that_it_was_made_with(change: dict[str, Any], wanted: list[str]) -> None:
    old = container_key(CONTAINER, [], {}, FILES.get)
    new = container_key(freeze({**CONTAINER, **change}), [], {}, FILES.get)
    assert difference(old.parts, new.parts) == wanted
    assert (old.key == new.key) == (not wanted)


def test_the_size_of_a_terminal_and_the_order_of_certificates_do_not_count() -> None:
    one, two = ({"thumbprint": name, "contents": name} for name in "ab")
    first = {**EXECUTABLE, "terminal": {"cols": 80}, "pemCertificates": {"certificates": [one, two]}}
    second = {**EXECUTABLE, "terminal": {"cols": 99}, "pemCertificates": {"certificates": [two, one]}}
    assert executable_key(first, [], {}) == executable_key(second, [], {})


@pytest.mark.parametrize(
    ("path", "wanted"),
    [("/src/Dockerfile", ["build.dockerfile"]), ("/secret", ["build.secrets"]), ("/f", ["createFiles"])],
)
def test_what_files_contain_counts(path: str, wanted: list[str]) -> None:
    spec = {
        "build": {"context": "/src", "secrets": [{"type": "file", "id": "s", "source": "/secret"}]},
        "createFiles": [{"entries": [{"name": "d", "type": "directory", "entries": [{"name": "f", "source": "/f"}]}]}],
    }
    old = container_key(spec, [], {}, FILES.get)
    new = container_key(spec, [], {}, {**FILES, path: b"other"}.get)
    assert difference(old.parts, new.parts) == wanted


def test_build_arguments_count_in_any_order() -> None:
    one, two = {"name": "A", "value": "1"}, {"name": "B", "value": "2"}
    keys = [
        container_key({"build": {"context": "/src", "args": args}}, [], {}, FILES.get)
        for args in ([one, two], [two, one], [one])
    ]
    assert keys[0] == keys[1]
    assert difference(keys[0].parts, keys[2].parts) == ["build.args"]


def test_a_key_that_the_spec_gives_is_the_key() -> None:
    assert executable_key({**EXECUTABLE, "lifecycleKey": "mine"}, ["x"], {}).key == "mine"
    assert container_key({"lifecycleKey": "mine"}, ["x"], {}, FILES.get).key == "mine"


@given(st.dictionaries(st.text(min_size=1), st.text()), st.dictionaries(st.text(min_size=1), st.text()))
def test_two_environments_have_the_same_key_only_if_they_are_the_same(one: dict[str, str], two: dict[str, str]) -> None:
    keys = [executable_key(EXECUTABLE, [], env) for env in (one, two)]
    assert (keys[0].key == keys[1].key) == (one == two)
    names = {f"env.{name}" for name in one.keys() | two.keys() if one.get(name) != two.get(name)}
    assert set(difference(keys[0].parts, keys[1].parts)) == names
