"""Converts Compose files: services, volumes, networks and secrets. Notes name every setting that cannot be
converted."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from setpoint.app.forms import SCHEMES
from setpoint.app.init.directory import COMPOSE_FILES, Listing
from setpoint.app.init.draft import Draft
from setpoint.app.reader import app_name
from setpoint.app.texts import as_written
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistakes

_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?:(:?[-?+])([^}]*))?\}|\$([A-Za-z_]\w*)")
_PORT = re.compile(
    r"(?:(?P<address>\[[\w.:]+\]|[\d.]+\.\d+|[A-Za-z][\w.-]*):)?(?:(?P<host>\d*):)?(?P<port>\d+)"
    r"(?:/(?P<protocol>tcp|udp))?"
)
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmg])b?", re.I)
_CONDITIONS = {"service_started": "started", "service_healthy": "ready", "service_completed_successfully": "done"}
_PULLS = {"always": "always", "never": "never", "missing": "missing", "if_not_present": "missing"}
# Settings with the same name and form in the app file.
_SAME = ("image", "user", "privileged", "cap_add", "cap_drop", "devices", "profiles")
# Settings that need no conversion.
_IDLE = ("container_name", "hostname", "init", "logging", "build", "networks", "expose")


def convert(listing: Listing, draft: Draft) -> None:
    """Converts the Compose file of the directory, if there is one."""
    file = next((name for name in COMPOSE_FILES if name in listing), None)
    if file is None:
        return
    try:
        tree = typedyaml.read(listing[file], file).tree
        as_written(tree, listing[file], ("environment", "args"))
    except Mistakes as mistakes:
        draft.note(f"{mistakes.found[0]}; the file was ignored")
        return
    if not isinstance(tree, dict):
        return
    draft.record_source(file)
    services = _map(tree.get("services"))
    for name, fields in services.items():
        if isinstance(fields, dict):
            _Service(name, fields, draft, file).convert()
    for section, taken in (("volumes", _volume), ("networks", _network), ("secrets", _secret)):
        made = {app_name(name): taken(name, _map(fields)) for name, fields in _map(tree.get(section)).items()}
        if made:
            draft.sections[section] = {name: fields or None for name, fields in made.items()}
    for word in sorted(tree.keys() - {"services", "volumes", "networks", "secrets", "version", "name"}):
        if not word.startswith("x-"):
            draft.note(f"{word} of {file} was not converted")


def interpolated(text: str) -> str:
    """Replaces Compose's variables by references. An unset variable is empty in Compose."""

    def one(found: re.Match[str]) -> str:
        name, operator, rest, bare = found.groups()
        if found.group() == "$$":
            return "$$"
        if operator in ("?", ":?"):
            return f"${{env.{name}}}"
        return f"${{env.{name or bare}:-{rest if operator in ('-', ':-') else ''}}}"

    return _VARIABLE.sub(one, text)


class _Service:
    """The conversion of one Compose service."""

    def __init__(self, name: str, fields: Object, draft: Draft, file: str) -> None:
        self._name, self._fields, self._draft, self._file = app_name(name), fields, draft, file
        self._made: Object = {}
        if self._name != name:
            draft.note(f"the service {name} was renamed to {self._name}, also for other containers")

    def convert(self) -> None:
        takers: Mapping[str, Callable[[Any], None]] = {
            "command": lambda value: self._put("args", _command_words(value)),
            "entrypoint": lambda value: self._put("entrypoint", _command(value)),
            "environment": lambda value: self._put("env", _variables(value)),
            "env_file": self._env_file,
            "working_dir": lambda value: self._put("dir", interpolated(str(value))),
            "ports": self._ports,
            "depends_on": self._after,
            "volumes": self._volumes,
            "healthcheck": self._ready,
            "restart": self._restart,
            "stop_signal": lambda value: self._inner("stop", "signal", str(value)),
            "stop_grace_period": lambda value: self._inner("stop", "grace", str(value)),
            "tty": lambda value: self._put("terminal", bool(value)),
            "tmpfs": lambda value: self._put("tmpfs", value),
            "extra_hosts": lambda value: self._put("extra_hosts", _pairs(value, ":")),
            "labels": lambda value: self._put("labels", _variables(value)),
            "pull_policy": self._pull,
            "mem_limit": lambda value: self._inner("resources", "memory", memory(value)),
            "cpus": lambda value: self._inner("resources", "cpus", value),
            "pids_limit": lambda value: self._inner("resources", "pids", value),
            "deploy": self._deploy,
        }
        self._build(self._fields.get("build"))
        for word in _SAME:
            if self._fields.get(word):
                value = self._fields[word]
                self._put(word, interpolated(value) if isinstance(value, str) else value)
        for word, value in self._fields.items():
            if word in takers:
                takers[word](value)
            elif word not in _SAME and word not in _IDLE and not word.startswith("x-"):
                self._note_unconverted(word)
        self._networks(self._fields.get("networks"))
        if not self._made.get("ports"):
            self._ports(self._fields.get("expose") or ())
        self._draft.service(self._name, self._made)

    def _put(self, field: str, value: Any) -> None:
        if value not in (None, "", [], {}, False):
            self._made[field] = value

    def _inner(self, field: str, inner: str, value: Any) -> None:
        if value not in (None, ""):
            self._made.setdefault(field, {})[inner] = value

    def _note_unconverted(self, field: str) -> None:
        self._draft.note(f"{field} of {self._name} was not converted from {self._file}")

    def _build(self, value: Any) -> None:
        if isinstance(value, str):
            self._put("build", interpolated(value))
        elif isinstance(value, dict):
            kept = {word: value[word] for word in ("context", "dockerfile", "target") if value.get(word)}
            if value.get("args"):
                kept["args"] = _variables(value["args"])
            self._put("build", kept or ".")
            for word in sorted(value.keys() - {"context", "dockerfile", "target", "args"}):
                self._note_unconverted(f"build.{word}")

    def _env_file(self, value: Any) -> None:
        files = [each.get("path", "") if isinstance(each, dict) else str(each) for each in _list(value)]
        self._put("env_file", files[0] if len(files) == 1 else files)

    def _ports(self, value: Any) -> None:
        ports: Object = {}
        for each in _list(value):
            made = _port(each)
            if made is None:
                self._note_unconverted(f"the port {each}")
                continue
            name = _port_name(made, ports)
            ports[name] = _short_port(made)
        self._put("ports", ports)

    def _after(self, value: Any) -> None:
        if isinstance(value, dict):
            waits = {
                app_name(name): _CONDITIONS.get(_map(how).get("condition", ""), "started")
                for name, how in value.items()
            }
        else:
            waits = {app_name(str(name)): "started" for name in _list(value)}
        self._put("after", waits)

    def _volumes(self, value: Any) -> None:
        volumes: list[Any] = []
        for each in _list(value):
            if isinstance(each, str):
                source, colon, rest = interpolated(each).partition(":/")
                is_path = source.startswith((".", "/", "~", "$"))
                volumes.append(f"{source if is_path or not colon else app_name(source)}{colon}{rest}")
            elif isinstance(each, dict) and each.get("type") in ("bind", "volume") and each.get("target"):
                source = interpolated(str(each.get("source", "")))
                if each["type"] == "volume" and source:
                    source = app_name(source)
                mount = {"source": source, "target": each["target"], "read_only": each.get("read_only", False)}
                volumes.append({name: inner for name, inner in mount.items() if inner})
            elif isinstance(each, dict) and each.get("type") == "tmpfs" and each.get("target"):
                self._put("tmpfs", [*_list(self._made.get("tmpfs")), each["target"]])
            else:
                self._note_unconverted("a volume")
        self._put("volumes", volumes)

    def _ready(self, value: Any) -> None:
        check = _map(value)
        test = check.get("test")
        if check.get("disable") or not test or test == ["NONE"]:
            return
        words = [str(word) for word in test] if isinstance(test, list) else ["CMD-SHELL", str(test)]
        inner = [interpolated(word) for word in words[1:]]
        command: Any = ["sh", "-c", " ".join(inner)] if words[0] == "CMD-SHELL" else inner
        names = {"interval": "every", "timeout": "timeout", "start_period": "delay", "retries": "fail"}
        self._put("ready", {"exec": command} | {names[word]: check[word] for word in names if check.get(word)})

    def _restart(self, value: Any) -> None:
        policy, _, most = str(value).partition(":")
        if policy == "on-failure" and most.isdecimal() and int(most):
            self._put("restart", {"on": "failure", "max": int(most)})
        elif policy in ("always", "on-failure", "unless-stopped"):
            self._put("restart", policy)

    def _pull(self, value: Any) -> None:
        if value in _PULLS:
            self._put("pull", _PULLS[value])
        else:
            self._note_unconverted(f"pull_policy {value}")

    def _deploy(self, value: Any) -> None:
        deploy = _map(value)
        limits = _map(_map(deploy.get("resources")).get("limits"))
        self._inner("resources", "cpus", limits.get("cpus"))
        self._inner("resources", "memory", memory(limits["memory"]) if "memory" in limits else None)
        self._inner("resources", "pids", limits.get("pids"))
        if deploy.get("replicas") not in (None, 1):
            self._draft.note(f"{self._name} has one container; Compose had {deploy['replicas']} replicas")

    def _networks(self, value: Any) -> None:
        names = [app_name(name) for name in _list(list(value) if isinstance(value, dict) else value)]
        self._put("networks", names if names != ["default"] else None)
        if isinstance(value, dict) and any(_map(each).get("aliases") for each in value.values()):
            self._note_unconverted("the aliases in networks")


def _port(value: Any) -> Object | None:
    if isinstance(value, dict):
        target, published = value.get("target"), str(value.get("published") or "")
        if not isinstance(target, int) or not (published.isdecimal() or not published):
            return None
        made: Object = {"port": target, "name": value.get("name", ""), "address": value.get("host_ip", "")}
        made |= {"host": int(published) if published else None, "protocol": value.get("protocol", "tcp")}
        return made
    found = _PORT.fullmatch(str(value))
    if found is None:
        return None
    host, address = found["host"], (found["address"] or "").strip("[]")
    made = {"port": int(found["port"]), "host": int(host) if host else None, "address": address}
    return {**made, "protocol": found["protocol"] or "tcp", "name": ""}


def _port_name(port: Object, used: Mapping[str, Any]) -> str:
    scheme = SCHEMES.get(port["port"], "")
    name = port["name"] or (scheme if scheme in ("http", "https") else "main" if not used else f"p{port['port']}")
    return name if name not in used else f"{name}-{port['port']}"


def _short_port(port: Object) -> Any:
    if port["protocol"] == "tcp" and port["address"] in ("", "127.0.0.1", "localhost"):
        return f"{port['host']}:{port['port']}" if port["host"] else port["port"]
    return {
        name: value for name, value in port.items() if value and name != "name" and (name, value) != ("protocol", "tcp")
    }


def memory(value: Any) -> str:
    """Converts an amount of memory to the notation of Kubernetes."""
    found = _MEMORY.fullmatch(str(value).strip())
    return f"{found[1]}{ {'b': '', 'k': 'Ki', 'm': 'Mi', 'g': 'Gi'}[found[2].lower()] }" if found else str(value)


def _command_words(value: Any) -> Any:
    return [interpolated(str(word)) for word in value] if isinstance(value, list) else interpolated(str(value or ""))


def _command(value: Any) -> str:
    return interpolated(shlex.join(map(str, value)) if isinstance(value, list) else str(value or ""))


def _variables(value: Any) -> Object:
    """Returns variables given as a map, or as `NAME=value`; a variable without a value is taken from the
    environment."""
    if isinstance(value, dict):
        return {name: None if each is None else interpolated(_text(each)) for name, each in value.items()}
    found: Object = {}
    for each in _list(value):
        name, equals, text = str(each).partition("=")
        found[name] = interpolated(text) if equals else None
    return found


def _pairs(value: Any, separator: str) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}{separator}{each}" for name, each in value.items()]
    return [str(each).replace("=", separator, 1) for each in _list(value)]


def _volume(name: str, fields: Object) -> Object:
    taken = {word: fields[word] for word in ("driver", "driver_opts") if fields.get(word)}
    given = fields.get("name") or (name if fields.get("external") else "")
    # Compose keeps volumes when an app ends, so `init` must not propose to delete their data.
    return {**({"name": given} if given else {}), "keep": True, **taken}


def _network(name: str, fields: Object) -> Object:
    taken = {word: fields[word] for word in ("name", "driver", "internal") if fields.get(word)}
    if fields.get("external"):
        taken |= {"external": True, "name": fields.get("name") or name}
    if fields.get("enable_ipv6"):
        taken["ipv6"] = True
    subnets = [_map(each).get("subnet") for each in _list(_map(fields.get("ipam")).get("config"))]
    return {**taken, **({"subnet": subnets[0]} if subnets and subnets[0] else {})}


def _secret(name: str, fields: Object) -> Object:
    return {word: fields[word] for word in ("file", "environment") if fields.get(word)} or {"environment": name.upper()}


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | dict) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
