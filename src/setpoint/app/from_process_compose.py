"""Converts a file of process-compose to an app."""

import re
from collections.abc import Mapping
from pathlib import Path
from signal import Signals
from typing import Any

from setpoint.app.environment import DEFAULT_ENV_FILE, default_variables
from setpoint.app.foreign_fields import Fields, Notes, pairs, several, without_empty
from setpoint.app.model import AppFile
from setpoint.app.profiles import left_out, selected
from setpoint.app.reader import ReadApp, app_name
from setpoint.app.references import written
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes, ParsedFile

DISABLED = "disabled"
_CONDITIONS = {
    "process_started": "started",
    "process_healthy": "ready",
    "process_log_ready": "ready",
    "process_completed": "finished",
    "process_completed_successfully": "done",
}
_RESTARTS = {"always": "always", "on_failure": "failure", "exit_on_failure": "never", "no": "never"}
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?:(:?-)([^}]*))?\}|\$([A-Za-z_]\w*)")
_TEMPLATE = re.compile(r"\{\{\s*\.(\w+)\s*\}\}")
_OUTPUT = "the output is kept by Setpoint: see `setpoint logs`, and logs in the app file"
_DISPLAY = "a setting of the display of process-compose"
_PROCESS = {
    "is_daemon": "a daemon ends its process at once: write the command that runs in the foreground",
    "launch_timeout_seconds": "a daemon ends its process at once: write the command that runs in the foreground",
    "is_elevated": "processes do not get more rights; run the program with sudo",
    "log_location": _OUTPUT,
    "log_configuration": _OUTPUT,
    "disable_ansi_colors": _DISPLAY,
}
_PROJECT = {
    "log_location": _OUTPUT,
    "log_configuration": _OUTPUT,
    "log_level": _DISPLAY,
    "log_length": _DISPLAY,
    "log_format": _DISPLAY,
    "is_tui_disabled": _DISPLAY,
    "env_cmds": "variables by commands are not supported; set them in the environment or in .env",
    "extends": "name both files with -f",
    "is_strict": "unknown keys are always reported",
}


def read_process_compose(file: Path, environ: Mapping[str, str], profiles: tuple[str, ...] = ()) -> ReadApp:
    """Returns the app of a process-compose file. Raises Mistakes, OSError or UnicodeDecodeError."""
    source = typedyaml.read(file.read_text(), str(file))
    variables = default_variables(file.parent, environ)
    tree, notes = converted(source, variables, has_env_file=(file.parent / DEFAULT_ENV_FILE).is_file())
    tree.setdefault("app", app_name(file.parent.name))
    where = _places(source)
    whole, chosen = typedyaml.convert(tree, AppFile, where), [each for each in profiles if each == DISABLED]
    app, others = selected(whole, chosen), left_out(whole, chosen)
    return ReadApp(app, file.parent, (file,), where, notes=tuple(notes), variables=variables, left_out=others)


def converted(
    source: ParsedFile, variables: Mapping[str, str] | None, *, has_env_file: bool
) -> tuple[Object, list[Mistake]]:
    """Returns the content of an app file, and the settings without an effect. Without `variables`, texts refer to
    variables. Raises Mistakes."""
    if not isinstance(source.tree, dict) or not isinstance(source.tree.get("processes"), dict):
        raise Mistakes([Mistake(source.place(()), "processes", "expected processes: names with commands")])
    return _Conversion(source, variables, has_env_file).converted()


class _Conversion:
    """The conversion of one file."""

    def __init__(self, source: ParsedFile, variables: Mapping[str, str] | None, has_env_file: bool) -> None:
        self._source, self._variables, self._has_env_file = source, variables, has_env_file
        self._notes = Notes(source.place)

    def converted(self) -> tuple[Object, list[Mistake]]:
        project = Fields(self._source.tree, (), self._notes)
        self._expands = not project.take("disable_env_expansion")
        values = project.take("vars") or {}
        shell = project.inner("shell")
        words = [shell.take("shell_command", "bash"), *str(shell.take("shell_argument", "-c")).split()]
        shell.report_rest({"elevated_shell_command": _PROCESS["is_elevated"]})
        tree: Object = {"services": {}, "tasks": {}}
        if name := project.take("name"):
            tree["app"] = app_name(name)
        tree["env"] = {key: self._text(value, values) for key, value in pairs(project.take("environment")).items()}
        processes = project.take("processes")
        for key, each in processes.items():
            fields = Fields(each, ("processes", key), self._notes)
            own = {**values, **(fields.take("vars") or {})}
            made, is_task = self._process(fields, own, words)
            tree["tasks" if is_task else "services"][app_name(key)] = made
        project.take("version")
        project.take("ordered_shutdown")
        project.report_rest(_PROJECT)
        return {key: value for key, value in tree.items() if value}, self._notes.found

    def _process(self, fields: Fields, values: Mapping[str, Any], shell: list[str]) -> tuple[Object, bool]:
        def text(value: Any) -> str:
            return self._text(value, values)

        entrypoint = fields.take("entrypoint")
        command = fields.take("command", "")
        run = [text(word) for word in entrypoint] if entrypoint else [*shell, text(command)]
        schedule, zone = self._schedule(fields)
        made: Object = {
            "run": run,
            "dir": text(fields.take("working_dir", "")),
            "env": {key: text(value) for key, value in pairs(fields.take("environment")).items()},
            "env_file": self._env_files(fields),
            "after": self._after(fields),
            "stop": self._stop(fields),
            "terminal": any([fields.take("is_tty"), fields.take("is_foreground"), fields.take("is_interactive")])
            or None,
            "groups": [app_name(each) for each in several(fields.take("namespace")) if each != "default"],
            "profiles": [DISABLED] if fields.take("disabled") in (True, "true") else [],
        }
        if schedule:
            made |= {"schedule": schedule, "time_zone": zone}
            fields.take("availability")
        else:
            line = fields.take("ready_log_line")
            replicas = fields.take("replicas")
            ready = self._probe(fields, "readiness_probe", text)
            made |= {
                "ready": {"log": re.escape(text(line))} if line and not ready else ready,
                "alive": self._probe(fields, "liveness_probe", text),
                "restart": self._restart(fields),
                "replicas": replicas if replicas not in (None, 1) else None,
            }
        fields.take("description")
        fields.take("name")
        fields.report_rest(_PROCESS)
        return without_empty(made), bool(schedule)

    def _env_files(self, fields: Fields) -> list[str]:
        own = [str(each) for each in several(fields.take("env_file"))]
        disabled = fields.take("is_dotenv_disabled")
        return [*([DEFAULT_ENV_FILE] if self._has_env_file and not disabled else []), *own]

    @staticmethod
    def _schedule(fields: Fields) -> tuple[str, str]:
        schedule = fields.inner("schedule")
        interval = schedule.take("interval")
        found = schedule.take("cron") or (f"@every {interval}" if interval else "")
        zone = schedule.take("timezone", "")
        if not found:
            return "", ""
        for word in ("run_on_start", "max_concurrent"):
            if (given := schedule.take(word)) is not None and str(given) not in ("False", "1"):
                schedule.note(word, "a task runs at the times of its schedule, one run at a time")
        schedule.report_rest()
        return found, zone

    @staticmethod
    def _after(fields: Fields) -> Object:
        found: Object = {}
        for name, how in (fields.take("depends_on") or {}).items():
            wait = fields.at(how, "depends_on", name)
            found[app_name(name)] = _CONDITIONS.get(str(wait.take("condition", "process_started")), "started")
            wait.report_rest()
        return found

    @staticmethod
    def _stop(fields: Fields) -> Object:
        stop = fields.inner("shutdown")
        number = stop.take("signal")
        seconds = stop.take("timeout_seconds")
        stop.report_rest(
            {
                "command": "commands for a stop are not supported; use signal",
                "parent_only": "children are always stopped, too",
            }
        )
        name = ""
        if number:
            try:
                name = Signals(int(number)).name.removeprefix("SIG")
            except ValueError:
                stop.note("signal", f"unknown signal {number}")
        return without_empty({"signal": name, "grace": f"{seconds}s" if seconds else ""})

    def _restart(self, fields: Fields) -> Any:
        policy = fields.inner("availability")
        word = str(policy.take("restart", "no"))
        if word == "False":
            word = "no"
        seconds, most = policy.take("backoff_seconds"), policy.take("max_restarts")
        if word == "exit_on_failure" or policy.take("exit_on_end") or policy.take("exit_on_skipped"):
            policy.note("restart", "the other processes keep running; `setpoint run TASK` ends with a task")
        policy.report_rest()
        on = _RESTARTS.get(word, "never")
        if on == "never":
            return None
        return without_empty({"on": on, "max": most or None, "backoff": f"{seconds}s" if seconds else ""})

    @staticmethod
    def _probe(fields: Fields, name: str, text: Any) -> Object:
        probe = fields.inner(name)
        execute, http = probe.inner("exec"), probe.inner("http_get")
        made: Object = {}
        if command := execute.take("command"):
            made["exec"] = ["sh", "-c", text(command)]
        if execute.take("working_dir"):
            execute.note("working_dir", "the command runs in the directory of the process")
        host, path = http.take("host", "127.0.0.1"), http.take("path", "/")
        port = http.take("num_port") or http.take("port")
        http.take("port")
        scheme = http.take("scheme", "http")
        if port is not None:
            made["http"] = text(f"{scheme}://{host}:{port}{path}")
            made["headers"] = {key: text(value) for key, value in (http.take("headers") or {}).items()}
        http.report_rest({"status_code": "each response with status 2xx is a success"})
        execute.report_rest()
        if not made:
            probe.report_rest()
            return {}
        delay, period = probe.take("initial_delay_seconds"), probe.take("period_seconds", 10)
        made |= {
            "delay": f"{delay}s" if delay else "",
            "every": f"{period}s",
            "timeout": f"{probe.take('timeout_seconds', 1)}s",
            "succeed": probe.take("success_threshold") or None,
            "fail": probe.take("failure_threshold", 3),
        }
        probe.report_rest()
        return without_empty(made)

    def _text(self, value: Any, values: Mapping[str, Any]) -> str:
        """Returns a text with its templates and variables replaced, in the notation of an app file."""
        text = "" if value is None else str(value)
        text = _TEMPLATE.sub(lambda found: str(values.get(found[1], found[0])), text)
        if not self._expands:
            return written(text)
        made, literal, at = "", "", 0
        for found in _VARIABLE.finditer(text):
            literal, at = literal + text[at : found.start()], found.end()
            name, default = found[1] or found[4], found[3] or ""
            if found[0] == "$$":
                # A dollar for the shell.
                literal += "$"
            elif self._variables is not None:
                literal += self._variables.get(name) or default
            else:
                made, literal = f"{made}{written(literal)}${{env.{name}:-{default}}}", ""
        return made + written(literal + text[at:])


def _places(source: ParsedFile) -> Any:
    """Returns a function for the places of an app's fields in the file."""
    names = {app_name(name): name for name in source.tree["processes"]}

    def where(path: typedyaml.Path) -> str:
        if len(path) > 1 and path[0] in ("services", "tasks"):
            return source.place(("processes", names.get(str(path[1]), str(path[1]))))
        return source.place(())

    return where
