"""`setpoint ps`, `logs`, `url`, `open`, `env`, `top`, `attach` and `exec` on processes that really run."""

import json
import os
import pty
import subprocess
import sys
import uuid
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Command, Served

GROUP = "usvc-dev.developer.microsoft.com/v1"
SPEAKS = "import time\nfor number in range(3):\n    print('line', number, flush=True)\ntime.sleep(600)"
ANSWERS = "import sys\nfor line in sys.stdin:\n    print('heard', line.strip(), flush=True)\nsys.exit(7)"


def executable(name: str, code: str, labels: dict[str, str], **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": GROUP,
        "kind": "Executable",
        "metadata": {"name": name, "labels": labels},
        "spec": {"executablePath": sys.executable, "args": ["-c", code], **spec},
    }


class App:
    """Some workloads with names of their own, so that tests keep apart; they go with the server."""

    def __init__(self, setpoint: Command) -> None:
        self._setpoint = setpoint
        self.id = uuid.uuid4().hex[:6]
        self.labels = {"app": f"app-{self.id}"}
        self.selector = f"app=app-{self.id}"

    def name(self, name: str) -> str:
        return f"{name}-{self.id}"

    def make(self, *trees: dict[str, Any]) -> None:
        ran = self._setpoint("apply", "-f", "-", text=yaml.safe_dump_all(trees))
        assert ran.code == 0, ran.stderr

    def ready(self, *names: str) -> None:
        ran = self._setpoint("wait", *(f"exe/{self.name(name)}" for name in names))
        assert ran.code == 0, ran.stderr


@pytest.fixture
def app(setpoint: Command) -> App:
    return App(setpoint)


def test_ps_shows_how_each_is_and_why(setpoint: Command, app: App) -> None:
    backoff = {"initial": "600s", "max": "600s"}
    failing = "import sys; print('no database', file=sys.stderr); sys.exit(3)"
    needed = {"kind": "Executable", "name": app.name("broken"), "condition": "Succeeded"}
    app.make(
        executable(app.name("api"), SPEAKS, app.labels),
        executable(app.name("broken"), failing, app.labels, restartPolicy="OnFailure", restartBackoff=backoff),
        executable(app.name("later"), SPEAKS, app.labels, dependsOn=[needed]),
    )
    app.ready("api")
    path = "jsonpath={.status.conditions[0].reason}=BackOff"
    assert setpoint("wait", f"exe/{app.name('broken')}", "--for", path).code == 0
    ran = setpoint("ps", "-l", app.selector)
    head, *rows = ran.stdout.splitlines()
    assert head.split() == ["NAME", "KIND", "STATE", "READY", "RESTARTS", "AGE", "WHY"]
    api, broken, later = rows
    assert api.split()[:4] == [app.name("api"), "Executable", "Running", "1/1"]
    assert broken.split()[1:4] == ["Executable", "BackOff", "0/1"]
    assert "the process ended with exit code 3; last output: no database; next restart in 600 s" in broken
    assert later.split()[1:4] == ["Executable", "Waiting", "0/1"]
    assert f"waits for Executable {app.name('broken')} to be Succeeded" in later


def test_a_service_that_ended_with_0_is_not_ready(setpoint: Command, app: App) -> None:
    template = {"labels": app.labels, "spec": {"executablePath": sys.executable, "args": ["-c", "print('done')"]}}
    app.make(
        executable(app.name("api"), "print('done')", app.labels),
        {
            "apiVersion": GROUP,
            "kind": "ExecutableReplicaSet",
            "metadata": {"name": app.name("workers"), "labels": app.labels},
            "spec": {"replicas": 2, "template": template},
        },
    )
    assert setpoint("wait", f"exe/{app.name('api')}", "--for", "jsonpath={.status.state}=Finished").code == 0
    done = "jsonpath={.status.succeededReplicas}=2"
    assert setpoint("wait", f"exers/{app.name('workers')}", "--for", done).code == 0
    api, workers = setpoint("ps", "-l", app.selector).stdout.splitlines()[1:]
    assert api.split()[1:4] == ["Executable", "Finished", "0/1"]
    assert "0/2" in workers.split()
    assert setpoint("wait", f"exe/{app.name('api')}", f"exers/{app.name('workers')}", "--timeout", "10ms").code != 0


def test_replicas_stand_below_their_set_and_count_for_it(setpoint: Command, app: App) -> None:
    template = {"labels": app.labels, "spec": {"executablePath": sys.executable, "args": ["-c", SPEAKS]}}
    app.make(
        {
            "apiVersion": GROUP,
            "kind": "ExecutableReplicaSet",
            "metadata": {"name": app.name("workers"), "labels": app.labels},
            "spec": {"replicas": 2, "template": template},
        }
    )
    assert setpoint("wait", f"exers/{app.name('workers')}").code == 0
    [row] = setpoint("ps", "-l", app.selector).stdout.splitlines()[1:]
    assert row.split()[:5] == [app.name("workers"), "Executable", "×2", "Running", "2/2"]
    _, first, *replicas = setpoint("ps", "-a", "-l", app.selector).stdout.splitlines()
    assert first.split()[:6] == row.split()[:6]  # but for their age
    assert [line.split()[0] for line in replicas] == [f"{app.name('workers')}.{number}" for number in (1, 2)]
    lines = said(setpoint, app.name("workers"), 6)
    assert sorted(line.partition(" | ")[2] for line in lines) == sorted(2 * [f"line {number}" for number in range(3)])


def test_logs_of_one_are_its_lines_and_of_several_have_names(setpoint: Command, app: App) -> None:
    app.make(executable(app.name("one"), SPEAKS, app.labels), executable(app.name("two"), SPEAKS, app.labels))
    app.ready("one", "two")
    lines = "jsonpath={.status.state}=Running"
    assert setpoint("wait", f"exe/{app.name('one')}", "--for", lines).code == 0
    assert said(setpoint, app.name("one")) == ["line 0", "line 1", "line 2"]
    assert setpoint("logs", app.name("one"), "--tail", "1").stdout == "line 2\n"
    said(setpoint, app.name("two"))
    both = setpoint("logs", "-l", app.selector).stdout.splitlines()
    assert sorted(both) == sorted(f"{app.name(name)} | line {number}" for name in ("one", "two") for number in range(3))
    [timed] = setpoint("logs", app.name("one"), "-t", "--tail", "1").stdout.splitlines()
    assert timed.endswith(" line 2")
    assert timed[:2] == "20"
    assert setpoint("logs", app.name("one"), "--since", "1ms").stdout == ""


def said(setpoint: Command, name: str, count: int = 3) -> list[str]:
    """The lines of processes that say so many, once they have said them."""
    while len(lines := setpoint("logs", name).stdout.splitlines()) < count:
        pass
    return lines


def test_logs_select_lines_levels_and_attempts(setpoint: Command, app: App) -> None:
    says = (
        "import json\nprint('INFO up')\nprint(json.dumps({'level': 'error', 'msg': 'no disk', 'free': 0, 'host': 'a'}))"
    )
    app.make(
        executable(app.name("api"), f"{says}\nraise SystemExit(1)", app.labels, restartPolicy="OnFailure"),
        executable(app.name("job"), "print('WARN slow')", app.labels),
    )
    path = "jsonpath={.status.restartCount}=1"
    assert setpoint("wait", f"exe/{app.name('api')}", "--for", path).code == 0
    assert setpoint("wait", f"exe/{app.name('job')}", "--for", "jsonpath={.status.state}=Finished").code == 0
    api = app.name("api")
    first = setpoint("logs", api, "--attempt", "1").stdout.splitlines()
    assert first[0] == "INFO up"
    assert len(first) == 2
    assert setpoint("logs", api, "--attempt", "1", "--level", "error", "-o", "text").stdout == (
        "ERROR   no disk free=0 host=a\n"
    )
    assert setpoint("logs", api, "--attempt", "1", "--grep", "DISK", "-i", "--fields", "host").stdout == (
        "ERROR   no disk host=a\n"
    )
    assert setpoint("logs", api, "--attempt", "1", "--grep", "disk", "-v").stdout == "INFO up\n"
    assert setpoint("logs", "-l", app.selector, "--grep", "slow").stdout == f"{app.name('job')} | WARN slow\n"
    [record] = map(json.loads, setpoint("logs", "-l", app.selector, "--grep", "slow", "-o", "json").stdout.splitlines())
    assert (record["name"], record["level"], record["message"]) == (app.name("job"), "warning", "WARN slow")
    ran = setpoint("logs", app.name("job"), "--previous")
    assert ran.code != 0
    assert "no previous run" in ran.stderr
    ran = setpoint("logs", api, "--grep", "(")
    assert "missing closing )" in ran.stderr


def test_following_goes_on_with_what_is_started_again_and_what_is_new(
    setpoint: Command, served: Served, app: App
) -> None:
    app.make(executable(app.name("api"), SPEAKS, app.labels))
    app.ready("api")
    said(setpoint, app.name("api"))
    command = [sys.executable, "-m", "setpoint", "logs", "-f", "-l", app.selector, "--no-prefix"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(served.environ), text=True) as following:
        assert following.stdout is not None
        assert [following.stdout.readline() for _ in range(3)] == ["line 0\n", "line 1\n", "line 2\n"]
        again = executable(app.name("api"), SPEAKS, app.labels)
        again["metadata"]["annotations"] = {"setpoint.dev/restart-requested-at": "now"}
        app.make(again)
        assert [following.stdout.readline() for _ in range(3)] == ["line 0\n", "line 1\n", "line 2\n"]
        app.make(executable(app.name("late"), "print('I am new', flush=True)\n" + SPEAKS, app.labels))
        assert following.stdout.readline() == "I am new\n"
        following.terminate()


def test_following_ends_when_what_is_followed_does(setpoint: Command, app: App) -> None:
    app.make(executable(app.name("short"), "print('done')", app.labels))
    assert setpoint("logs", "-f", app.name("short")).stdout == "done\n"


def test_a_name_that_is_not_there_is_suggested(setpoint: Command, app: App) -> None:
    app.make(executable(app.name("api"), SPEAKS, app.labels))
    ran = setpoint("logs", app.name("apii"))
    assert ran.code == 3
    assert f"did you mean {app.name('api')}" in ran.stderr


def test_addresses_of_services(setpoint: Command, app: App) -> None:
    service = app.name("web")
    listens = f'-m|http.server|--bind|127.0.0.1|{{{{- portForServing "{service}" -}}}}'.split("|")
    probe = {
        "name": "ready",
        "type": "HTTP",
        "schedule": {"kind": "Continuous", "interval": "200ms"},
        "httpProbe": {"url": f'http://127.0.0.1:{{{{- portForServing "{service}" -}}}}/'},
    }
    serving = executable(app.name("site"), "", app.labels, serves=[{"service": service}], healthProbes=[probe])
    serving["spec"]["args"] = listens
    address = {"addressAllocationMode": "IPv4ZeroOne"}
    app.make({"apiVersion": GROUP, "kind": "Service", "metadata": {"name": service}, "spec": address}, serving)
    app.ready("site")
    url = setpoint("url", service).stdout.strip()
    assert url.startswith("http://127.0.0.1:")
    assert setpoint("url", app.name("site")).stdout.strip() == url
    assert setpoint("open", service, "--print").stdout.strip() == url
    assert url in setpoint("ps", "-l", app.selector).stdout
    assert url in setpoint("url").stdout
    ran = setpoint("url", "nobody")
    assert ran.code == 3
    assert service in ran.stderr


def test_the_environment_says_where_each_value_is_from_and_hides_secrets(
    setpoint: Command, app: App, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("env") / "app.env"
    file.write_text("FROM_FILE=yes\n")
    variables = [
        {"name": "LEVEL", "value": "info"},
        {"name": "DB_PASSWORD", "value": "geheim"},
        {"name": "DATABASE_URL", "value": "postgres://me:geheim@localhost/shop"},
        {"name": "ME", "value": "{{ .Name }}"},
    ]
    app.make(executable(app.name("api"), SPEAKS, app.labels, env=variables, envFiles=[str(file)]))
    app.ready("api")
    rows = {each["name"]: each for each in json.loads(setpoint("env", app.name("api"), "-o", "json").stdout)}
    assert {name: row["value"] for name, row in rows.items()} == {
        "LEVEL": "info",
        "DB_PASSWORD": "***",
        "DATABASE_URL": "postgres://me:***@localhost/shop",
        "ME": app.name("api"),
        "FROM_FILE": "yes",
    }
    assert rows["FROM_FILE"]["from"] == str(file)
    assert rows["ME"]["from"] == "spec.env: {{ .Name }}"
    assert "PATH" in setpoint("env", app.name("api"), "--all").stdout
    assert "geheim" in setpoint("env", app.name("api"), "--show-secrets").stdout


def test_top_counts_all_processes_of_a_workload(setpoint: Command, app: App) -> None:
    nested = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    app.make(executable(app.name("api"), nested, app.labels))
    app.ready("api")
    while True:
        rows = {row["name"]: row for row in json.loads(setpoint("top", "-o", "json", "--interval", "10ms").stdout)}
        if rows[app.name("api")]["processes"] == 2:
            break
    assert rows[app.name("api")]["memory"] > 1 << 20
    assert app.name("api") in setpoint("top", "--interval", "10ms").stdout


def test_attach_talks_with_a_process_and_ends_as_it_does(setpoint: Command, served: Served, app: App) -> None:
    app.make(executable(app.name("cat"), ANSWERS, app.labels, stdin=True))
    app.ready("cat")
    command = [sys.executable, "-m", "setpoint", "attach", "-i", app.name("cat")]
    done = subprocess.run(command, input="hello\n", capture_output=True, env=dict(served.environ), text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("heard hello\n", "", 7)


def test_leaving_puts_the_terminal_back_and_the_process_goes_on(setpoint: Command, served: Served, app: App) -> None:
    import termios

    app.make(executable(app.name("cat"), ANSWERS, app.labels, stdin=True))
    app.ready("cat")
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    command = [sys.executable, "-m", "setpoint", "attach", "-it", app.name("cat")]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=dict(served.environ)) as attached:
        while termios.tcgetattr(slave) == before:
            pass
        os.write(master, b"\x10\x11")
        assert attached.wait(30) == 0
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)
    assert setpoint("wait", f"exe/{app.name('cat')}", "--timeout", "1s").code == 0


def test_what_cannot_be_talked_with_says_what_can_be_done(setpoint: Command, app: App) -> None:
    app.make(executable(app.name("api"), SPEAKS, app.labels))
    app.ready("api")
    ran = setpoint("exec", "-t", app.name("api"), "--", "ls")
    assert ran.code == 2
    assert "-t requires a terminal" in ran.stderr
    ran = setpoint("attach", "-it", app.name("api"))
    assert ran.code == 2
    assert "-t requires a terminal" in ran.stderr


def test_describe_tells_all_on_one_page(setpoint: Command, app: App) -> None:
    template = {"labels": app.labels, "spec": {"executablePath": sys.executable, "args": ["-c", SPEAKS]}}
    app.make(
        executable(app.name("api"), SPEAKS, app.labels, env=[{"name": "API_TOKEN", "value": "geheim"}]),
        {
            "apiVersion": GROUP,
            "kind": "ExecutableReplicaSet",
            "metadata": {"name": app.name("workers"), "labels": app.labels},
            "spec": {"replicas": 1, "template": template},
        },
    )
    app.ready("api")
    said(setpoint, app.name("api"))
    page = setpoint("describe", f"exe/{app.name('api')}").stdout
    assert f"Kind:        Executable ({GROUP})" in page
    assert "State:       Running" in page
    assert "Conditions:\n  TYPE      STATUS   REASON" in page
    assert page.endswith("Last output:\n  line 0\n  line 1\n  line 2\n")
    assert "geheim" not in page
    assert setpoint("wait", f"exers/{app.name('workers')}").code == 0
    page = setpoint("describe", "exers", app.name("workers")).stdout
    assert f"Owns:\n  └─ executable/{app.name('workers')}-" in page
