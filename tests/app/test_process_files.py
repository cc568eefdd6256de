"""Procfiles and files of process-compose become apps, and every setting without an effect is reported."""

from pathlib import Path

import pytest
from tests.app.apps import by_name, written

from setpoint.app.loader import load_app
from setpoint.objects.typedyaml import Mistakes

PROCESSES = """
version: "0.5"
log_level: debug
environment: ["A=${HOME}", "B=$${HOME}"]
vars: {NAME: ada}
shell: {shell_command: zsh, shell_argument: -ec}
processes:
  One_Two:
    command: "echo {{.NAME}} {{ .OTHER }} ${X:-y}"
    vars: {OTHER: grace}
    working_dir: sub
    readiness_probe:
      exec: {command: test -e ready}
      period_seconds: 3
      failure_threshold: 4
    liveness_probe: {http_get: {num_port: 80, path: /x, status_code: 204}}
    availability: {restart: exit_on_failure}
    shutdown: {command: stop, signal: 2, timeout_seconds: 7}
    is_tty: true
    is_daemon: true
    replicas: 1
  two:
    entrypoint: [run, "$$A"]
    depends_on: {One_Two: {condition: process_healthy}, three: {condition: process_completed}}
    ready_log_line: "up (1)"
    replicas: 2
    namespace: back
  three: {command: "true", disabled: true}
  four: {command: b, schedule: {interval: 5m, run_on_start: true}}
"""


def test_processes_become_services_and_tasks(tmp_path: Path) -> None:
    file = written(tmp_path, PROCESSES, name="process-compose.yaml")
    loaded = load_app(file, {"HOME": "/h"}, profiles=("disabled",), on_this_machine=False)
    objects = by_name(loaded.objects)
    one = objects["Executable/one-two"]["spec"]
    assert (one["executablePath"], one["args"]) == ("zsh", ["-ec", "echo ada grace y"])
    assert one["env"] == [{"name": "A", "value": "/h"}, {"name": "B", "value": "${HOME}"}]
    assert one["workingDirectory"] == f"{tmp_path}/sub"
    assert (one["stopSignal"], one["stopTimeout"]) == ("SIGINT", "7s")
    ready, alive = one["healthProbes"]
    assert (ready["execProbe"]["command"], ready["failureThreshold"]) == (["sh", "-c", "test -e ready"], 4)
    assert alive["httpProbe"]["url"] == "http://127.0.0.1:80/x"
    two = objects["ExecutableReplicaSet/two"]["spec"]
    assert two["replicas"] == 2
    inner = two["template"]["spec"]
    assert (inner["executablePath"], inner["args"]) == ("run", ["$A"])
    assert inner["healthProbes"][0]["logProbe"] == {"pattern": r"up\ \(1\)"}
    assert [(each["name"], each["condition"]) for each in inner["dependsOn"]] == [
        ("one-two", "Ready"),
        ("three", "Finished"),
    ]
    assert objects["Task/four"]["spec"]["schedule"] == "@every 5m"
    assert "Executable/three" in objects
    assert sorted(note.path for note in loaded.notes) == [
        "log_level",
        "processes.One_Two.availability.restart",
        "processes.One_Two.is_daemon",
        "processes.One_Two.liveness_probe.http_get.status_code",
        "processes.One_Two.shutdown.command",
        "processes.four.schedule.run_on_start",
    ]
    assert all(note.where.startswith(f"{file}:") for note in loaded.notes)
    without = by_name(load_app(file, {"HOME": "/h"}, on_this_machine=False).objects)
    assert "Executable/three" not in without


def test_a_procfile_gives_ports_as_foreman_does(tmp_path: Path) -> None:
    text = "# comment\nweb: serve\nother: run --port $PORT\n\nplain: work\n"
    file = written(tmp_path, text, {".env": "A=1\n"}, name="Procfile")
    objects = by_name(load_app(file, {}, on_this_machine=False).objects)
    ports = {name: objects[f"Executable/{name}"]["spec"]["env"] for name in ("web", "other", "plain")}
    assert {name: env[0]["value"] for name, env in ports.items()} == {"web": "5000", "other": "5100", "plain": "5200"}
    assert objects["Service/web-http"]["spec"]["port"] == 5000
    assert "Service/plain-http" not in objects
    assert objects["Executable/plain"]["spec"]["envFiles"] == [f"{tmp_path}/.env"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("Procfile", "# none\n", "no process"),
        ("Procfile", "a: b\nA: c\n", ":2: A: duplicate name"),
        ("process-compose.yaml", "version: x\n", "expected processes"),
        ("process-compose.yaml", "processes: {a: {command: a, depends_on: {b: {}}}}\n", ":1:13: services.a.after"),
    ],
)
def test_mistakes_have_a_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(Mistakes) as raised:
        load_app(written(tmp_path, text, name=name), {}, on_this_machine=False)
    assert message in str(raised.value.found[0])
