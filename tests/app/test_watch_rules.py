"""Watch rules of an app file: copies into containers, restarts and rebuilds."""

from pathlib import Path

import pytest

from setpoint.app.loader import load_app
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistakes


def specs(tmp_path: Path, text: str) -> dict[str, Object]:
    (tmp_path / "setpoint.yaml").write_text(text)
    loaded = load_app(tmp_path / "setpoint.yaml", {}, on_this_machine=False)
    return {tree["metadata"]["name"]: tree for tree in loaded.objects}


def test_each_sync_becomes_a_file_action(tmp_path: Path) -> None:
    found = specs(
        tmp_path,
        """
        app: shop
        services:
          api:
            image: api:1
            watch:
              ignore: ["*.log"]
              debounce: 50ms
              sync:
                - { from: ./src, to: /app/src, ignore: [tmp/], include: ["*.py"] }
                - { from: conf.ini, to: /etc/conf.ini, initial: false, then: restart }
                - from: ./static
                  to: /srv
                  then: { exec: "kill -HUP 1", user: root, dir: /srv, env: { A: 1 } }
        """,
    )["api"]["spec"]
    first, second, third = found["fileActions"]
    assert first == {
        "path": str(tmp_path / "src"),
        "action": "Sync",
        "target": "/app/src",
        "ignore": ["*.log", "tmp/"],
        "include": ["*.py"],
        "initialSync": True,
        "debounce": "50ms",
    }
    assert (second["action"], second.get("initialSync")) == ("SyncAndRestart", None)
    assert (third["action"], third["exec"]) == (
        "SyncAndExec",
        {
            "command": ["kill", "-HUP", "1"],
            "user": "root",
            "workingDirectory": "/srv",
            "env": [{"name": "A", "value": "1"}],
        },
    )
    assert "watch" not in found


def test_a_container_may_have_rules_for_restarts_and_rebuilds(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    found = specs(
        tmp_path,
        """
        services:
          api:
            build: app
            watch:
              - conf
              - { paths: [package.json, lock], do: rebuild, ignore: [a], include: ["*.json"] }
              - { sync: [{ from: src, to: /src, then: { exec: "a && b" } }] }
        """,
    )["api"]["spec"]
    assert found["watch"] == {"paths": [str(tmp_path / "conf")]}
    assert [(each["action"], Path(each["path"]).name) for each in found["fileActions"]] == [
        ("Rebuild", "package.json"),
        ("Rebuild", "lock"),
        ("SyncAndExec", "src"),
    ]
    assert found["fileActions"][0]["include"] == ["*.json"]
    assert found["fileActions"][2]["exec"]["command"] == ["/bin/sh", "-c", "a && b"]


def test_groups_become_labels_of_the_workload_and_not_of_its_services(tmp_path: Path) -> None:
    found = specs(
        tmp_path,
        """
        services:
          api: { run: "serve --port ${port.http}", ports: { http: auto }, groups: [backend, jobs] }
        tasks:
          seed: { run: seed, groups: [jobs] }
        """,
    )
    groups = {
        name: [key for key in tree["metadata"]["labels"] if key.startswith("group.setpoint.dev/")]
        for name, tree in found.items()
    }
    assert groups["api"] == ["group.setpoint.dev/backend", "group.setpoint.dev/jobs"]
    assert groups["seed"] == ["group.setpoint.dev/jobs"]
    assert groups["api-http"] == []


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ("{ run: serve, watch: { sync: [{ from: a, to: /a }] } }", "sync applies to containers"),
        ("{ image: a, watch: { sync: [{ from: a, to: a }] } }", "'a' is not an absolute path in the container"),
        ("{ image: a, watch: { ignore: [b] } }", "no files: set paths, or sync"),
        ("{ image: a, watch: { paths: [b], do: rebuild } }", "rebuild requires a service with build"),
        ("{ run: serve, watch: [{ paths: [a] }, { paths: [b] }] }", "a process has one watch rule"),
        ("{ image: a, watch: { sync: [{ from: a, to: /a, then: { exec: '' } }] } }", "set the command"),
        ("{ image: a, groups: [Back End] }", "invalid name 'Back End'"),
    ],
)
def test_mistakes_in_watch_rules_and_groups_are_reported_with_a_remedy(
    tmp_path: Path, service: str, message: str
) -> None:
    with pytest.raises(Mistakes) as raised:
        specs(tmp_path, f"services:\n  api: {service}\n")
    assert any(message in str(each) for each in raised.value.found), raised.value.found


def test_paths_of_an_included_file_are_relative_to_that_file(tmp_path: Path) -> None:
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "setpoint.yaml").write_text(
        "services: { api: { image: a, watch: [first, { paths: [second], sync: [{ from: third, to: /z }] }] } }"
    )
    found = specs(tmp_path, "include: [infra/setpoint.yaml]\n")["api"]["spec"]
    paths = [*found["watch"]["paths"], *(each["path"] for each in found["fileActions"])]
    assert [Path(path).relative_to(tmp_path).as_posix() for path in paths] == [
        "infra/first",
        "infra/second",
        "infra/third",
    ]
