"""One-off commands of a service: objects with the service's environment, directory, image, volumes and networks, but
with another command. Pure functions.

A one-off serves no Service, has no probes and no restarts, and does not outlive its session.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object, copy
from setpoint.workload.kinds.api_names import APP_LABEL, PART_LABEL, SESSION_LABEL
from setpoint.workload.templates import escaped

# The annotation of a one-off: its service.
ONE_OFF_OF = "setpoint.dev/one-off-of"
_PORT = re.compile(r'\{\{-?\s*portForServing\s+("[^"]*")\s*-?\}\}')
_ADDRESS = re.compile(r'\{\{-?\s*addressForServing\s+"[^"]*"\s*-?\}\}')
# Fields that make a long-running service of a workload.
_LASTING = (
    "healthProbes",
    "watch",
    "restartPolicy",
    "restartBackoff",
    "maxRestarts",
    "containerName",
    "persistent",
    "mode",
    "monitorPid",
    "monitorTimestamp",
    "lifecycleKey",
    "healthcheck",
    "suspend",
    "stop",
    "start",
    "stdin",
    "terminal",
)


class OneOff(NamedTuple):
    """The options of a one-off command. Without a command, the service's own command runs."""

    command: Sequence[str] = ()
    env: Mapping[str, str] = {}
    directory: str = ""
    user: str = ""
    entrypoint: str = ""
    # The columns and rows of a terminal; None for none.
    terminal: tuple[int, int] | None = None
    stdin: bool = False
    dependencies: bool = True
    # True: the one-off serves the ports of the service.
    ports: bool = False
    # Values of variables that are known, such as those of a running process of the service.
    known: Mapping[str, str] = {}


def one_off(tree: Object, name: str, how: OneOff, free_port: Callable[[], int]) -> Object:
    """Returns the object of a one-off for the object of a service: an Executable or a Container."""
    service = meta.labels(tree).get(PART_LABEL) or meta.name(tree)
    kind = "Container" if tree["kind"] == "Container" else "Executable"
    given = tree["spec"]["template"]["spec"] if tree["kind"] == "ExecutableReplicaSet" else tree["spec"]
    spec: Object = {field: value for field, value in copy(given).items() if field not in _LASTING}
    if not how.dependencies:
        spec.pop("dependsOn", None)
    spec["env"] = _env(spec.get("env") or (), how)
    if kind == "Container":
        _change_container(spec, how)
    else:
        _change_process(spec, how)
    if how.terminal is not None:
        spec["terminal"] = {"cols": how.terminal[0], "rows": how.terminal[1]}
    if not how.ports:
        spec.pop("serves", None)
        ports: dict[str, int] = {}
        spec = _without_serving(spec, lambda service: ports.setdefault(service, free_port()))
    labels = {key: value for key, value in meta.labels(tree).items() if key in (APP_LABEL, SESSION_LABEL)}
    metadata = {"name": name, "labels": labels, "annotations": {ONE_OFF_OF: service}}
    return {"apiVersion": tree["apiVersion"], "kind": kind, "metadata": metadata, "spec": spec}


def _env(env: Sequence[Object], how: OneOff) -> list[Object]:
    found = {each["name"]: each for each in env}
    found |= {name: {"name": name, "value": escaped(value)} for name, value in how.known.items() if name in found}
    found |= {name: {"name": name, "value": escaped(value)} for name, value in how.env.items()}
    return list(found.values())


def _change_process(spec: Object, how: OneOff) -> None:
    if how.command:
        spec["executablePath"] = how.command[0]
        spec["args"] = [escaped(word) for word in how.command[1:]]
    if how.directory:
        spec["workingDirectory"] = how.directory
    if how.stdin and how.terminal is None:
        spec["stdin"] = True


def _change_container(spec: Object, how: OneOff) -> None:
    if how.entrypoint:
        spec["command"] = how.entrypoint
    if how.command or how.entrypoint:
        spec["args"] = [escaped(word) for word in how.command]
    if how.directory:
        spec["workingDirectory"] = how.directory
    if how.user:
        spec["user"] = how.user
    if not how.ports:
        spec.pop("ports", None)
    # The names of the service in its networks belong to the service.
    for each in spec.get("networks") or ():
        each.pop("aliases", None)
        for fixed in ("ipv4Address", "ipv6Address", "macAddress"):
            each.pop(fixed, None)
    actions = [{**each, "action": "Sync"} for each in spec.get("fileActions") or () if each.get("initialSync")]
    for each in actions:
        each.pop("exec", None)
    spec.pop("fileActions", None)
    if actions:
        spec["fileActions"] = actions


def _without_serving(value: Any, port: Callable[[str], int]) -> Any:
    """Returns a value in which templates for served ports are replaced by free ports."""
    if isinstance(value, str):
        return _ADDRESS.sub("localhost", _PORT.sub(lambda found: str(port(found[1])), value))
    if isinstance(value, list):
        return [_without_serving(each, port) for each in value]
    if isinstance(value, dict):
        return {key: _without_serving(each, port) for key, each in value.items()}
    return value
