"""Processes, their environment, and templates."""

import os
import signal
from typing import Any

from tests.dcp.registry import SCENARIOS, SHOWS, WAITS, Scenario, python, scenario
from tests.dcp.talk import Talk
from tests.workload.session.instances import until

# Processes


@scenario("run-to-success")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", python("pass"))
    status = talk.status("Executable", "a", "Finished")
    return {name: status.get(name) for name in ("exitCode", "healthStatus")}


@scenario("run-to-failure")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", python("import sys; sys.exit(7)"))
    status = talk.status("Executable", "a", "Finished")
    return {name: status.get(name) for name in ("exitCode", "healthStatus")}


@scenario("run-to-signal")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", WAITS)
    os.kill(talk.status("Executable", "a", "Running")["pid"], signal.SIGKILL)
    status = talk.status("Executable", "a", "Finished")
    return {name: status.get(name) for name in ("exitCode", "healthStatus")}


@scenario("run-and-stop")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", WAITS)
    running = talk.status("Executable", "a", "Running")
    talk.patch("Executable", "a", {"spec": {"stop": True}})
    status = talk.status("Executable", "a", "Finished")
    return [running["healthStatus"], status.get("exitCode"), status["healthStatus"], "finishTimestamp" in status]


@scenario("run-missing-program")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {"executablePath": "/no/such/program"})
    return talk.status("Executable", "a", "FailedToStart")["healthStatus"]


@scenario("run-in-missing-directory")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "workingDirectory": "/no/such/directory"})
    return talk.status("Executable", "a", "FailedToStart")["healthStatus"]


@scenario("run-later")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False})
    before = (talk.get("Executable", "a").get("status") or {}).get("state") or ""
    talk.patch("Executable", "a", {"spec": {"start": True}})
    return [before, talk.status("Executable", "a", "Running")["executionID"] != ""]


@scenario("run-stopped-before-start")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "start": False, "stop": True})
    talk.patch("Executable", "a", {"spec": {"start": True}})
    return talk.status("Executable", "a", "FailedToStart")["state"]


@scenario("run-without-ide")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", {**WAITS, "executionType": "IDE"})
    return talk.status("Executable", "a", "FailedToStart")["state"]


@scenario("run-with-fallback")
def _(talk: Talk) -> Any:
    launch = {"executable.usvc-dev.developer.microsoft.com/launch-configurations": '[{"type":"project"}]'}
    talk.make(
        "Executable", "a", {**WAITS, "executionType": "IDE", "fallbackExecutionTypes": ["Process"]}, annotations=launch
    )
    return talk.status("Executable", "a", "Running")["pid"] > 0


@scenario("run-files")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", WAITS)
    status = talk.status("Executable", "a", "Running")
    return [os.path.exists(status[name]) for name in ("stdOutFile", "stdErrFile")]


@scenario("finalizers")
def _(talk: Talk) -> Any:
    talk.make("Executable", "a", WAITS)
    talk.status("Executable", "a", "Running")
    return talk.get("Executable", "a")["metadata"]["finalizers"]


# Environment and templates


def _shown(talk: Talk, spec: dict[str, Any], **metadata: Any) -> Any:
    talk.make("Executable", "a", spec, **metadata)
    status = talk.status("Executable", "a", "Finished", "FailedToStart")
    if status["state"] == "FailedToStart":
        return "FailedToStart"
    return until(lambda: talk.log("a")["text"]).strip()


_VALUES = {
    "plain": "plain",
    "name": "{{ .Spec.ExecutablePath | len | lt 1 }}",
    "field": "{{ (index .Spec.Args 0) }}",
    "if": "{{ if eq 1 1 }}yes{{ else }}no{{ end }}",
    "range": "{{ range $i, $a := .Spec.Env }}{{ $i }}{{ $a.Name }};{{ end }}",
    "with": "{{ with .Spec.Args }}{{ len . }}{{ end }}",
    "printf": '{{ printf "%05d|%q" 42 "x" }}',
    "variables": "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}",
    "annotations": '{{ index .ObjectMeta.Annotations "note" }}',
    "comparison": "{{ and (lt 1 2) (not (gt 1 2)) (or false true) }}",
    "unclosed": "{{ nothing",
    "unknown-function": "{{ dance 1 }}",
    "unknown-field": "{{ .Spec.Dance }}",
    "unserved-port": '{{ portForServing "other" }}',
    "wrong-arguments": "{{ portFor 1 }}",
    "comment": "a{{/* b */}}c",
    "trimmed": "a {{- 1 -}} b",
    "braces": "}} {{",
    "go-escape": '{{ "{{" }}',
}


def _value(text: str) -> Scenario:
    def run(talk: Talk) -> Any:
        spec = python(SHOWS, text, env=[{"name": "T_A", "value": text}])
        return _shown(talk, spec, annotations={"note": "some text"})

    return run


for _name, _text in _VALUES.items():
    SCENARIOS[f"template-{_name}"] = _value(_text)


@scenario("environment-without-inheritance")
def _(talk: Talk) -> Any:
    spec = python(
        "import os; print(sorted(os.environ))",
        ambientEnvironment={"behavior": "DoNotInherit"},
        env=[{"name": "T_A", "value": "1"}],
    )
    spec["env"].append({"name": "LC_CTYPE", "value": "C.UTF-8"})
    return _shown(talk, spec)


@scenario("environment-of-control-plane")
def _(talk: Talk) -> Any:
    spec = python(
        "import os; print([k for k in os.environ if k.startswith(('DCP_', 'DEBUG_SESSION'))])",
        env=[{"name": "DCP_X", "value": "1"}],
    )
    return _shown(talk, spec)


@scenario("environment-file-missing")
def _(talk: Talk) -> Any:
    return _shown(talk, python(SHOWS, envFiles=["/no/such/file"], env=[{"name": "T_A", "value": "1"}]))


@scenario("effective-values")
def _(talk: Talk) -> Any:
    talk.make(
        "Executable",
        "a",
        {
            "executablePath": "/bin/true",
            "args": ["{{ len .Spec.Args }}"],
            "env": [{"name": "T_A", "value": "{{ print 1 }}"}],
        },
    )
    status = talk.status("Executable", "a", "Finished")
    return [status["effectiveArgs"], [each for each in status["effectiveEnv"] if each["name"] == "T_A"]]
