"""Positions, messages and options of the resolver, beyond the comparison with compose-go."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from setpoint.app.compose.project import ComposeError, Problem, Project
from setpoint.app.compose.resolver import resolve


def _resolved(files: dict[str, str], environ: dict[str, str] | None = None, **options: Any) -> Project:
    texts = {f"/app/{name}": text for name, text in files.items()}
    return resolve([], directory=Path("/app"), read=texts.get, environ=environ or {}, **options)


def _problems(files: dict[str, str], environ: dict[str, str] | None = None) -> list[Problem]:
    with pytest.raises(ComposeError) as raised:
        _resolved(files, environ)
    return list(raised.value.problems)


def test_a_position_is_that_of_the_last_file_that_sets_the_value() -> None:
    project = _resolved(
        {
            "compose.yaml": "services:\n  web:\n    image: a\n    ports:\n      - 80:80\n    environment:\n      - A=1",
            "compose.override.yaml": "services:\n  web:\n    image: b\n    ports: ['81:81']\n",
        }
    )

    assert project.position("services.web.image") == ("/app/compose.override.yaml", 3, 5)
    assert project.position("services.web.ports[0]") == ("/app/compose.yaml", 5, 9)
    assert project.position("services.web.ports[1].published") == ("/app/compose.override.yaml", 4, 13)
    assert project.position("services.web.environment.A") == ("/app/compose.yaml", 7, 9)
    assert project.position("services.web.missing") == ("/app/compose.override.yaml", 2, 3)


def test_a_position_of_a_merged_key_is_that_of_the_anchor() -> None:
    text = "x-base: &base\n  image: a\n  labels: {l: '1'}\nservices:\n  my.web:\n    <<: *base\n    command: run\n"

    project = _resolved({"compose.yaml": text})

    assert project.position("services.my.web.image") == ("/app/compose.yaml", 2, 3)
    assert project.position("services.my.web.labels.l") == ("/app/compose.yaml", 3, 12)
    assert project.position("services.my.web.command") == ("/app/compose.yaml", 7, 5)


def test_an_unknown_key_has_its_place_and_the_nearest_key() -> None:
    text = "services:\n  web:\n    image: a\n    enviroment: {A: 1}\n    prots: [80]\n"

    first, second = _problems({"compose.yaml": text})

    assert first[:4] == ("/app/compose.yaml", 4, 5, "services.web.enviroment")
    assert "did you mean environment?" in first.text
    assert (second.line, second.path) == (5, "services.web.prots")
    assert "did you mean ports?" in second.text


def test_all_problems_of_a_file_are_reported_at_once() -> None:
    text = (
        "services:\n"
        "  web:\n"
        "    image: a:${TAG:?needed}\n"
        "    privileged: ${P:-maybe}\n"
        "    unknown: 1\n"
        "  db:\n"
        "    ports: 5\n"
    )

    assert [(each.line, each.path) for each in _problems({"compose.yaml": text})] == [
        (3, "services.web.image"),
        (4, "services.web.privileged"),
        (5, "services.web.unknown"),
        (7, "services.db.ports"),
    ]


def test_each_bad_port_is_named() -> None:
    text = "services:\n  web:\n    image: a\n    ports:\n      - 80:80\n      - '1:99999'\n      - x\n"

    assert [each.path for each in _problems({"compose.yaml": text})] == [
        "services.web.ports[1]",
        "services.web.ports[2]",
    ]


def test_undefined_references_are_reported_together_with_their_places() -> None:
    text = "services:\n  web:\n    image: a\n    depends_on: [dB]\n    volumes:\n      - data:/x\n  db:\n    image: b\n"

    first, second = _problems({"compose.yaml": text})

    assert (first.line, first.path) == (4, "services.web.depends_on.dB")
    assert "did you mean db?" in first.text
    assert (second.line, second.path) == (6, "services.web.volumes[0]")


def test_a_problem_of_an_included_file_names_that_file() -> None:
    files = {"compose.yaml": "include: [sub/part.yaml]\n", "sub/part.yaml": "services:\n  a:\n    imag: x\n"}

    (problem,) = _problems(files)

    assert problem[:4] == ("/app/sub/part.yaml", 3, 5, "services.a.imag")


def test_an_unset_variable_gives_a_warning_with_its_place() -> None:
    project = _resolved({"compose.yaml": "services:\n  web:\n    image: a:$TAG\n"})

    (warning,) = project.warnings
    assert warning[:4] == ("/app/compose.yaml", 3, 5, "services.web.image")
    assert "TAG" in warning.text


def test_an_obsolete_version_gives_a_warning() -> None:
    project = _resolved({"compose.yaml": "version: '3'\nservices:\n  a:\n    image: a\n"})

    assert [(each.line, each.path) for each in project.warnings] == [(1, "version")]


def test_references_stay_in_texts_without_interpolation() -> None:
    text = """
services:
  web:
    image: web:${TAG:-1}
    ports: ["${PORT:-8000}:80", "${HOST:-127.0.0.1}:${P2}:90/udp", "70:70"]
    volumes: ["${DATA:-./data}:/data", "${NAME:-named}:/n:ro"]
    environment: {A: "${A}", B: "$$x"}
    privileged: ${PRIVILEGED:-false}
    mem_limit: ${MEM:-1g}
    scale: ${SCALE:-2}
    healthcheck: {test: "true", interval: "${EVERY:-5s}"}
volumes: {named: }
"""

    web = _resolved({"compose.yaml": text}, interpolate=False).services["web"]

    assert web["image"] == "web:${TAG:-1}"
    assert web["ports"] == [
        {"mode": "ingress", "target": 80, "published": "${PORT:-8000}", "protocol": "tcp"},
        {"mode": "ingress", "host_ip": "${HOST:-127.0.0.1}", "target": 90, "published": "${P2}", "protocol": "udp"},
        {"mode": "ingress", "target": 70, "published": "70", "protocol": "tcp"},
    ]
    assert [(each["type"], each["source"]) for each in web["volumes"]] == [
        ("bind", "${DATA:-./data}"),
        ("volume", "${NAME:-named}"),
    ]
    assert web["environment"] == {"A": "${A}", "B": "$$x"}
    assert [web[key] for key in ("privileged", "mem_limit", "scale")] == [
        "${PRIVILEGED:-false}",
        "${MEM:-1g}",
        "${SCALE:-2}",
    ]
    assert web["healthcheck"]["interval"] == "${EVERY:-5s}"


def test_a_raw_file_of_variables_is_read_without_quotes_and_references() -> None:
    files = {
        "compose.yaml": "services: {a: {image: a, env_file: [{path: a.env, format: raw}]}}",
        "a.env": "# comment\nA='quoted' $X\n  B=b # text\nHERE\nGONE\n",
    }

    project = _resolved(files, {"HERE": "yes"})

    assert project.services["a"]["environment"] == {"A": "'quoted' $X", "B": "b # text", "HERE": "yes"}


def test_the_variable_with_env_files_replaces_the_default_file() -> None:
    files = {"compose.yaml": "services: {a: {image: 'a:${T}'}}", ".env": "T=1", "x.env": "T=2\n", "y.env": "T=3\n"}

    assert _resolved(files, {"COMPOSE_ENV_FILES": "x.env,y.env"}).services["a"]["image"] == "a:3"
    assert _resolved(files, {"COMPOSE_DISABLE_ENV_FILE": "true", "T": "9"}).services["a"]["image"] == "a:9"


def test_an_invalid_name_of_the_project_is_refused() -> None:
    (problem,) = _problems({"compose.yaml": "services: {a: {image: a}}"}, {"COMPOSE_PROJECT_NAME": "Bad Name"})

    assert "'Bad Name'" in problem.text


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ComposeError, match=r"/app: there is no Compose file; create compose.yaml"):
        _resolved({})
    with pytest.raises(ComposeError, match=r"/app/x.yaml: the file does not exist"):
        resolve(["x.yaml"], directory=Path("/app"), read=lambda path: None, environ={})


def test_all_files_that_were_read_are_listed() -> None:
    files = {
        "compose.yaml": "include: [b.yaml]\nservices: {a: {image: a, env_file: a.env}}",
        "b.yaml": "services: {b: {image: b}}",
        "a.env": "A=1\n",
        ".env": "B=1\n",
    }

    assert set(_resolved(files).files) == {f"/app/{name}" for name in files}


def test_aliases_that_multiply_a_file_are_refused() -> None:
    lines = ["x0: &x0 [a, a, a, a, a, a, a, a, a, a]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 8)]

    (problem,) = _problems({"compose.yaml": "\n".join(lines)})

    assert "values with its aliases" in problem.text


def test_an_alias_to_itself_is_refused() -> None:
    (problem,) = _problems({"compose.yaml": "services: &s\n  a: *s\n"})

    assert problem[:3] == ("/app/compose.yaml", 2, 6)
    assert "contains itself" in problem.text


def test_a_deeply_nested_file_is_refused() -> None:
    (problem,) = _problems({"compose.yaml": "x: " + "[" * 1000 + "]" * 1000})

    assert "nested" in problem.text


def test_a_file_that_includes_itself_through_many_files_is_refused() -> None:
    files = {"compose.yaml": "include: [a.yaml]", "a.yaml": "include: [b.yaml]", "b.yaml": "include: [a.yaml]"}

    (problem,) = _problems(files)

    assert problem.file == "/app/b.yaml"
    assert "includes itself" in problem.text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("export \n\nA=1\n", {"A": "1"}),
        ("A='x'\nexport B=$A\n", {"A": "x", "B": "x"}),
        ("A=1 #c\nB=1#c\n", {"A": "1", "B": "1#c"}),
    ],
)
def test_files_of_variables_are_read_as_by_compose(text: str, value: dict[str, str]) -> None:
    files = {"compose.yaml": "services: {a: {image: a, env_file: a.env}}", "a.env": text}

    assert _resolved(files).services["a"]["environment"] == value


def test_a_port_zero_and_a_missing_name_of_a_variable_are_refused() -> None:
    (problem,) = _problems({"compose.yaml": "services: {a: {image: a, ports: ['0']}}"})
    assert "is 0" in problem.text

    (problem,) = _problems({"compose.yaml": "services: {a: {image: a, env_file: a.env}}", "a.env": "export "})
    assert problem[:2] == ("/app/a.env", 1)


def test_the_environment_is_not_used_without_interpolation() -> None:
    files = {
        "compose.yaml": """
services:
  map: {image: a, environment: {SET: , OTHER: x}, env_file: "${FILE:-a.env}", build: {args: {SET: }}}
  list: {image: a, environment: [SET, OTHER=x], env_file: absent.env, build: {args: [SET]}}
""",
    }

    services = _resolved(files, {"SET": "value"}, interpolate=False).services

    for name in ("map", "list"):
        assert services[name]["environment"] == {"SET": None, "OTHER": "x"}
        assert services[name]["build"]["args"] == {"SET": None}
    assert services["map"]["env_file"] == [{"path": "${FILE:-a.env}"}]
    assert services["list"]["env_file"] == [{"path": "/app/absent.env"}]


def test_an_app_without_compose_files_does_not_import_the_resolver() -> None:
    program = "import sys, setpoint.app.loader, setpoint.app.reader; print('setpoint.app.compose' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout == "False\n"


@pytest.mark.parametrize("value", ["5", "[1]", "text", "{a: [1]}", "{a: {ports: [1.5]}}", "{a: {networks: [true]}}"])
def test_an_extended_file_of_the_wrong_form_is_refused(value: str) -> None:
    files = {
        "compose.yaml": "services: {b: {image: b, extends: {file: base.yaml, service: a}}}",
        "base.yaml": f"services: {value}",
    }

    assert _problems(files)


def test_a_section_that_is_not_a_mapping_is_refused_beside_an_included_file() -> None:
    files = {"compose.yaml": "include: [a.yaml]\nservices: []\n", "a.yaml": "services: {a: {image: a}}"}

    (problem,) = _problems(files)

    assert problem[:4] == ("/app/compose.yaml", 2, 1, "services")


def test_a_job_needs_a_trigger() -> None:
    (problem,) = _problems({"compose.yaml": "services: {a: {image: a}}\njobs: {j: {image: j, triggers: {}}}\n"})

    assert (problem.line, problem.path) == (2, "jobs.j.triggers")
    assert "manual or schedule" in problem.text


def test_a_negative_number_of_retries_is_refused() -> None:
    (problem,) = _problems({"compose.yaml": "services: {a: {image: a, healthcheck: {test: x, retries: -1}}}"})

    assert (problem.path, "0 or more" in problem.text) == ("services.a.healthcheck.retries", True)
