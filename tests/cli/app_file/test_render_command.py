"""`setpoint render`: the objects of an app file, without its secrets, and what applying them would do."""

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.app.conftest import Shop
from tests.cli.app.machine import own_environ
from tests.cli.app_file.conftest import SHOP, Command
from tests.cli.app_file.looks import check_looks


@pytest.fixture(autouse=True)
def _file(directory: Path) -> None:
    (directory / "setpoint.yaml").write_text(SHOP)


def test_objects_are_printed_as_they_would_be_applied_without_secrets(setpoint: Command) -> None:
    ran = setpoint("render")
    assert ran.code == 0, ran.stderr
    objects = {tree["kind"]: tree for tree in yaml.safe_load_all(ran.stdout)}
    assert objects["Secret"]["data"] == {"db": "***"}
    assert "geheim" not in ran.stdout
    assert objects["ExecutableReplicaSet"]["spec"]["replicas"] == 2
    shown = setpoint("render", "--show-secrets").stdout
    assert "geheim" in shown
    [secret] = [tree for tree in yaml.safe_load_all(shown) if tree["kind"] == "Secret"]
    assert secret["data"] == {"db": "aHVudGVyMg=="}


def test_they_come_as_json_and_by_their_names_as_well(setpoint: Command) -> None:
    listed = json.loads(setpoint("render", "-o", "json").stdout)
    names = setpoint("render", "-o", "name").stdout.splitlines()
    assert len(listed["items"]) == len(names)
    assert "task.setpoint.dev/nightly" in names


def test_a_mistake_is_named_with_its_line(setpoint: Command, directory: Path) -> None:
    (directory / "setpoint.yaml").write_text("services: {a: {rnu: x}}")
    ran = setpoint("render")
    assert (ran.code, ran.stdout) == (2, "")
    assert "setpoint.yaml:1:16: services.a.rnu" in ran.stderr


def test_where_nothing_runs_everything_would_be_new(setpoint: Command) -> None:
    ran = setpoint("render", "--diff")
    assert "shop is not running" in ran.stderr
    assert {line.split()[2] for line in ran.stdout.splitlines()[1:]} == {"added"}
    assert setpoint("render", "--diff", "-o", "yaml").code == 2


@pytest.mark.parametrize(("columns", "look"), [(80, "colour"), (140, "plain")])
def test_what_would_change_looks_as_it_did_when_it_was_looked_at(columns: int, look: str) -> None:
    check_looks("diff", ["render", "--diff"], columns, look)


@pytest.mark.slow
def test_what_a_changed_file_would_do_to_the_app_that_runs_is_told_before_it_is_done(tmp_path: Path) -> None:
    shop = Shop(tmp_path, own_environ(tmp_path / "state"))
    file = tmp_path / "setpoint.yaml"
    file.write_text("app: small\nservices: {a: {run: sleep 600}, b: {run: sleep 600}, c: {run: sleep 600}}")
    assert shop.run("up", "-d").code == 0
    try:
        assert "no differences from the running small" in shop.run("render", "--diff").stderr
        more = "a: {run: sleep 601, env: {PASSWORD: geheim}}, b: {run: sleep 600, restart: always}, d: {run: sleep 600}"
        file.write_text(f"app: small\nservices: {{{more}}}")
        ran = shop.run("render", "--diff")
        rows = [line.split() for line in ran.stdout.splitlines()]
        assert rows[0] == ["NAME", "KIND", "CHANGE", "THEN", "FIELDS"]
        assert ["a", "Executable", "changed", "restarts", "spec.args[0],", "spec.env"] in rows
        assert ["b", "Executable", "changed", "keeps", "running", "spec.restartPolicy"] in rows
        assert ["d", "Executable", "added"] in rows
        assert ["c", "Executable", "removed"] in rows
        changes = json.loads(shop.run("render", "--diff", "-o", "json").stdout)
        assert {(each["name"], each["change"], each["effect"]) for each in changes} >= {
            ("a", "changed", "restart"),
            ("c", "removed", ""),
        }
        assert "geheim" not in str(changes)
    finally:
        shop.run("down")
