"""Converts services and tasks to the specs of Executables and Containers. Empty fields are omitted, so that objects
contain only the fields of the file."""

import os.path
from collections.abc import Mapping
from typing import Any

from setpoint.app import forms
from setpoint.app.commands import command, words
from setpoint.app.environment import AppEnvironment
from setpoint.app.faults import Fault
from setpoint.app.model import AppFile, Service, Workload
from setpoint.app.part_checks import source_faults
from setpoint.app.parts import Mount
from setpoint.app.ports import ServedPort
from setpoint.app.probes import health_probes
from setpoint.app.values import User, Values
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Path

_CONTAINER_RESTARTS = {"never": "no", "failure": "on-failure", "always": "always", "unless-stopped": "unless-stopped"}
_PROCESS_RESTARTS = {"never": "Never", "failure": "OnFailure", "always": "Always"}


def without_empty(fields: Mapping[str, Any]) -> Object:
    """Returns the fields with a non-empty value."""
    return {name: value for name, value in fields.items() if value not in (None, "", (), [], {}, False)}


class Specs:
    """Builds the specs of one app's workloads."""

    def __init__(self, app: AppFile, environment: AppEnvironment, values: Values, faults: list[Fault]) -> None:
        self._app, self._environment, self._values, self._faults = app, environment, values, faults

    def path_of(self, text: str) -> str:
        """Returns a path of the file as an absolute path."""
        home = self._environment.variables.get("HOME", "~")
        if text == "~" or text.startswith("~/"):
            text = home + text[1:]
        return os.path.normpath(os.path.join(self._environment.directory, text))

    def process(self, user: User, ports: Mapping[str, ServedPort], lines: Mapping[str, str]) -> Object:
        """Returns the spec of an Executable, without dependsOn and watch."""
        workload = user.workload
        directory = self.path_of(self._values.literal(workload.dir, user, (*user.path, "dir")))
        first, *rest = command(workload.run).words
        program = self._values.literal(first, user, (*user.path, "run"))
        spec: Object = {
            "executablePath": os.path.normpath(os.path.join(directory, program)) if "/" in program else program,
            "workingDirectory": directory,
            "args": [self._values.template(word, user, (*user.path, "run")) for word in rest] + self._args(user),
            "env": self._env(user),
            "envFiles": self._env_files(user),
            "ambientEnvironment": None if workload.inherit_env else {"behavior": "DoNotInherit"},
            "stdin": workload.stdin,
            **self._both(user),
        }
        if isinstance(workload, Service):
            restart = forms.restart(workload.restart)
            spec |= {
                "persistent": workload.keep,
                "restartPolicy": _PROCESS_RESTARTS[restart.on] if restart.on != "never" else None,
                "maxRestarts": restart.max,
                "serves": [without_empty({"service": port.service, "port": port.listens}) for port in ports.values()],
                "healthProbes": health_probes(workload, user, self._values, ports, lines),
            }
        return without_empty(spec)

    def container(self, user: User, ports: Mapping[str, ServedPort], lines: Mapping[str, str]) -> Object:
        """Returns the spec of a Container, without dependsOn and watch."""
        workload = user.workload
        entrypoint = [
            self._values.literal(word, user, (*user.path, "entrypoint")) for word in words(workload.entrypoint)
        ]
        aliases: Object = {"aliases": [user.name]}
        spec: Object = {
            "image": self._values.literal(workload.image, user, (*user.path, "image")),
            "build": self._build(user),
            "command": entrypoint[0] if entrypoint else "",
            "args": entrypoint[1:] + self._args(user),
            "env": self._env(user),
            "envFiles": self._env_files(user),
            "workingDirectory": self._values.literal(workload.dir, user, (*user.path, "dir")),
            "volumeMounts": [self._mount(mount) for mount in self.mounts(user)],
            "networks": [{"name": name, **aliases} for name in user.networks],
            "resources": self._resources(workload),
            "user": workload.user,
            "pullPolicy": workload.pull,
            "privileged": workload.privileged,
            "capAdd": list(workload.cap_add),
            "capDrop": list(workload.cap_drop),
            "tmpfs": list(forms.many(workload.tmpfs)),
            "extraHosts": list(workload.extra_hosts),
            "devices": list(workload.devices),
            "labels": [{"key": key, "value": value} for key, value in workload.labels.items()],
            **self._both(user),
        }
        if isinstance(workload, Service):
            restart = forms.restart(workload.restart)
            spec |= {
                "persistent": workload.keep,
                "containerName": f"{self._app.app}-{user.name}" if workload.keep else "",
                "restartPolicy": _CONTAINER_RESTARTS[restart.on] if restart.on != "never" else None,
                "maxRestarts": restart.max,
                "ports": [_published(port) for port in ports.values()],
                "serves": [{"service": port.service, "port": port.listens} for port in ports.values()],
                "healthProbes": health_probes(workload, user, self._values, ports, lines),
            }
        return without_empty(spec)

    def _both(self, user: User) -> Object:
        workload = user.workload
        stop, logs, terminal = workload.stop, workload.logs, forms.terminal(workload.terminal)
        return {
            "stopSignal": forms.signal(stop.signal) if stop and stop.signal else "",
            "stopTimeout": stop.grace if stop else "",
            "terminal": {"cols": terminal.cols, "rows": terminal.rows} if terminal else None,
            "logs": without_empty({"maxBytes": logs.max_bytes, "maxFiles": logs.max_files}) if logs else None,
            "restartBackoff": self._backoff(workload),
        }

    @staticmethod
    def _backoff(workload: Workload) -> Object | None:
        if not isinstance(workload, Service):
            return None
        restart = forms.restart(workload.restart)
        first, longest = forms.backoff(restart.backoff)
        return without_empty({"initial": first, "max": longest or first, "resetAfter": restart.reset})

    def _args(self, user: User) -> list[str]:
        path: Path = (*user.path, "args")
        return [self._values.template(word, user, path) for word in words(user.workload.args)]

    def _env(self, user: User) -> list[Object]:
        """Returns the variables of the app, overridden by those of the workload."""
        found: dict[str, Object] = {}
        for prefix, env in (((), self._app.env), (user.path, user.workload.env)):
            for name, value in env.items():
                text = self._environment.variables.get(name) if value is None else str(value)
                if value is None:
                    text = None if text is None else text.replace("$", "$$")
                if text is not None:
                    filled = self._values.template(text, user, (*prefix, "env", name))
                    found[name] = {"name": name, "value": filled}
        return list(found.values())

    def _env_files(self, user: User) -> list[str]:
        return [self.path_of(file) for file in forms.many(user.workload.env_file)]

    def _build(self, user: User) -> Object | None:
        build = forms.build(user.workload.build)
        if build is None:
            return None
        path: Path = (*user.path, "build")
        args = [
            {"name": name, "value": self._values.literal(str(value), user, (*path, "args", name))}
            for name, value in build.args.items()
            if value is not None
        ]
        return without_empty(
            {
                "context": self.path_of(self._values.literal(build.context, user, path)),
                "dockerfile": build.dockerfile,
                "stage": build.target,
                "args": args,
                "platform": build.platform,
                "tags": list(build.tags),
            }
        )

    def mounts(self, user: User) -> list[Mount]:
        """Returns the mounts of a container. References are resolved first, because their values may contain colons."""
        found = []
        for index, value in enumerate(user.workload.volumes):
            path: Path = (*user.path, "volumes", index)
            try:
                if isinstance(value, Mount):
                    source = self._values.literal(value.source, user, path)
                    found.append(Mount(source=source, target=value.target, read_only=value.read_only))
                elif text := self._values.literal(value, user, path):
                    found.append(forms.mount(text))
            except ValueError as error:
                self._faults.append((path, str(error)))
            else:
                self._faults += (fault for mount in found[-1:] for fault in source_faults(path, mount.source))
        return found

    def _mount(self, mount: Mount) -> Object:
        is_path = forms.is_path(mount.source)
        volume = "" if is_path or not mount.source else volume_name(self._app, mount.source)
        return without_empty(
            {
                "type": "bind" if is_path else "volume",
                "source": self.path_of(mount.source) if is_path else volume,
                "target": mount.target,
                "readOnly": mount.read_only,
            }
        )

    @staticmethod
    def _resources(workload: Workload) -> Object | None:
        given = workload.resources
        return None if given is None else without_empty({"cpus": _text(given.cpus), "memory": _text(given.memory),
                                                "pids": given.pids})  # fmt: skip


def _text(value: str | int | float) -> str:
    return str(value)


def _published(port: ServedPort) -> Object:
    """Returns the published port. Behind our proxy, the engine chooses the port."""
    return without_empty(
        {
            "containerPort": port.listens,
            "hostPort": None if port.proxied else port.host,
            "protocol": port.protocol if port.protocol != "TCP" else "",
            "hostIP": "" if port.proxied else port.address,
        }
    )


def volume_name(app: AppFile, name: str) -> str:
    """Returns the name of a volume in the container engine."""
    declared = app.volumes.get(name)
    return (declared.name if declared else "") or f"{app.app}-{name}"
