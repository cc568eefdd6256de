"""Converts the short forms of an app file to their long forms, so that other code handles one form only."""

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from setpoint.app.container_fields import After, Attachment
from setpoint.app.model import AppFile, Controller, Service, Task, Workload
from setpoint.app.parts import Build, Mount, Port, Probe, Restart, Terminal, Watch

Condition: TypeAlias = Literal["Started", "Ready", "Finished", "Succeeded"]
DEFAULT_NETWORK = "default"
CONDITIONS: dict[str, Condition] = {
    "started": "Started",
    "ready": "Ready",
    "done": "Succeeded",
    "finished": "Finished",
}
RESTARTS = {"no": "never", "never": "never", "on-failure": "failure", "failure": "failure", "always": "always"}
RESTARTS["unless-stopped"] = "unless-stopped"
# Well-known ports and the schemes of their protocols.
SCHEMES = {
    443: "https", 8443: "https", 80: "http", 3000: "http", 5000: "http", 8000: "http", 8080: "http", 9000: "http",
    5432: "postgres", 3306: "mysql", 6379: "redis", 27017: "mongodb", 5672: "amqp", 4222: "nats", 1433: "sqlserver",
    9092: "kafka", 11211: "memcached",
}  # fmt: skip
_PAIR = re.compile(r"(\d{1,5}):(\d{1,5})(?:/(tcp|udp))?")
_ONE = re.compile(r"(\d{1,5})(?:/(tcp|udp))?")


class Wait(NamedTuple):
    """A dependency: the condition that the other workload must meet; `log` is a line that the workload must have
    written."""

    name: str
    condition: Condition
    log: str = ""
    restart: bool = False
    required: bool = True


def many(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns one or several values as a tuple."""
    return (value,) if isinstance(value, str) and value else tuple(value or ())


def is_container(workload: Workload) -> bool:
    return bool(workload.image or workload.build)


def port(value: int | str | Port) -> Port:
    """Returns the long form of a port. Raises ValueError."""
    if isinstance(value, Port):
        return value
    if isinstance(value, int):
        return Port(port=value)
    if value == "auto":
        return Port()
    protocol: Any
    if pair := _PAIR.fullmatch(value):
        host, inner, protocol = pair.groups("tcp")
        return Port(host=_number(host), port=_number(inner), protocol=protocol)
    if one := _ONE.fullmatch(value):
        inner, protocol = one.groups("tcp")
        return Port(port=_number(inner), protocol=protocol)
    raise ValueError(f"invalid port {value!r}: expected auto, a number, or HOST:PORT such as 8080:80")


def _number(text: str) -> int:
    if 1 <= int(text) <= 65535:
        return int(text)
    raise ValueError(f"invalid port {text}: expected a number from 1 to 65535")


def scheme(name: str, configured: Port, *, container: bool) -> str:
    """Returns the URL scheme of a port."""
    if configured.scheme or name in ("http", "https"):
        return configured.scheme or name
    if container:
        return SCHEMES.get(configured.port or 0, "tcp" if configured.protocol == "tcp" else "udp")
    return "http" if configured.protocol == "tcp" else "udp"


def probe(value: str | Probe) -> Probe:
    """Returns the long form of a probe. Raises ValueError."""
    if isinstance(value, Probe):
        return value
    word, colon, rest = value.partition(":")
    if value.startswith(("/", "http://", "https://")):
        return Probe(http=value)
    if value in ("tcp", "grpc"):
        return Probe(tcp=True) if value == "tcp" else Probe(grpc=True)
    if colon and word in ("log", "exec") and rest.strip():
        return Probe(log=_unquoted(rest)) if word == "log" else Probe(exec=rest.strip())
    raise ValueError(f"invalid probe {value!r}: expected a path such as /healthz, tcp, grpc, log:REGEX or exec:COMMAND")


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def waits(workload: Workload, app: AppFile) -> list[Wait]:
    """Returns the dependencies of a service or task. Raises ValueError."""
    return [wait(name, how, app) for name, how in declared_waits(workload).items()]


def declared_waits(workload: Workload) -> dict[str, str | After]:
    """Returns the names that a service or task depends on, with their conditions ("" for the default condition)."""
    found = workload.after if isinstance(workload.after, dict) else dict.fromkeys(many(workload.after), "")
    return {**dict.fromkeys(linked(workload), "started"), **found}


def wait(name: str, given: str | After, app: AppFile) -> Wait:
    """Returns the long form of a dependency. Raises ValueError."""
    if isinstance(given, After):
        return wait(name, given.condition, app)._replace(restart=given.restart, required=given.required)
    how = given
    if not how:
        return Wait(name, "Succeeded" if name in app.tasks else "Ready")
    if how.startswith("log:"):
        if _unquoted(how[4:]):
            return Wait(name, "Ready", _unquoted(how[4:]))
    elif how in CONDITIONS:
        return Wait(name, CONDITIONS[how])
    raise ValueError(f"invalid condition {how!r}: expected {', '.join(CONDITIONS)} or log:REGEX")


def restart(value: bool | str | Restart) -> Restart:
    """Returns the long form of a restart policy. Raises ValueError."""
    if isinstance(value, Restart):
        return value
    if isinstance(value, bool):
        return Restart(on="always" if value else "never")
    if value not in RESTARTS:
        raise ValueError(f"invalid restart policy {value!r}: expected no, on-failure, always or unless-stopped")
    on: Any = RESTARTS[value]
    return Restart(on=on)


def backoff(text: str) -> tuple[str, str]:
    """Returns the first and the longest delay."""
    first, _, longest = text.partition("..")
    return first.strip(), longest.strip()


def watches(value: str | Watch | Sequence[str | Watch] | None) -> list[Watch]:
    """Returns the watch rules of a service. Paths without a rule of their own form the first rule."""
    given = (value,) if isinstance(value, str | Watch) else tuple(value or ())
    plain = tuple(each for each in given if isinstance(each, str) and each)
    rules = [each for each in given if isinstance(each, Watch)]
    return [Watch(paths=plain), *rules] if plain else rules


def build(value: str | Build) -> Build | None:
    return value if isinstance(value, Build) else Build(context=value) if value else None


def terminal(value: bool | Terminal) -> Terminal | None:
    return value if isinstance(value, Terminal) else Terminal() if value else None


def controller(value: str | Controller) -> Controller:
    return value if isinstance(value, Controller) else Controller(module=value)


def mount(value: str | Mount) -> Mount:
    """Returns the long form of a mount. Raises ValueError."""
    if isinstance(value, Mount):
        return value
    parts = value.split(":")
    options = parts.pop().split(",") if len(parts) > 1 and not parts[-1].startswith("/") else []
    if not 1 <= len(parts) <= 2 or not parts[-1].startswith("/") or set(options) - {"ro", "rw"}:
        raise ValueError(f"invalid volume {value!r}: expected NAME:/path or ./directory:/path, with :ro for read-only")
    return Mount(source=parts[0] if len(parts) == 2 else "", target=parts[-1], read_only="ro" in options)


def networks(workload: Workload) -> dict[str, Attachment]:
    """Returns the networks of a container, with their settings; by default the network of the app. A container that
    shares the network of this machine or of another container has none."""
    if workload.network_mode:
        return {}
    given = workload.networks
    named = given if isinstance(given, dict) else dict.fromkeys(given)
    return {name: each or Attachment() for name, each in (named or {DEFAULT_NETWORK: None}).items()}


def linked(workload: Workload) -> dict[str, str]:
    """Returns the linked services of a container, with the additional name."""
    pairs = (link.partition(":") for link in workload.links)
    return {name: alias or name for name, _, alias in pairs}


def is_path(source: str) -> bool:
    """Returns True if the source of a mount is a path on this machine, and not the name of a volume."""
    return source.startswith((".", "/", "~"))


def signal(text: str) -> str:
    """Returns the full name of a signal."""
    return text if text.startswith("SIG") else f"SIG{text}"


def automatic(app: AppFile) -> set[str]:
    """Returns the tasks that run with the app: by schedule or by `auto`, and those that a running service or task
    depends on. Raises the errors of `waits`."""
    running: list[Workload] = [*app.services.values()]
    found = {name for name, task in app.tasks.items() if (bool(task.schedule) if task.auto is None else task.auto)}
    running += (app.tasks[name] for name in found)
    while running:
        for wait in waits(running.pop(), app):
            task = app.tasks.get(wait.name)
            if task is not None and task.auto is None and wait.name not in found:
                found.add(wait.name)
                running.append(task)
    return found


def everything(app: AppFile) -> list[tuple[str, Service | Task]]:
    """Returns all services and tasks, by name."""
    return [*app.services.items(), *app.tasks.items()]
