"""What a view knows from the app file: its parts, in the order in which they start, and what a change of it means."""

import os
from pathlib import Path

from setpoint.app.changes import changes
from setpoint.app.loader import LoadedApp, load_app
from setpoint.cli.app.view.layout import change_lines
from setpoint.cli.app.view.view_settings import settings_of
from setpoint.cli.output.terminal import Terminal
from setpoint.session.registry import Session

FILE = """
app: shop
services:
  web: {run: sleep 600, after: {api: started}}
  api: {run: sleep 600, replicas: 2, after: [db, migrate], env: {LEVEL: info}}
  db: {image: "postgres:16", ports: {main: 5432}}
  tools: {build: tools}
tasks:
  migrate: {run: "true", after: db}
  test: {run: "true"}
  tidy: {run: "true", schedule: "@hourly"}
"""


def loaded(directory: Path, text: str) -> LoadedApp:
    (directory / "setpoint.yaml").write_text(text)
    (directory / "tools").mkdir(exist_ok=True)
    (directory / "tools" / "Dockerfile").write_text("FROM scratch\n")
    return load_app(directory / "setpoint.yaml", os.environ)


def test_parts_are_those_that_run_by_themselves_each_after_those_it_waits_for(tmp_path: Path) -> None:
    session = Session("shop", str(tmp_path), "1:2:", "kubeconfig", "https://127.0.0.1:1", "http://127.0.0.1:2")
    settings = settings_of(loaded(tmp_path, FILE), session, until_ready=True)
    assert (settings.app, settings.session, settings.dashboard) == ("shop", session.id, "http://127.0.0.1:2")
    shown = [
        (part.name, part.kind, part.detail, [(each.name, each.started) for each in part.after])
        for part in settings.parts
    ]
    assert shown == [
        ("db", "container", "postgres:16", []),
        ("tools", "container", "(built here)", []),
        ("migrate", "task", "", [("db", False)]),
        ("api", "process", "", [("db", False), ("migrate", False)]),
        ("web", "process", "", [("api", True)]),
        ("tidy", "task", "", []),
    ]


def test_a_changed_file_is_told_in_its_own_words(tmp_path: Path) -> None:
    old = loaded(tmp_path, FILE).objects
    text = FILE.replace("LEVEL: info", "LEVEL: debug").replace("  tidy:", "  clean:").replace(":16", ":17")
    found = changes(old, loaded(tmp_path, text).objects)
    assert change_lines(found, Terminal()) == [
        "  + clean added",
        "  ~ api: env LEVEL · restarts one by one",
        "  ~ db: image · is recreated",
        "  - tidy removed",
    ]
    assert max(map(len, change_lines(found, Terminal(30)))) < 30


def test_fields_that_changed_have_the_names_of_the_app_file(tmp_path: Path) -> None:
    old = loaded(
        tmp_path,
        "app: shop\nservices: { a: { run: sleep 1, dir: . }, b: { run: sleep 1, after: a } }\n"
        "tasks: { t: { run: sleep 1, after: a }, u: { image: i, args: [one] } }\n",
    )
    new = loaded(
        tmp_path,
        "app: shop\nservices: { a: { run: sleep 2, stop: { grace: 1s } }, b: { run: sleep 1 } }\n"
        "tasks: { t: { run: sleep 2, after: b }, u: { image: i, args: [two] } }\n",
    )
    assert sorted(change_lines(changes(old.objects, new.objects), Terminal())) == [
        "  ~ a: run, stop · restarts",
        "  ~ b: after · keeps running",
        "  ~ t: run, after · at its next run",
        "  ~ u: args · at its next run",
    ]


def test_a_part_that_gets_replicas_or_loses_them_is_told_of_once(tmp_path: Path) -> None:
    one, three = (
        loaded(tmp_path, f"app: shop\nservices: {{ api: {{ run: sleep 600{more} }} }}\n").objects
        for more in ("", ", replicas: 3")
    )
    assert change_lines(changes(one, three), Terminal()) == ["  ~ api: replicas 3 · is recreated"]
    assert change_lines(changes(three, one), Terminal()) == ["  ~ api: a single process · is recreated"]
