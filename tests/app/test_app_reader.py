"""An app file is read, and every mistake in it is named, with file, line, column and what to write."""

from pathlib import Path
from typing import Any

import pytest
from tests.app.apps import cases, rendered, written

from setpoint.app.commands import command
from setpoint.app.disk import missing
from setpoint.app.reader import find_app_file, parse_app, read_app
from setpoint.app.references import BadReference, ValueReference, parse
from setpoint.objects.typedyaml import Mistakes


@pytest.mark.parametrize("case", cases("mistakes"), ids=lambda case: str(case["name"]))
def test_a_mistake_is_named_with_its_place_and_a_remedy(tmp_path: Path, case: dict[str, Any]) -> None:
    file = written(tmp_path, case["text"], case.get("files"))
    with pytest.raises(Mistakes) as refusal:
        rendered(file, {"DB": "x"})
    found = [str(each).replace(str(tmp_path), "DIR") for each in refusal.value.found]
    assert len(found) == len(case["found"]), found
    for said, wanted in zip(found, case["found"], strict=True):
        assert said.startswith(wanted), found


@pytest.mark.parametrize("case", cases("commands"), ids=lambda case: str(case["run"]))
def test_a_command_runs_without_a_shell_unless_it_needs_one(case: dict[str, Any]) -> None:
    found = command(case["run"])
    words = [
        "".join(part if isinstance(part, str) else f"<{'.'.join(part.path)}>" for part in word) for word in found.words
    ]
    assert words == case["words"]


def test_variables_have_the_texts_that_are_written() -> None:
    app = parse_app("env: {VERSION: 1.10, ANSWER: yes, MODE: 0777, Y: n, NONE: , QUOTED: 'off', BIG: 1_000}")
    assert app.env == {
        "VERSION": "1.10",
        "ANSWER": "yes",
        "MODE": "0777",
        "Y": "n",
        "NONE": None,
        "QUOTED": "off",
        "BIG": "1_000",
    }


def test_dollars_are_doubled_to_stand_for_themselves() -> None:
    assert parse("a $$b $${c} $d ${env.E:-f}g") == ["a $b ${c} $d ", ValueReference(("env", "E"), "f"), "g"]
    with pytest.raises(BadReference, match="not closed"):
        parse("${")


def test_an_app_without_a_name_is_called_as_its_directory(tmp_path: Path) -> None:
    (tmp_path / "My Shop!").mkdir()
    assert read_app(written(tmp_path / "My Shop!", "services: {a: {run: a}}")).app.app == "my-shop"


def test_the_file_is_found_from_any_directory_below(tmp_path: Path) -> None:
    file = written(tmp_path, "")
    (tmp_path / "a/b").mkdir(parents=True)
    assert find_app_file(tmp_path / "a/b") == file
    assert find_app_file(tmp_path) == file


def test_what_is_included_keeps_its_own_paths(tmp_path: Path) -> None:
    infra = """
        services:
          db: {build: ., volumes: [./data:/data, named:/x], env_file: db.env}
          cache: {run: ./cache, watch: [src]}
        secrets: {key: {file: key.txt}}
        objects: [demo.yaml]
        controllers: [ours.py, package.module]
        env: {A: infra, B: infra}
    """
    app = read_app(written(tmp_path, "include: [infra/app.yaml]\nenv: {A: main}\n", {"infra/app.yaml": infra})).app
    assert app.env == {"A": "main", "B": "infra"}
    assert (app.services["db"].build, app.services["db"].env_file) == ("infra/.", ("infra/db.env",))
    assert app.services["db"].volumes == ("./infra/./data:/data", "named:/x")
    assert (app.services["cache"].dir, app.services["cache"].watch) == ("infra/.", ("infra/src",))
    assert app.secrets["key"].file == "infra/key.txt"
    assert app.objects == ("infra/demo.yaml",)
    assert [str(getattr(each, "module", each)) for each in app.controllers] == ["infra/ours.py", "package.module"]


def test_profiles_take_out_bring_in_and_change(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        services:
          api: {run: a, env: {A: '1', B: '2'}, after: [db, web]}
          web: {run: a, after: api}
          db: {run: a}
          debug: {run: a, profiles: [dev]}
        profiles:
          ci: {web: off, api: {env: {B: '3'}, run: b}, debug: on}
        """,
    )
    assert list(read_app(file).app.services) == ["api", "web", "db"]
    assert list(read_app(file, ["dev"]).app.services) == ["api", "web", "db", "debug"]
    chosen = read_app(file, ["ci"]).app
    assert list(chosen.services) == ["api", "db", "debug"]
    api = chosen.services["api"]
    assert (api.run, api.env, api.after) == ("b", {"A": "1", "B": "3"}, ("db",))
    with pytest.raises(Mistakes, match="unknown profile cci; did you mean ci"):
        read_app(file, ["cci"])


def test_what_the_machine_does_not_have_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/plain").write_text("")
    read = read_app(
        written(
            tmp_path,
            """
            services:
              a: {run: no-such-program --x}
              b: {run: sh -c true}
              c: {run: ./server}
              d: {run: plain/x, dir: nowhere}
              e: {run: ./plain, dir: bin, env_file: none.env}
              f: {build: nowhere}
              g: {run: a | b}
            controllers: [none.py, some.module]
            """,
        )
    )
    found = [f"{read.where(path)}: {message}".replace(str(tmp_path), "DIR") for path, message in
             missing(read.app, read.directory, {"PATH": "/bin:/usr/bin"})]  # fmt: skip
    assert found == [
        "setpoint.yaml:3:19: program no-such-program not found in PATH; install the program, or write a path such as "
        "./no-such-program",
        "setpoint.yaml:5:19: file ./server not found in DIR",
        "setpoint.yaml:6:33: directory nowhere not found in DIR",
        "setpoint.yaml:7:43: file none.env not found in DIR",
        "setpoint.yaml:7:19: ./plain is not executable; run chmod +x ./plain",
        "setpoint.yaml:8:19: directory nowhere not found in DIR",
        "setpoint.yaml:10:27: file none.py not found in DIR",
    ]


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        (".venv/bin/serve", "activate the virtual environment first: . .venv/bin/activate"),
        ("venv/bin/serve", "activate the virtual environment first: . venv/bin/activate"),
        ("node_modules/.bin/serve", "write npx serve, or run this command through an npm script"),
        ("other", "install the program, or write a path such as ./serve"),
    ],
)
def test_the_remedy_names_the_programs_of_the_project(tmp_path: Path, file: str, remedy: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("")
    read = read_app(written(tmp_path, "services: {a: {run: serve}}"))
    [(_, message)] = missing(read.app, read.directory, {"PATH": "/bin"})
    assert message == f"program serve not found in PATH; {remedy}"


def test_merged_fields_are_overridden_by_own_fields_in_any_order() -> None:
    app = parse_app(
        """
x-base: &base {run: sh base, env: {A: 1.10, on: yes}}
x-more: &more {dir: more, run: sh more}
services:
  one:
    <<: *base
    run: sh one
  two:
    run: sh two
    <<: [*more, *base]
"""
    )

    one, two = app.services["one"], app.services["two"]
    assert (one.run, one.env, one.dir) == ("sh one", {"A": "1.10", "on": "yes"}, "")
    assert (two.run, two.env, two.dir) == ("sh two", {"A": "1.10", "on": "yes"}, "more")


def test_a_mistake_in_a_merged_field_has_the_place_of_the_anchor() -> None:
    with pytest.raises(Mistakes) as refusal:
        parse_app("x-base: &base\n  replicas: many\nservices:\n  a:\n    run: sh\n    <<: *base\n")

    (mistake,) = refusal.value.found
    assert (mistake.where, mistake.path) == ("setpoint.yaml:2:3", "services.a.replicas")


def test_a_field_that_is_written_twice_is_a_mistake_also_after_a_merge() -> None:
    with pytest.raises(Mistakes, match='line 6: key "run" already set in map'):
        parse_app("x-base: &base {run: sh}\nservices:\n  a:\n    <<: *base\n    run: one\n    run: two\n")
