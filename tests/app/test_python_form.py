"""Apps built in Python are those of files: the same model, the same mistakes, the same objects."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.app.apps import cases, written

import setpoint as sp
from setpoint.app.builder import rendered
from setpoint.app.loader import load_app
from setpoint.app.model import AppFile, Controller, Network, Secret, Service, Task, Volume
from setpoint.app.parts import Build, Logs, Mount, Port, Probe, Resources, Restart, Stop, Sync, Terminal, Watch
from setpoint.app.reader import parse_app
from setpoint.app.yaml_output import app_yaml
from setpoint.objects.typedyaml import Mistakes

MEANS_SOMETHING_ELSE = ["yes", "1.10", "on", "~", "null", "0777", "1e3", "12:30", "a: b", "- x", "#", "${env.X:-y}"]
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff\ufffe\uffff")
TEXTS = st.one_of(st.sampled_from([*MEANS_SOMETHING_ELSE, "é\n x"]), st.text(LETTERS, max_size=8))
NAMES = st.sampled_from(["a", "b-c", "on", "y", "7", "true"])
MANY = st.lists(TEXTS, max_size=2).map(tuple)
WORDS = st.one_of(TEXTS, MANY)
PORTS = st.integers(1, 65535)
ENV = st.dictionaries(st.one_of(NAMES, TEXTS), st.one_of(st.none(), TEXTS), max_size=3)
MAPS = st.dictionaries(NAMES, TEXTS, max_size=2)
PROBES = st.one_of(
    TEXTS,
    st.builds(
        Probe,
        http=TEXTS,
        tcp=st.one_of(st.booleans(), TEXTS),
        exec=WORDS,
        headers=MAPS,
        fail=st.one_of(st.none(), st.integers(1, 9)),
    ),
)
WORKLOAD: dict[str, st.SearchStrategy[Any]] = {
    "run": WORDS,
    "image": TEXTS,
    "build": st.one_of(TEXTS, st.builds(Build, context=TEXTS, args=ENV, tags=MANY)),
    "dir": TEXTS,
    "args": WORDS,
    "env": ENV,
    "env_file": WORDS,
    "inherit_env": st.booleans(),
    "after": st.one_of(TEXTS, MANY, MAPS),
    "stop": st.one_of(st.none(), st.builds(Stop, signal=TEXTS, grace=TEXTS)),
    "terminal": st.one_of(st.booleans(), st.builds(Terminal, cols=st.integers(1, 300))),
    "volumes": st.lists(st.one_of(TEXTS, st.builds(Mount, source=TEXTS, target=TEXTS)), max_size=2).map(tuple),
    "resources": st.one_of(st.none(), st.builds(Resources, cpus=st.sampled_from(["", 1, 1.5, "500m"]))),
    "pull": st.sampled_from([None, "always", "never"]),
    "labels": MAPS,
    "logs": st.one_of(st.none(), st.builds(Logs, max_files=st.integers(1, 9))),
    "groups": MANY,
    "profiles": MANY,
}
SERVICES = st.builds(
    Service,
    **WORKLOAD,
    ports=st.dictionaries(NAMES, st.one_of(PORTS, TEXTS, st.builds(Port, port=PORTS, proxy=st.booleans())), max_size=2),
    replicas=st.one_of(st.none(), st.integers(0, 9)),
    ready=st.one_of(st.none(), PROBES),
    restart=st.one_of(st.booleans(), TEXTS, st.builds(Restart, on=st.sampled_from(["failure", "always"]))),
    watch=st.one_of(
        st.none(),
        WORDS,
        st.builds(
            Watch,
            paths=MANY,
            ignore=MANY,
            sync=st.lists(
                st.builds(Sync, source=TEXTS, target=TEXTS, then=st.sampled_from([None, "restart"])), max_size=2
            ).map(tuple),
        ),
    ),
    keep=st.booleans(),
)
TASKS = st.builds(
    Task, **WORKLOAD, auto=st.sampled_from([None, True, False]), schedule=TEXTS, retries=st.integers(0, 3)
)
APPS = st.builds(
    AppFile,
    app=TEXTS,
    env=ENV,
    env_file=st.one_of(st.none(), WORDS),
    include=MANY,
    services=st.dictionaries(NAMES, SERVICES, max_size=2),
    tasks=st.dictionaries(NAMES, TASKS, max_size=1),
    secrets=st.dictionaries(NAMES, st.builds(Secret, file=TEXTS), max_size=1),
    volumes=st.dictionaries(NAMES, st.one_of(st.none(), st.builds(Volume, keep=st.booleans())), max_size=1),
    networks=st.dictionaries(NAMES, st.one_of(st.none(), st.builds(Network, subnet=TEXTS)), max_size=1),
    controllers=st.lists(st.one_of(TEXTS, st.builds(Controller, module=TEXTS)), max_size=2).map(tuple),
    profiles=st.dictionaries(NAMES, st.dictionaries(NAMES, st.booleans(), max_size=1), max_size=1),
)


@settings(max_examples=40)
@given(APPS)
def test_every_app_can_be_written_as_a_file_and_read_again(app: AppFile) -> None:
    assert parse_app(app_yaml(app)) == app


def shop() -> sp.App:
    app = sp.App("shop", env={"LEVEL": "info", "DEBUG": True})
    db = app.service(
        "db",
        image="postgres:16",
        env={"POSTGRES_PASSWORD": app.secret("db", environment="DB_PASSWORD")},
        ports={"main": 5432, "admin": Port(port=9, scheme="https")},
        volumes=[f"{app.volume('data', keep=False)}:/data"],
        networks=[app.network("back")],
    )
    migrate = app.task("migrate", run=["alembic", "upgrade", "head"], after=db)
    app.service(
        "api-server",
        run="serve ${port.http}",
        dir=Path("api"),
        ports={"http": "auto"},
        replicas=2,
        env={"URL": f"postgres://{db.at('main').host}:{db.at('main').port}", "LEVEL": db.env("LEVEL")},
        after={db: "ready", migrate: "done"},
    )
    app.controller("ours.py")
    app.controller("theirs", name="x")
    app.profile("ci", db={"image": "postgres:15"}, api_server=False)
    return app


def test_an_app_in_python_says_what_its_file_says(tmp_path: Path) -> None:
    app = shop()
    assert app.to_yaml() == (
        """\
app: shop
env:
  LEVEL: info
  DEBUG: "true"
services:
  db:
    image: postgres:16
    env:
      POSTGRES_PASSWORD: ${secret.db}
    volumes:
    - data:/data
    networks:
    - back
    ports:
      main: 5432
      admin:
        port: 9
        scheme: https
  api-server:
    run: serve ${port.http}
    dir: api
    env:
      URL: postgres://${services.db.host.main}:${services.db.port.main}
      LEVEL: ${services.db.env.LEVEL}
    after:
      db: ready
      migrate: done
    ports:
      http: auto
    replicas: 2
tasks:
  migrate:
    run:
    - alembic
    - upgrade
    - head
    after: db
secrets:
  db:
    environment: DB_PASSWORD
volumes:
  data:
    keep: false
networks:
  back: {}
controllers:
- ours.py
- module: theirs
  name: x
profiles:
  ci:
    db:
      image: postgres:15
    api-server: false
"""
    )
    environ = {"DB_PASSWORD": "x"}
    file = written(tmp_path, app.to_yaml())
    loaded = load_app(file, environ, session="s", on_this_machine=False)
    assert app.render(tmp_path, environ=environ, session="s") == loaded.objects
    assert sp.App.of(loaded.app).to_yaml() == parse_and_write(app)
    chosen = app.render(tmp_path, environ=environ, profiles=("ci",))
    assert [tree["spec"]["image"] for tree in chosen if tree["kind"] == "Container"] == ["postgres:15"]
    assert not [tree for tree in chosen if tree["kind"] == "ExecutableReplicaSet"]


def parse_and_write(app: sp.App) -> str:
    """The app with its profiles chosen: none."""
    text = app.to_yaml()
    return text[: text.index("profiles:")]


def test_mistakes_in_python_are_named_as_those_in_a_file() -> None:
    app = sp.App("shop")
    with pytest.raises(Mistakes, match=r"services\.api: imgae: there is no such field; did you mean image\?"):
        app.service("api", imgae="x")
    with pytest.raises(Mistakes, match=r"services\.api: replicas: \"two\" is not allowed"):
        app.service("api", run="x", replicas="two")
    app.service("api", run="x", after="bd")
    with pytest.raises(Mistakes, match=r"services\.api\.after: unknown service or task bd"):
        app.render(environ={})


@pytest.mark.parametrize("case", cases("renders"), ids=lambda case: str(case["name"]))
def test_what_was_read_can_be_written_and_gives_the_same_objects(tmp_path: Path, case: dict[str, Any]) -> None:
    file = written(tmp_path, f"app: shop\n{case['text']}", case.get("files"))
    loaded = load_app(file, case.get("environ") or {}, session="s", on_this_machine=False)
    again = parse_app(app_yaml(loaded.app))
    assert rendered(again, tmp_path, (), case.get("environ") or {}, "s") == loaded.objects
