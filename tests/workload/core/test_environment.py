"""The environment of a workload: where its variables come from, and which of them are shown."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.core.template_world import World

from setpoint.workload.dotenv import DotenvError, parse
from setpoint.workload.environment import Environment, EnvironmentProblem, arguments, environment
from setpoint.workload.templates import NotYet

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "dotenv.yaml").read_text())
AROUND = {"HOME": "/home/ada"}


@pytest.mark.parametrize("case", CASES, ids=[str(index) for index in range(len(CASES))])
def test_a_file_has_the_variables_that_godotenv_and_compose_read(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(DotenvError) as wrong:
            parse(case["text"], AROUND)
        assert str(wrong.value) == case["error"]
    else:
        assert parse(case["text"], AROUND) == case["vars"]


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True),
        st.text(alphabet=st.characters(exclude_characters="'\\\r")),
    )
)
def test_what_is_written_in_single_quotes_is_read_as_it_was(variables: dict[str, str]) -> None:
    text = "".join(f"{name}='{value}'\n" for name, value in variables.items())
    assert parse(text, {}) == variables


def made(kind: str = "Executable", *, files: dict[str, str] | None = None, **spec: Any) -> Environment:
    contents = {path: text.encode() for path, text in (files or {}).items()}

    def read(path: str) -> bytes:
        if path not in contents:
            raise FileNotFoundError(path)
        return contents[path]

    tree = {"kind": kind, "metadata": {"name": "web"}, "spec": spec}
    return environment(tree, ambient={"A": "ambient", "B": "ambient", "X": "{{ nonsense"}, read=read, lookup=World())


def test_the_spec_counts_before_files_and_later_files_before_earlier_and_all_before_what_is_inherited() -> None:
    files = {"one": "B=one\nC=one\nD=one", "two": "C=two\nD=two"}
    found = made(files=files, envFiles=["one", "two"], env=[{"name": "D", "value": "spec"}])
    assert found.values == {"A": "ambient", "B": "one", "C": "two", "D": "spec", "X": "{{ nonsense"}
    assert found.explicit == {"B", "C", "D"}


def test_what_is_inherited_is_never_taken_for_a_template() -> None:
    assert made().values["X"] == "{{ nonsense"


def test_files_of_executables_may_have_templates_and_those_of_containers_not() -> None:
    files = {"one": 'P={{ portFor "db" }}'}
    assert made(files=files, envFiles=["one"]).values["P"] == "5432"
    assert made("Container", files=files, envFiles=["one"]).values["P"] == '{{ portFor "db" }}'


def test_secrets_are_given_and_not_shown() -> None:
    found = made(env=[{"name": "P", "value": '{{ secret "db" "password" }}'}, {"name": "E"}])
    assert found.values["P"] == "s3cret"
    assert {"name": "P", "value": "******"} in found.to_json()
    assert {"name": "E", "value": ""} in found.to_json()
    assert "s3cret" not in str(found.to_json())


def test_variables_between_an_ide_and_the_control_plane_are_left_out() -> None:
    tree = {"kind": "Executable", "metadata": {"name": "x"}, "spec": {"env": [{"name": "DCP_A", "value": "1"}]}}
    ambient = {
        "DEBUG_SESSION_PORT": "1",
        "DCP_X": "2",
        "SETPOINT_WORKLOAD": "outer",
        "DCPX": "stays",
        "MY_DCP_": "stays",
    }
    found = environment(tree, ambient=ambient, read=lambda path: b"", lookup=World())
    assert found == ({"DCPX": "stays", "MY_DCP_": "stays"},) * 2 + (frozenset(),)


def test_where_case_does_not_count_the_later_variable_replaces_the_earlier() -> None:
    tree = {"kind": "Executable", "metadata": {"name": "x"}, "spec": {"env": [{"name": "PATH", "value": "new"}]}}
    found = environment(tree, ambient={"Path": "old"}, read=lambda path: b"", lookup=World(), ignores_case=True)
    assert found.values == {"PATH": "new"}


def test_all_that_variables_wait_for_is_said_at_once() -> None:
    with pytest.raises(NotYet, match="Service a: it does not exist; Service b: it does not exist"):
        made(env=[{"name": "A", "value": '{{ portFor "a" }}'}, {"name": "B", "value": '{{ portFor "b" }}'}])


@pytest.mark.parametrize(
    ("files", "spec", "reason", "message"),
    [
        (
            {},
            {"envFiles": ["x"]},
            "EnvFileNotFound",
            "environment file x does not exist; create the file",
        ),
        ({"x": "a b"}, {"envFiles": ["x"]}, "EnvFileInvalid", "environment file x, line 1: 'a b' is not a variable"),
        (
            {},
            {"env": [{"name": "A", "value": "{{ no }}"}]},
            "InvalidTemplate",
            "variable A of spec.env: unknown",
        ),
        ({}, {"env": [{"name": "A", "value": "a\0"}]}, "InvalidValue", "variable A of spec.env contains a NUL"),
    ],
)
def test_an_environment_that_cannot_be_had_says_why_and_what_to_do(
    files: dict[str, str], spec: dict[str, Any], reason: str, message: str
) -> None:
    with pytest.raises(EnvironmentProblem) as problem:
        made(files=files, **spec)
    assert problem.value.reason == reason
    assert str(problem.value).startswith(message)


def test_a_file_that_is_unreadable_or_no_text_is_a_problem_with_its_remedy() -> None:
    tree = {"kind": "Executable", "metadata": {"name": "x"}, "spec": {"envFiles": ["x"]}}

    def denied(path: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(EnvironmentProblem, match="cannot be read: Permission denied; check its permissions"):
        environment(tree, ambient={}, read=denied, lookup=World())
    with pytest.raises(EnvironmentProblem, match="is not UTF-8 text"):
        environment(tree, ambient={}, read=lambda path: b"\xff", lookup=World())


def test_arguments_are_filled_in_and_a_fault_names_the_argument() -> None:
    subject = {"kind": "Executable", "metadata": {"name": "web"}, "spec": {}}
    found = arguments(["--port", '{{ portFor "db" }}', '{{ secret "db" "password" }}'], subject, World())
    assert [each.text for each in found] == ["--port", "5432", "s3cret"]
    assert [each.shown for each in found] == ["--port", "5432", "******"]
    with pytest.raises(EnvironmentProblem, match=r"spec.args\[1\]: unknown function x"):
        arguments(["a", "{{ x }}"], subject, World())
    with pytest.raises(NotYet, match="Service a: it does not exist"):
        arguments(['{{ portFor "a" }}'], subject, World())


@pytest.mark.parametrize("as_dcp", [True, False])
def test_the_files_of_a_container_are_not_shown_to_clients_of_dcp(as_dcp: bool) -> None:
    spec = {"envFiles": ["f"], "env": [{"name": "B", "value": "spec"}]}
    tree = {"kind": "Container", "metadata": {"name": "web"}, "spec": spec}
    notes: list[str] = []
    tolerate = notes.append if as_dcp else None
    found = environment(tree, ambient={}, read=lambda path: b"A=1\nB=2\n", lookup=World(), tolerate=tolerate)
    assert found.values == {"A": "1", "B": "spec"}
    assert found.shown == ({"B": "spec"} if as_dcp else {"A": "1", "B": "spec"})
